"""What the studio sends to the page as files: pictures to show, and results of all scenes."""

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.formats.coco import coco
from wherein.images.eight_bit import to_image
from wherein.images.picture import Picture
from wherein.report.page import page
from wherein.template.bundle import Template

_MAX_SIDE = 3000
"""Pixels of a preview's longer side. A choice: more than a screen has. The page works in true pixels."""

_MAX_LOSSLESS = 1_500_000
"""Pixels up to which a preview is a PNG. A choice: larger ones take long to encode; JPEG is not exact."""


def preview(picture: Picture) -> tuple[bytes, str]:
    """A picture as a file that every browser can show, and its media type."""
    image = to_image(picture.pixels.detach().float().cpu())
    if picture.mask is not None:
        levels = (picture.mask.detach().cpu().clamp(0, 1) * 255).round().to(torch.uint8)
        image.putalpha(Image.fromarray(np.ascontiguousarray(levels.numpy())))
    lossless = image.width * image.height <= _MAX_LOSSLESS or picture.mask is not None  # JPEG has no alpha
    image.thumbnail((_MAX_SIDE, _MAX_SIDE))
    file = io.BytesIO()
    if lossless:
        image.save(file, "png", compress_level=1)  # fast: it is sent to a browser on the same machine
        return file.getvalue(), "image/png"
    image.save(file, "jpeg", quality=92)
    return file.getvalue(), "image/jpeg"


@dataclass(frozen=True, eq=False)
class NamedResult:
    """The detections in a scene, for a file.

    Attributes:
        name: the scene's label.
        detections: in the scene.
        detector: that found them.
    """

    name: str
    detections: Detections
    detector: Detector


@dataclass(frozen=True)
class ResultFormat:
    """A file format for results.

    Attributes:
        suffix: of the file name.
        media_type: for the browser.
        write: returns the content.
    """

    suffix: str
    media_type: str
    write: Callable[[Template, Sequence[NamedResult]], bytes]


def _json_lines(template: Template, results: Sequence[NamedResult]) -> bytes:
    """One JSON object per scene and line, as `wherein detect` prints them."""
    records = ({"scene": result.name, **result.detections.to_dict()} for result in results)
    return "".join(json.dumps(r, ensure_ascii=False, allow_nan=False) + "\n" for r in records).encode()


def _coco(template: Template, results: Sequence[NamedResult]) -> bytes:
    named = [(result.name, result.detections) for result in results]
    record = coco(named, template.name, template.parts.leaves)
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _report(template: Template, results: Sequence[NamedResult]) -> bytes:
    """The HTML report of `wherein detect --report`, with occurrence maps."""
    with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
        path = Path(folder) / "report.html"
        with page(path, template, len(results)) as report:
            for result in results:
                report.add(result.name, result.detections, result.detector, maps=True)
        return path.read_bytes()


RESULT_FORMATS = {
    "json": ResultFormat(".jsonl", "application/jsonl", _json_lines),
    "coco": ResultFormat("-coco.json", "application/json", _coco),
    "report": ResultFormat(".html", "text/html", _report),
}
"""By the name that the page uses."""
