"""Files that the studio sends to the page: previews of pictures, and results of all scenes."""

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.formats.coco import coco
from wherein.images.eight_bit import to_image
from wherein.images.picture import Picture
from wherein.report.page import page
from wherein.studio.scene_frames import StudioScene
from wherein.template.bundle import Template

_MAX_SIDE = 3000
"""Maximum longer side of a preview in pixels. A choice: more than a screen has. Coordinates in the page are
always those of the full picture."""

_MAX_LOSSLESS = 1_500_000
"""Maximum number of pixels of a picture with a PNG preview. A choice: PNG is exact, but encoding larger
pictures takes long; they are sent as JPEG."""


def preview(picture: Picture) -> tuple[bytes, str]:
    """A picture as the contents of a file that every browser can show, and its media type."""
    image = to_image(picture.pixels.detach().float().cpu())
    if picture.mask is not None:
        levels = (picture.mask.detach().cpu().clamp(0, 1) * 255).round().to(torch.uint8)
        image.putalpha(Image.fromarray(np.ascontiguousarray(levels.numpy())))
    lossless = image.width * image.height <= _MAX_LOSSLESS or picture.mask is not None  # JPEG has no alpha
    image.thumbnail((_MAX_SIDE, _MAX_SIDE))
    file = io.BytesIO()
    if lossless:
        # Little compression is fastest in total: the file goes to a browser on the same machine.
        image.save(file, "png", compress_level=1)
        return file.getvalue(), "image/png"
    image.save(file, "jpeg", quality=92)
    return file.getvalue(), "image/jpeg"


@dataclass(frozen=True, eq=False)
class SceneResult:
    """The detections in a scene, for an exported file.

    Attributes:
        scene: the scene.
        detections: the detections in the scene.
        detector: the detector that found them.
    """

    scene: StudioScene
    detections: Detections
    detector: Detector

    def to_dict(self) -> dict[str, Any]:
        """The line of `wherein detect`; without the time and the tracks that a video has there."""
        frame = {} if self.scene.frame is None else {"frame": self.scene.frame}
        return {"scene": self.scene.file, **frame, **self.detections.to_dict()}


@dataclass(frozen=True)
class ResultFormat:
    """A file format for results.

    Attributes:
        suffix: the end of the file name.
        media_type: the media type for the browser.
        write: returns the contents of the file.
    """

    suffix: str
    media_type: str
    write: Callable[[Template, Sequence[SceneResult]], bytes]


def _json_lines(template: Template, results: Sequence[SceneResult]) -> bytes:
    """One JSON object per scene and line, as `wherein detect` prints them."""
    lines = (json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) for result in results)
    return "".join(line + "\n" for line in lines).encode()


def _coco(template: Template, results: Sequence[SceneResult]) -> bytes:
    named = [(result.scene.name, result.detections) for result in results]
    record = coco(named, template.name, template.parts.leaves)
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _report(template: Template, results: Sequence[SceneResult]) -> bytes:
    """The HTML report of `wherein detect --report`, with occurrence maps."""
    with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
        path = Path(folder) / "report.html"
        # A report is written to a file, atomically; the browser needs its bytes.
        with page(path, template, len(results)) as report:
            for result in results:
                report.add(result.scene.name, result.detections, result.detector, maps=True)
        return path.read_bytes()


RESULT_FORMATS = {
    "json": ResultFormat(".jsonl", "application/jsonl", _json_lines),
    "coco": ResultFormat("-coco.json", "application/json", _coco),
    "report": ResultFormat(".html", "text/html", _report),
}
"""The formats by their name in requests of the page."""
