"""Detections: their fields and conventions."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from detecting import angle, walker
from walkers import TILTED, gauge, ring, ring_mask, tilted
from wherein import ArgumentError
from wherein.detect.fast.assemble import Assembler
from wherein.detect.result import Detections, unread
from wherein.drawing.detections import draw_frame
from wherein.images.eight_bit import to_image
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.images.polygons import area, hull, signed_area
from wherein.motion.homography import mapped
from wherein.template import Template
from wherein.template.pose import frames, matrices, placed

TURNS = {"arm": 25.0, "wrist": -15.0, "leg": 10.0}
ROOT = placed(30.0, 1.25, (100.0, 80.0), walker().centre)


def found(hidden: tuple[str, ...] = ()) -> Detections:
    made = walker()
    leaves = {name: (0.9, name not in hidden) for name in made.parts.leaves}
    one = Assembler(made)(frames(made.parts, ROOT, TURNS), leaves, 0.97)
    return Detections((one,), "walker", Picture(torch.rand(3, 160, 210), None), 0.08)


def test_matrices_map_part_pixels_to_the_scene() -> None:
    (item,), truth = found(), matrices(walker().parts, ROOT, TURNS)
    assert item.matrix.shape == (2, 3)
    np.testing.assert_allclose(item.matrix, ROOT[:2])
    assert list(item.parts) == [name for name in walker().parts if name != "walker"]
    for name, part in item.parts.items():
        np.testing.assert_allclose(part.matrix, truth[name][:2])
    np.testing.assert_allclose(item.matrix @ (*walker().centre, 1), (100, 80))


def test_angles_are_degrees_from_x_towards_y() -> None:
    (item,) = found()
    assert item.angle == pytest.approx(30)
    assert item.scale == pytest.approx(1.25)
    assert item.parts["hand"].angle == pytest.approx(30 + 25 - 15)
    assert item.parts["leg"].angle == pytest.approx(40)
    assert item.parts["leg"].angle == pytest.approx(angle(item.parts["leg"].matrix))
    right, down = item.matrix[:, 0], item.matrix[:, 1]  # where the canvas's x and y go
    assert right[1] > 0 > down[0]


def test_polygons_are_outlines_in_the_scene() -> None:
    (item,) = found()
    ends = ((-0.5, -0.5, 1), (23.5, -0.5, 1), (23.5, 43.5, 1), (-0.5, 43.5, 1))  # the edges of its pixels
    corners = np.array(ends) @ item.parts["leg"].matrix.T
    polygon = item.parts["leg"].polygon
    assert polygon.shape == (4, 2)
    assert all(np.linalg.norm(corners - point, axis=1).min() < 1e-9 for point in polygon)
    arm = item.parts["arm"]  # of a group: around all of its leaves, where they are
    assert len(arm.polygon) > 4
    below = np.concatenate([item.parts[name].polygon for name in ("upper", "hand")])
    left, top, width, height = arm.box
    np.testing.assert_allclose((left, top), below.min(0))
    np.testing.assert_allclose((left + width, top + height), below.max(0))


def test_polygons_are_concave_and_of_the_largest_component() -> None:
    part = ring(20.0, 1.5)[0].parts["ring"]
    filled = ring_mask()[:, :70].sum() + math.pi * 14.5**2  # without the bar, and with the hole
    assert signed_area(part.polygon) == pytest.approx(filled * 1.5**2, rel=0.02)
    assert area(part.rings) == pytest.approx(ring_mask().sum() * 1.5**2, rel=0.02)
    # The notch is 4 % of the disc.
    assert area([hull(part.polygon)]) > 1.02 * signed_area(part.polygon)


def test_groups_are_found_with_any_of_their_leaves() -> None:
    (item,) = found(hidden=("hand",))
    assert [item.parts[n].found for n in ("hand", "wrist", "upper", "arm")] == [False, False, True, True]


def test_json_has_the_fields_of_the_contract_and_no_others() -> None:
    record = json.loads(found().to_json())
    assert record == found().to_dict()
    assert set(record) == {"width", "height", "template", "seconds", "detections", "candidates"}
    assert record["candidates"] == []
    expected = (210, 160, "walker", 0.08)
    assert (record["width"], record["height"], record["template"], record["seconds"]) == expected
    (item,) = record["detections"]
    assert set(item) == {"score", "matrix", "angle", "scale", "parts"}
    assert np.shape(item["matrix"]) == (2, 3)
    for part in item["parts"].values():
        assert set(part) == {"found", "score", "matrix", "angle", "polygon", "turn"}
        assert type(part["found"]) is bool
        assert np.shape(part["matrix"]) == (2, 3)
        assert np.shape(part["polygon"])[1] == 2


def test_turns_are_those_of_the_joints() -> None:
    (item,) = found()
    turns = {name: part.turn for name, part in item.parts.items()}
    assert turns == pytest.approx({"trunk": 0, "upper": 0, "hand": 0, **TURNS}, abs=1e-9)
    assert json.dumps(item.to_dict()["parts"]["trunk"]["turn"]) == "0.0"


def test_perspective_is_taken_at_the_middle_of_each_picture() -> None:
    (item,), made = tilted(), gauge()
    needle, step = item.parts["needle"], 1e-4
    assert item.matrix.shape == needle.matrix.shape == (3, 3)
    assert item.matrix[2, 2] == needle.matrix[2, 2] == 1
    for one, middle in ((item, made.centre), (needle, made.parts["needle"].motif.centre)):
        assert one.middle == middle
        (x, y), (ahead, below) = one.center, mapped(one.matrix, middle + step * np.eye(2))
        assert (x, y) == pytest.approx(tuple(mapped(one.matrix, middle)))
        across, down = (ahead - (x, y)) / step, (below - (x, y)) / step
        assert one.angle == pytest.approx(np.degrees(np.arctan2(across[1], across[0])), abs=0.01)
        assert one.scale == pytest.approx(abs(np.linalg.det((across, down))) ** 0.5, rel=1e-3)
        values = np.linalg.svd((across, down), compute_uv=False)
        assert one.tilt == pytest.approx(np.degrees(np.arccos(values[1] / values[0])), abs=0.05)
    assert needle.turn == pytest.approx(45), "in the plane of the object, whatever the camera sees"
    assert abs(needle.angle - item.angle - 45) > 2
    assert found()[0].tilt == 0


def test_outlines_and_boxes_in_perspective() -> None:
    (item,) = tilted()
    corners = mapped(TILTED, [(-0.5, -0.5), (60.5, -0.5), (60.5, 60.5), (-0.5, 60.5)])
    dial = item.parts["dial"].polygon
    assert all(np.linalg.norm(corners - point, axis=1).min() < 1e-9 for point in dial)
    (left, top), (right, bottom) = corners.min(0), corners.max(0)
    assert item.parts["dial"].box == pytest.approx((left, top, right - left, bottom - top))
    everything = np.concatenate([part.polygon for part in item.parts.values()])
    (left, top), (right, bottom) = everything.min(0), everything.max(0)
    assert item.box == pytest.approx((left, top, right - left, bottom - top))


def test_a_reading_says_what_the_turn_means() -> None:
    needle = tilted()[0].parts["needle"]
    assert (needle.value, needle.unit) == (pytest.approx(70), "°C")
    record = json.loads(tilted().to_json())["detections"][0]["parts"]
    assert (record["needle"]["turn"], record["needle"]["value"], record["needle"]["unit"]) == (45, 70, "°C")
    assert {"value", "unit"}.isdisjoint(record["dial"])
    assert (tilted()[0].parts["dial"].value, tilted()[0].parts["dial"].unit) == (None, None)
    hidden = tilted("needle")[0].parts["needle"]
    assert (hidden.value, hidden.unit, hidden.to_dict()["value"]) == (None, "°C", None)


def test_json_maps_as_the_detection_does() -> None:
    some = tilted(candidates=2)
    record = json.loads(some.to_json())
    assert record == some.to_dict()
    dial = record["detections"][0]["parts"]["dial"]
    assert np.shape(dial["matrix"]) == (3, 3)
    corners = [(0, 0), (60, 0), (60, 60), (0, 60)]
    np.testing.assert_allclose(mapped(np.array(dial["matrix"]), corners), mapped(TILTED, corners), atol=1e-3)
    first, second = record["candidates"]
    assert set(first) == set(second) == {"score", "matrix"}
    assert (first["score"], second["score"]) == (0.6, 0.59)
    assert first["matrix"] == record["detections"][0]["matrix"]


def test_each_detection_of_a_library_says_its_template() -> None:
    some = replace(tilted(candidates=1), template="instruments")
    record = some.to_dict()
    assert record["template"] == "instruments"
    assert record["detections"][0]["template"] == record["candidates"][0]["template"] == "gauge"
    assert "template" not in tilted().to_dict()["detections"][0]
    assert some.to_csv().splitlines()[1].split(",")[1] == "gauge"


def test_a_root_that_is_a_leaf_is_its_own_part() -> None:
    logo = Template.rigid("logo", Motif.whole(torch.rand(3, 12, 20)))
    one = Assembler(logo)({"logo": ROOT}, {"logo": (0.8, True)}, 0.8)
    assert list(one.parts) == ["logo"]
    np.testing.assert_allclose(one.parts["logo"].matrix, one.matrix)


def test_a_sequence_and_a_picture() -> None:
    some = found(hidden=("leg",))
    assert len(some) == 1
    assert some[0] is some[-1] is next(iter(some))
    assert some[:1] == some.items
    assert repr(some) == "Detections(1 × walker: 0.97)"
    drawn = some.draw()
    assert drawn.size == some.size
    assert drawn.tobytes() != Detections((), "walker", some.scene, 0.0).draw().tobytes()


def test_it_is_shown_as_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Image.Image] = []
    monkeypatch.setattr(Image.Image, "show", lambda image, title: shown.append(image))
    some = found()
    some.show()
    assert [image.tobytes() for image in shown] == [some.draw().tobytes()]


def test_a_drawing_changes_nothing_but_what_is_near_a_line() -> None:
    some = found()
    item = replace(some[0], parts={name: some[0].parts[name] for name in ("leg",)})
    plain, drawn = (
        np.asarray(draw_frame(to_image(some.scene.pixels), *what)) for what in (((), ()), ((item,), (7,)))
    )
    changed = (drawn != plain).any(-1)
    (left, top), (right, bottom) = (item.parts["leg"].polygon.min(0), item.parts["leg"].polygon.max(0))
    rows, columns = np.nonzero(changed)
    assert ((columns >= left - 30) & (columns <= right + 30)).all()  # the number above is so wide
    assert ((rows >= top - 40) & (rows <= bottom + 5)).all()
    assert changed[int(top) : int(bottom), int(left) : int(right)].any()
    x, y = (item.parts["leg"].polygon.mean(0)).astype(int)
    assert not changed[y - 5 : y + 6, x - 5 : x + 6].any(), "within the outline all is as it was"


def test_an_object_outside_the_scene_leaves_no_line_in_it() -> None:
    some = found()
    away = {name: replace(part, rings=(part.polygon + 900,)) for name, part in some[0].parts.items()}
    plain, drawn = (
        np.asarray(draw_frame(to_image(some.scene.pixels), *what))
        for what in (((), ()), ((replace(some[0], parts=away),), (7,)))
    )
    rows, columns = np.nonzero((drawn != plain).any(-1))
    assert rows.min() > 120, "its number, in the nearest corner"
    assert columns.min() > 130


def test_a_scene_that_could_not_be_searched_says_so() -> None:
    pytest.importorskip("supervision")
    failed = Detections((), "walker", unread(), 0.0, "a <b>.png", error="file not found")
    assert len(failed) == 0
    assert failed.size == (0, 0)
    assert repr(failed) == "Detections(unreadable: a <b>.png: file not found)"
    assert repr(replace(failed, name="scene.png")) == "Detections(unreadable: file not found)"
    assert failed.to_dict() == {"error": "file not found"}
    assert json.loads(failed.to_json()) == failed.to_dict()
    assert failed._repr_png_() is None
    assert failed._repr_html_() == "<div>a &lt;b&gt;.png: file not found</div>"
    for made in (failed.draw, failed.show, failed.plot, failed.to_labelme):
        with pytest.raises(ArgumentError, match=r"could not be searched \(a <b>.png: file not found\)"):
            made()
    assert failed.to_csv().count("\r\n") == 1, "the header"
    assert failed.to_coco()["images"] == []
    assert len(failed.to_supervision()) == 0
    assert found().error is None
