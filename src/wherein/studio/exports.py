"""Results as files to take home."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wherein.errors import ArgumentError, require
from wherein.formats.coco import coco
from wherein.report.page import page
from wherein.studio.calibrating import Ground
from wherein.studio.workshop import Found, Scene, Wish, Workshop
from wherein.template.bundle import Template

Results = Sequence[tuple[Scene, Found]]


@dataclass(frozen=True)
class Export:
    """A kind of file.

    Attributes:
        suffix: that its name ends in.
        media: its type.
        write: makes its content.
    """

    suffix: str
    media: str
    write: Callable[[Template, Results], bytes]


def _lines(template: Template, results: Results) -> bytes:
    """A line of JSON a scene, as `wherein detect` prints them."""
    records = ({"scene": scene.name, **found.detections.to_dict()} for scene, found in results)
    return "".join(json.dumps(r, ensure_ascii=False, allow_nan=False) + "\n" for r in records).encode()


def _coco(template: Template, results: Results) -> bytes:
    named = [(scene.name, found.detections) for scene, found in results]
    made = coco(named, template.name, template.parts.leaves)
    return (json.dumps(made, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _report(template: Template, results: Results) -> bytes:
    """The page that `wherein detect --report` writes, occurrence maps included."""
    with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
        path = Path(folder) / "report.html"
        with page(path, template) as made:
            for scene, found in results:
                made.add(scene.name, found.detections, found.detector, maps=True)
        return path.read_bytes()


def export(workshop: Workshop, kind: str, wish: Wish, scenes: Sequence[Scene]) -> tuple[bytes, Export]:
    """Look in all scenes and write what was found.

    Raises:
        ArgumentError: there are no scenes, or what scores mean is not known yet.
    """
    require(bool(scenes), "there are no scenes to write about: add one first")
    chosen, results = EXPORTS[kind], []
    with workshop.searching:
        for scene in scenes:
            found = workshop.find(wish, scene)
            if found.ground is not Ground.MEASURED:
                raise ArgumentError("what scores mean is still being measured: try again when that is done")
            results.append((scene, found))
        return chosen.write(workshop.templates[wish.template], results), chosen


EXPORTS = {
    "json": Export(".jsonl", "application/jsonl", _lines),
    "coco": Export("-coco.json", "application/json", _coco),
    "report": Export(".html", "text/html", _report),
}
