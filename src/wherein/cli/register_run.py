"""The work of `wherein register`: read the pictures, register, and draw the result."""

import time
from pathlib import Path
from typing import Any

from PIL import Image

from wherein.cli.input_files import read_picture
from wherein.images.load import Picture, load_mask
from wherein.images.motif import Motif
from wherein.registration.certainty import certainty
from wherein.registration.register import Registration, register


def run_registration(
    scene: Path, motif: Path, motion: str, mask: Path | None, start: Any, robust: bool, draw: bool
) -> tuple[dict[str, Any], Image.Image | None]:
    """Return the record of a registration for JSON, and a picture of it if `draw` is set.

    Raises:
        UnreadableError: a picture cannot be read.
        ArgumentError: the pictures or the start do not fit each other.
    """
    began = time.perf_counter()
    picture, sought = read_picture(scene, "scene"), read_picture(motif, "motif")
    limits = read_picture(mask, "mask") if mask is not None else None
    found = register(picture, sought, motion, limits, start, robust=robust)
    height, width = picture.pixels.shape[-2:]
    record = {"scene": str(scene), "width": width, "height": height, "motif": motif.stem, "motion": motion}
    record |= {**found.to_dict(), "certainty": certainty(picture, sought, found, limits)}
    drawn = _draw(picture, sought, limits, found) if draw else None
    return record | {"seconds": round(time.perf_counter() - began, 4)}, drawn


def _draw(scene: Picture, motif: Picture, mask: Picture | None, found: Registration) -> Image.Image:
    from wherein.drawing.registrations import draw_registration

    shape = load_mask(mask) if mask is not None else motif.mask
    drawn = Motif(motif.pixels, shape) if shape is not None else Motif.whole(motif.pixels)
    lines = (
        f"{found.status}, ZNCC {found.zncc:.3f}",
        f"rotation {found.angle:.2f}°, scale {found.scale:.3f}",
    )
    return draw_registration(scene.pixels, drawn, found.matrix, None, lines)
