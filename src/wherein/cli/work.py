"""What the commands do, between their arguments and their JSON."""

from pathlib import Path
from typing import Any

from PIL import Image

import wherein
from wherein.cli.places import writing
from wherein.errors import PictureError, WhereinError
from wherein.files import atomic_file
from wherein.images.load import Picture, load_mask, load_picture
from wherein.images.motif import Motif


class UnreadableError(WhereinError):
    """A file that a command was given cannot be read; `role` is what the file was to be."""

    def __init__(self, role: str, path: Path, reason: Exception | str) -> None:
        super().__init__(str(reason))
        self.role, self.path = role, path


def read(path: Path, role: str) -> Picture:
    """A picture from a file, or `UnreadableError`."""
    try:
        return load_picture(path, role=role)
    except PictureError as error:
        raise UnreadableError(role, path, error) from error


def register(
    scene: Path, motif: Path, motion: str, mask: Path | None, start: Any, robust: bool, draw: bool
) -> tuple[dict[str, Any], Image.Image | None]:
    """The record of a registration, and a picture of it where one is wanted."""
    picture, wanted = read(scene, "scene"), read(motif, "motif")
    limits = read(mask, "mask") if mask is not None else None
    found = wherein.register(picture, wanted, motion, limits, start, robust=robust)
    height, width = picture.pixels.shape[-2:]
    record = {"scene": str(scene), "width": width, "height": height, "motif": motif.stem, "motion": motion}
    record |= {**found.to_dict(), "certainty": wherein.certainty(picture, wanted, found, limits)}
    if not draw:
        return record, None
    from wherein.drawing.registrations import draw_registration

    shape = load_mask(limits) if limits is not None else wanted.mask
    drawn = Motif(wanted.pixels, shape) if shape is not None else Motif.whole(wanted.pixels)
    lines = (f"{found.status}, ZNCC {found.zncc:.3f}", f"turned {found.angle:.2f}°, scale {found.scale:.3f}")
    return record, draw_registration(picture.pixels, drawn, found.matrix, None, lines)


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture whole or not at all."""
    with writing(path), atomic_file(path) as target:
        picture.save(target)
