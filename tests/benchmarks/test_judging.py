"""The judge on made-up detections: each criterion on either side of its bound."""

import numpy as np
import pytest
import torch

from benchmarks import objects
from benchmarks.judging import Tally, judge
from benchmarks.objects import Instance, Scene
from benchmarks.subjects import bodiless, body, moving, robot, without
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.template import Part, Template, Tree
from wherein.template.pose import matrices, placed, rotation

CANVAS = (101, 61)
PICTURE = np.zeros((4, 4, 3), dtype=np.float32)


@pytest.fixture
def template():
    """A body and two arms."""

    def leaf(name, at, static=False):
        return Part(name, "thing", Motif.whole(torch.rand(3, 21, 31)), at, (15.0, 10.0), 30.0, static)

    root = Part("thing", None, None, (0.0, 0.0), (50.0, 30.0), 0.0, False)
    leaves = leaf("body", (30.0, 20.0), static=True), leaf("left", (0.0, 0.0)), leaf("right", (70.0, 0.0))
    tree = Tree({"thing": root, **{part.name: part for part in leaves}})
    canvas = Picture(torch.rand(3, CANVAS[1], CANVAS[0]), None)
    return Template("thing", canvas, tree, ("body", "left", "right"))


def instance(template, angle=30.0, at=(200.0, 150.0), covered=(), hidden=()):
    root = placed(angle, 1.0, at, template.centre)
    where = matrices(template.parts, root, {"left": 10.0})
    parts = {name: where[name] for name in template.parts.leaves if name not in hidden}
    return Instance(root, parts, frozenset((*covered, *hidden)))


def told(template, truth, found=True):
    """A detection of the very truth, as the command prints it."""
    parts = {
        name: {"found": found, "matrix": truth.parts.get(name, truth.root)[:2].tolist()}
        for name in template.parts.leaves
    }
    return {"score": 0.9, "matrix": truth.root[:2].tolist(), "parts": parts}


def moved(matrix, x=0.0, y=0.0, degrees=0.0, about=(0.0, 0.0)):
    """The matrix after a turn about a point of its own pixels, and a shift in the scene."""
    square = np.vstack([matrix, [0, 0, 1]]) @ rotation(degrees, about)
    square[:2, 2] += x, y
    return square[:2].tolist()


def tally(template, detections, *instances):
    return judge(detections, Scene("made up", PICTURE, tuple(instances)), template)


def test_the_truth_is_perfect(template):
    truth = instance(template)
    result = tally(template, [told(template, truth)], truth)
    assert result == Tally(scenes=1, instances=1, found=1, parts=3, right=3, near=3)
    assert result.perfect


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"x": 3.9}, 1),
        ({"x": 4.1}, 0),
        ({"x": 3.0, "y": 3.0}, 0),
        ({"degrees": 4.9}, 1),
        ({"degrees": -5.1}, 0),
        ({"degrees": 360.0}, 1),
    ],
)
def test_an_instance_is_found_within_4_px_and_5_degrees(template, change, found):
    truth, said = instance(template, angle=179.0), None
    said = told(template, truth)
    said["matrix"] = moved(said["matrix"], **change, about=template.centre)
    result = tally(template, [said], truth)
    assert (result.found, result.false_alarms) == (found, 1 - found)
    assert (result.parts, result.right) == (3, 3 * found)


@pytest.mark.parametrize(
    ("change", "right", "near"),
    [
        ({"x": 0.9}, 1, 1),
        ({"x": 1.1}, 0, 1),
        ({"y": -4.1}, 0, 0),
        ({"degrees": 0.9}, 1, 1),
        ({"degrees": 1.1}, 0, 1),
    ],
)
def test_a_part_is_right_within_1_px_and_1_degree(template, change, right, near):
    truth = instance(template)
    said = told(template, truth)
    said["parts"]["left"]["matrix"] = moved(said["parts"]["left"]["matrix"], **change, about=(15.0, 10.0))
    result = tally(template, [said], truth)
    assert (result.parts, result.right, result.near) == (3, 2 + right, 2 + near)
    assert result.perfect == bool(right)
    assert [words.split(" by ")[0] for words in result.wrong] == ["left"] * (1 - right)


def test_what_no_one_can_see_is_not_counted(template):
    truth = instance(template, covered=("left",), hidden=("right",))
    said = told(template, truth)
    said["parts"]["left"]["matrix"] = moved(said["parts"]["left"]["matrix"], x=50)
    result = tally(template, [said], truth)
    assert (result.parts, result.right) == (1, 1)
    assert (result.hidden, result.imagined) == (1, 1)
    assert tally(template, [told(template, truth, found=False)], truth).imagined == 0


def test_a_part_that_is_not_told_is_wrong(template):
    truth = instance(template)
    said = told(template, truth)
    del said["parts"]["left"]
    assert tally(template, [said], truth).right == 2


def test_a_detection_counts_once(template):
    one, two = instance(template), instance(template, at=(400.0, 150.0))
    said = told(template, one)
    assert tally(template, [said, said], one).false_alarms == 1
    both = tally(template, [said, said], one, two)
    assert (both.instances, both.found, both.false_alarms) == (2, 1, 1)
    assert tally(template, [told(template, two), said], one, two).perfect
    assert tally(template, [said]).false_alarms == 1


def test_the_nearest_is_taken(template):
    truth = instance(template)
    far, near = told(template, truth), told(template, truth)
    far["matrix"] = moved(far["matrix"], x=3)
    far["parts"] = {}
    assert tally(template, [far, near], truth).right == 3


def test_tallies_add_up():
    assert Tally(scenes=1, found=2) + Tally(scenes=1, parts=3) == Tally(scenes=2, found=2, parts=3)


def test_templates_lose_leaves_and_empty_groups():
    whole = robot()
    assert whole.source is None
    assert body(whole) == ("torso",)
    less = without(whole, ("upper_arm_left", "forearm_left"), "one-armed")
    assert "arm_left" not in less.parts
    assert {"arm_right", "torso"} <= set(less.parts)
    assert set(less.paint_order) == set(less.parts.leaves)
    assert "torso" not in bodiless(whole).parts
    assert moving(bodiless(whole)) == moving(whole)


def test_the_second_of_two_covers_parts_of_the_first(template):
    first = instance(template, angle=0.0)
    same, apart = instance(template, angle=0.0), instance(template, at=(400.0, 150.0))
    assert objects._share_under(template, first, "left", same) == 1
    assert objects._share_under(template, first, "left", apart) == 0
