"""Label Studio's tasks, against the schema of its predictions."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from detecting import walker
from walkers import HEIGHT, WIDTH, found, logo, ring, ring_mask
from wherein.formats.export_target import ExportTarget
from wherein.formats.label_studio import task
from wherein.formats.registry import FORMATS
from wherein.images.polygons import area
from wherein.template import Library


def test_a_task_for_each_scene(tmp_path: Path) -> None:
    out = tmp_path / "tasks.json"
    with FORMATS["label-studio"].export(ExportTarget(out), Library.of(walker())) as add:
        add(Path("a.png"), found("hand", at=((110.0, 80.0), (120.0, 90.0))))
        add(Path("b.png"), replace(found(), items=()))
    first, second = json.loads(out.read_text(encoding="utf-8"))
    assert (first["data"], second["data"]) == ({"image": "a.png"}, {"image": "b.png"})
    (prediction,) = first["predictions"]
    assert set(prediction) == {"model_version", "score", "result"}
    assert prediction["score"] == 0.97
    labels = [one["value"]["polygonlabels"] for one in prediction["result"]]
    assert labels == [["trunk"], ["leg"], ["upper"]] * 2
    assert len({one["id"] for one in prediction["result"]}) == 6
    for one in prediction["result"]:
        assert (one["type"], one["from_name"], one["to_name"]) == ("polygonlabels", "label", "image")
        assert (one["original_width"], one["original_height"], one["image_rotation"]) == (WIDTH, HEIGHT, 0)
        points = np.array(one["value"]["points"])
        assert points.shape[1] == 2 and points.min() >= 0 and points.max() <= 100
    assert second["predictions"][0]["result"] == []


def test_outlines_in_percents() -> None:
    (one,) = task(logo(), "a.png")["predictions"][0]["result"]
    corners = np.array(one["value"]["points"]) / 100 * (WIDTH, HEIGHT)
    np.testing.assert_allclose((corners.min(0), corners.max(0)), ((30, 40), (50, 52)), atol=0.001)
    assert one["value"]["polygonlabels"] == ["logo"]


def test_holes_and_components() -> None:
    results = task(ring(), "a.png")["predictions"][0]["result"]
    polygons = [np.array(one["value"]["points"]) / 100 * (WIDTH, HEIGHT) for one in results]
    assert len(polygons) == 2
    assert area(polygons) == pytest.approx(ring_mask().sum(), rel=0.02)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_label_studio_accepts_it() -> None:
    """Its own check of a prediction, for the labels of the template. It needs 70 packages: not in [dev]."""
    reason = "label-studio-sdk is not installed: its own check of predictions is left out"
    interface = pytest.importorskip("label_studio_sdk.label_interface", reason=reason)
    labels = "".join(f'<Label value="{name}"/>' for name in walker().parts.leaves)
    config = (
        '<View><Image name="image" value="$image"/>'
        f'<PolygonLabels name="label" toName="image">{labels}</PolygonLabels></View>'
    )
    checked = interface.LabelInterface(config)
    made = task(found("hand", at=((110.0, 80.0), (120.0, 90.0))), "a.png")
    assert checked.validate_task({"data": made["data"]})
    (prediction,) = made["predictions"]
    assert checked.validate_prediction(prediction)
    prediction["result"][0]["from_name"] = "other"
    assert not checked.validate_prediction(prediction), "it does check"
