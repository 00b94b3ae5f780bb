"""Detections as JSON with all digits: exports of the scenes of workers are the same."""

import json
from pathlib import Path

import pytest

from detecting import walker
from walkers import HEIGHT, WIDTH, found, gauge, tilted
from wherein.detect import Detections
from wherein.engine.scene_events import PictureDone, event_of, event_record
from wherein.formats.export_target import ExportTarget
from wherein.formats.registry import FORMATS
from wherein.template import Template
from wherein.template.template_library import Library


def restored(made: Detections, template: Template) -> Detections:
    text = json.dumps(event_record(PictureDone(len(made), None, None, made)))
    again = event_of(json.loads(text), Library.of(template))
    assert isinstance(again, PictureDone) and again.detections is not None
    return again.detections


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("made", "template"),
    [(found("hand", at=((110.0, 80.0), (61.7, 90.2))), walker()), (tilted(), gauge())],
    ids=["walkers", "gauge"],
)
def test_every_export_is_the_same(tmp_path: Path, name: str, made: Detections, template: Template) -> None:
    written = []
    for folder, detections in (("live", made), ("stored", restored(made, template))):
        target = ExportTarget(tmp_path / folder / "all", {Path("a.png"): tmp_path / folder / "a.out"})
        with FORMATS[name].export(target, Library.of(template)) as add:
            add(Path("a.png"), detections)
        files = sorted(path for path in (tmp_path / folder).rglob("*") if path.is_file())
        written.append([(path.name, path.read_bytes()) for path in files])
    assert written[0] == written[1]
    assert written[0]


def test_a_stored_scene_takes_no_memory() -> None:
    stored = restored(found(), walker())
    assert stored.size == (WIDTH, HEIGHT)
    assert stored.scene.pixels.untyped_storage().nbytes() == 4
