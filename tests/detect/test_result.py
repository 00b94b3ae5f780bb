"""Detections: their fields and conventions."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import angle, walker
from wherein.detect.fast.assemble import Assembler
from wherein.detect.result import Detections
from wherein.drawing.detections import draw_frame
from wherein.images.load import Picture
from wherein.images.motif import Motif
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
    corners = np.array(((0, 0, 1), (23, 0, 1), (23, 43, 1), (0, 43, 1))) @ item.parts["leg"].matrix.T
    polygon = item.parts["leg"].polygon
    assert polygon.shape == (4, 2)
    assert all(np.linalg.norm(corners - point, axis=1).min() < 1e-9 for point in polygon)
    arm = item.parts["arm"].polygon  # of a group: around all of its leaves, as they are at rest
    assert len(arm) > 4


def test_groups_are_found_with_any_of_their_leaves() -> None:
    (item,) = found(hidden=("hand",))
    assert [item.parts[n].found for n in ("hand", "wrist", "upper", "arm")] == [False, False, True, True]


def test_json_has_the_fields_of_the_contract_and_no_others() -> None:
    record = json.loads(found().to_json())
    assert record == found().to_dict()
    assert set(record) == {"width", "height", "template", "seconds", "detections"}
    expected = (210, 160, "walker", 0.08)
    assert (record["width"], record["height"], record["template"], record["seconds"]) == expected
    (item,) = record["detections"]
    assert set(item) == {"score", "matrix", "angle", "scale", "parts"}
    assert np.shape(item["matrix"]) == (2, 3)
    for part in item["parts"].values():
        assert set(part) == {"found", "score", "matrix", "angle", "polygon"}
        assert type(part["found"]) is bool
        assert np.shape(part["matrix"]) == (2, 3)
        assert np.shape(part["polygon"])[1] == 2


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
    assert drawn.size == (1050, 859)
    assert drawn.tobytes() != Detections((), "walker", some.scene, 0.0).draw().tobytes()


def test_a_drawing_changes_nothing_but_what_is_near_a_line() -> None:
    some = found()
    item = replace(some[0], parts={name: some[0].parts[name] for name in ("leg",)})
    plain, drawn = (np.asarray(draw_frame(some.scene, *what)) for what in (((), ()), ((item,), (7,))))
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
    away = {name: replace(part, polygon=part.polygon + 900) for name, part in some[0].parts.items()}
    plain, drawn = (
        np.asarray(draw_frame(some.scene, *what))
        for what in (((), ()), ((replace(some[0], parts=away),), (7,)))
    )
    rows, columns = np.nonzero((drawn != plain).any(-1))
    assert rows.min() > 120, "its number, in the nearest corner"
    assert columns.min() > 130
