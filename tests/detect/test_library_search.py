"""Several templates in one pass: each detection says which it is, and each pixel belongs to one object."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import made_up, noise, photo, write_picture
from wherein import ArgumentError, Detector, Template, Tracker
from wherein.detect.calibration.false_alarms import MOST_OF_ALL
from wherein.images.motif import Motif
from wherein.template.pose import matrices, placed
from wherein.template.render import render


def patch(name: str, seed: int, width: int = 80, height: int = 64) -> Template:
    return Template.rigid(name, Motif.whole(noise(height, width, seed)))


def library(*templates: Template, **more: object) -> Detector:
    known = {one.name: made_up(one, threshold=0.5) for one in templates}
    return Detector(templates, scale=1, tilt=0, calibration=known, threads=1, **more)  # type: ignore[arg-type]


def with_them(*places: tuple[Template, float, tuple[float, float]]) -> Tensor:
    scene = photo("coffee", 320, 240)
    for template, angle, at in places:
        scene = render(scene, template, matrices(template.parts, placed(angle, 1.0, at, template.centre), {}))
    return scene


A, B = patch("a", 9), patch("b", 23)


def test_each_detection_says_its_template() -> None:
    found = library(A, B)(with_them((A, 30.0, (80.0, 90.0)), (B, -100.0, (230.0, 140.0))))
    where = {item.template: item for item in found}
    assert len(found) == 2
    assert where["a"].angle == pytest.approx(30.0, abs=0.5)
    assert where["b"].angle == pytest.approx(-100.0, abs=0.5)
    assert where["b"].center == pytest.approx((230.0, 140.0), abs=1)
    record = found.to_dict()
    assert record["template"] == "a, b"
    assert {item["template"] for item in record["detections"]} == {"a", "b"}
    assert {row.split(",")[1] for row in found.to_csv().splitlines()[1:]} == {"a", "b"}
    assert [one["name"] for one in found.to_coco()["categories"]] == ["a", "b"]
    assert {shape["label"] for shape in found.to_labelme()["shapes"]} == {"a", "b"}
    assert found.draw().width >= 320


def test_a_library_finds_the_same_as_each_detector_alone() -> None:
    scene = with_them((A, 30.0, (80.0, 90.0)))
    alone = Detector(A, scale=1, tilt=0, calibration=made_up(A, threshold=0.5), threads=1)(scene)
    (item,) = library(A, B)(scene)
    np.testing.assert_allclose(item.matrix, alone[0].matrix, atol=1e-6)
    assert item.score == alone[0].score


@pytest.mark.parametrize("there", [0, 1])
def test_of_near_twins_the_one_that_fits_better_is_found(there: int) -> None:
    other = A.canvas.pixels.clone()
    other[:, 20:40, 30:50] = noise(20, 20, 4)
    twins = A, Template.rigid("twin", Motif.whole(other))
    scene = with_them((twins[there], 50.0, (160.0, 120.0)))
    rng = torch.Generator().manual_seed(0)
    found = library(*twins)((scene + 0.02 * torch.randn(scene.shape, generator=rng)).clamp(0, 1))
    assert [item.template for item in found] == [twins[there].name]


def test_an_object_wins_over_a_part_of_it() -> None:
    part = Template.rigid("part", Motif.whole(A.canvas.pixels[:, 10:50, 10:60].contiguous()))
    whole = library(A, part)(with_them((A, 10.0, (160.0, 120.0))))
    assert [item.template for item in whole] == ["a"]
    alone = library(A, part)(with_them((part, 10.0, (160.0, 120.0))))
    assert [item.template for item in alone] == ["part"]


def test_at_most_so_many_are_found_of_all_templates() -> None:
    scene = with_them((A, 30.0, (80.0, 90.0)), (B, -100.0, (230.0, 140.0)))
    assert len(library(A, B, max_instances=1)(scene)) == 1


def test_a_library_has_thresholds_and_no_threshold() -> None:
    both = library(A, B)
    assert both.thresholds == {"a": 0.5, "b": 0.5}
    assert set(both.calibrations) == {"a", "b"}
    assert "a, b" in repr(both)
    for name in ("template", "threshold", "calibration"):
        with pytest.raises(ArgumentError, match="needs a single template"):
            getattr(both, name)


def test_a_rate_of_false_alarms_is_that_of_all_together() -> None:
    one = Detector([A], scale=1, tilt=0, calibration={"a": made_up(A)}, threshold="0.01/MP")
    both = library(A, B, threshold="0.02/MP")
    assert both.thresholds["a"] == pytest.approx(one.thresholds["a"])


def test_a_template_that_clutter_resembles_gets_the_rate_that_others_leave() -> None:
    """Clutter often reaches the threshold of one, and that of the others hardly ever."""
    many = [patch(f"t{seed}", seed) for seed in range(5)]
    known = {one.name: made_up(one, threshold=0.5) for one in many}
    plain = {"clutter": [0.3, 0.5, 0.55, 0.6], "present": [0.6, 0.7, 0.75]}
    known["t0"] = known["t0"].model_copy(update=plain)
    thresholds = Detector(many, scale=1, tilt=0, calibration=known, threads=1).thresholds
    assert [thresholds[f"t{k}"] for k in (1, 2, 3, 4)] == [0.6] * 4
    alarms = {name: one.false_alarms(thresholds[name]) * one.megapixels for name, one in known.items()}
    assert sum(alarms.values()) == pytest.approx(MOST_OF_ALL, rel=1e-3)
    assert alarms["t0"] > 0.99 * MOST_OF_ALL  # and not a fifth of it


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match="one template only"):
        Detector([A, B], scale=1, tilt=0, method="paper")
    with pytest.raises(ArgumentError, match="by the names"):
        Detector([A, B], scale=1, tilt=0, calibration=made_up(A))
    with pytest.raises(ArgumentError, match="calibration has c"):
        Detector([A, B], scale=1, tilt=0, calibration={"c": made_up(A)})
    with pytest.raises(ArgumentError, match="must name the template"):
        library(A, B).follow(with_them(), np.eye(3)[None])
    with pytest.raises(ArgumentError, match="a name for each of 1"):
        library(A, B).follow(with_them(), np.eye(3)[None], templates=["c"])


def test_a_folder_of_pictures_is_a_library(tmp_path: Path) -> None:
    for one in (A, B):
        write_picture(tmp_path / "patches" / f"{one.name}.png", one.canvas.pixels)
    loaded = Detector(
        tmp_path / "patches",
        scale=1,
        tilt=0,
        calibration={
            one.name: made_up(Template.load(tmp_path / "patches" / f"{one.name}.png")) for one in (A, B)
        },
        threads=1,
    )
    found = loaded(with_them((B, 0.0, (150.0, 100.0))))
    assert (found.template, [item.template for item in found]) == ("patches", ["b"])


def test_objects_of_each_template_are_tracked() -> None:
    track = Tracker(library(A, B), every=3)
    numbers = []
    for step in range(4):
        scene = with_them((A, 30.0, (80.0 + 4 * step, 90.0)), (B, -100.0, (230.0, 140.0 + 4 * step)))
        frame = track(scene)
        numbers.append({item.template: n for item, n in zip(frame.found, frame.tracks, strict=True)})
    assert numbers == [numbers[0]] * 4
    assert set(numbers[0]) == {"a", "b"}


def test_maps_and_traces_are_of_each_template() -> None:
    both, scene = library(A, B), with_them((A, 30.0, (80.0, 90.0)), (B, -100.0, (230.0, 140.0)))
    assert set(both.occurrence(scene)) == {"a: a", "b: b"}
    found = both(scene)
    assert [list(traces) for traces in both.fit_traces(found)] == [[item.template] for item in found]
