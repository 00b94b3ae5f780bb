"""The work of `wherein register`: read the pictures, register, and draw the result."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from wherein.cli.console import UnreadableError
from wherein.cli.input_files import load_template, read_picture
from wherein.errors import PictureError, require
from wherein.images.frames.picture_frames import ONE_FRAME, check_one_frame
from wherein.images.load import load_mask
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.registration.certainty import LIKELY, certainty
from wherein.registration.register import Registration, register

_NOT_SEARCHED = {
    "translation": ("upright and at its own size", "similarity"),
    "euclidean": ("at its own size", "similarity"),
    "similarity": ("facing the camera", "homography"),
    "affine": ("without perspective", "homography"),
}
"""By motion: the poses that were searched, and the motion that allows more poses."""


@dataclass(frozen=True)
class Outcome:
    """A registration for output.

    Attributes:
        record: the result as a dictionary for JSON.
        refined: whether the pose was refined on colours; the record does not contain it.
        drawn: the drawing, if it was requested.
    """

    record: dict[str, Any]
    refined: bool
    drawn: Image.Image | None


def run_registration(
    scene: Path, motif: Path, motion: str, mask: Path | None, start: Any, robust: bool, draw: bool
) -> Outcome:
    """Register two pictures, and draw the result if `draw` is set.

    Raises:
        UnreadableError: a picture cannot be read.
        ArgumentError: the pictures or the start do not fit each other.
    """
    began = time.perf_counter()
    picture, sought = _read_one(scene, "scene"), _read_motif(motif)
    limits = _read_one(mask, "mask") if mask is not None else None
    found = register(picture, sought, motion, limits, start, robust=robust)
    height, width = picture.samples.shape[-2:]
    record = {"scene": str(scene), "width": width, "height": height, "motif": motif.stem, "motion": motion}
    record |= {**found.to_dict(), "certainty": round(certainty(picture, sought, found, limits), 6)}
    # The time in the record includes certainty and drawing, but not the loading of torch.
    drawn = _draw(picture, sought, limits, found) if draw else None
    record["seconds"] = round(time.perf_counter() - began, 4)
    return Outcome(record, found.refined, drawn)


def _read_one(path: Path, role: str) -> Picture:
    """Read a picture of one frame, or raise `UnreadableError`."""
    try:
        check_one_frame(path, ONE_FRAME, role)
    except PictureError as error:
        raise UnreadableError(role, path, error) from error
    return read_picture(path, role)


def _read_motif(path: Path) -> Picture:
    """The motif: a picture, or that of a template without moving parts; its alpha is its outline.

    Raises:
        UnreadableError: it cannot be read.
        ArgumentError: it is a template of several parts.
    """
    if not (path.is_dir() or path.suffix.lower() == ".zip"):
        return _read_one(path, "motif")
    template = load_template(str(path), "motif")
    count = len(template.parts.leaves)
    require(count == 1, f"motif: {path} is a template of {count} parts: `wherein detect` finds it")
    return template.canvas


def _draw(scene: Picture, motif: Picture, mask: Picture | None, found: Registration) -> Image.Image:
    from wherein.drawing.registrations import draw_registration

    shape = load_mask(mask) if mask is not None else motif.mask
    drawn = Motif(motif.pixels, shape) if shape is not None else Motif.whole(motif.pixels)
    lines = (
        f"{found.status}, ZNCC {found.zncc:.3f}",
        f"rotation {found.angle:.2f}°, scale {found.scale:.3f}",
    )
    return draw_registration(scene.pixels, drawn, found.matrix, None, lines)


def describe(record: dict[str, Any], refined: bool = True) -> Iterator[str]:
    """A registration as lines of text; arguments as in `Outcome`."""
    zncc = "unknown" if record["zncc"] is None else f"{record['zncc']:.3f}"
    how = f"{record['steps']} steps" if refined else "found by edges, colours lead away from there"
    yield f"{record['status']}, ZNCC {zncc}, {how}, {record['seconds']:.2f} s"
    x, y = record["center"]
    tilt = f", tilt {record['tilt']:.0f}°" if record["motion"] == "homography" else ""
    yield f"middle at ({x:.1f}, {y:.1f}), rotation {record['angle']:.2f}°, scale {record['scale']:.3f}{tilt}"
    sure = record["certainty"] > LIKELY
    meaning = "the motif is most likely there" if sure else "the motif may not be there"
    yield f"certainty {record['certainty']:.3f}, {'above' if sure else 'not above'} {LIKELY:g}: {meaning}"
    yield from (f"[{', '.join(f'{value:.6g}' for value in row)}]" for row in record["matrix"])


def advice(record: dict[str, Any]) -> str | None:
    """A hint if the motif was not clearly found; None if it was found, or if all poses were searched."""
    if record["certainty"] > LIKELY or record["motion"] not in _NOT_SEARCHED:
        return None
    how, wider = _NOT_SEARCHED[record["motion"]]
    return f"Searched for the motif {how}. Use --motion {wider} for other poses."
