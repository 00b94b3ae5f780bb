"""Kinematics and painting: joints hold, turns compose, and what is painted is where it is said to be."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wherein.errors import ArgumentError
from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.template import Part, Template, Tree
from wherein.template.paint import paint
from wherein.template.pose import frames, matrices, placed, rotation
from wherein.template.render import render
from wherein.warp import Surface, warp

ROOT = placed(25.0, 1.2, (60.0, 45.0), (23.5, 14.5))
TURNS = {"arm": 17.0, "pair": -12.0, "left": 20.0, "right": -5.0}


def angle(matrix: Any) -> float:
    """The contract's angle."""
    return math.degrees(math.atan2(matrix[1][0], matrix[0][0]))


def at(matrix: Any, point: tuple[float, float]) -> Any:
    return (matrix @ np.array((*point, 1.0)))[:2]


def test_a_positive_turn_takes_x_towards_y() -> None:
    np.testing.assert_allclose(at(rotation(90), (1, 0)), (0, 1), atol=1e-12)
    np.testing.assert_allclose(at(rotation(90, about=(5, 5)), (6, 5)), (5, 6), atol=1e-12)
    assert angle(rotation(30)) == pytest.approx(30)


@given(st.floats(-180, 180), st.floats(0.3, 3), st.floats(-99, 99), st.floats(-99, 99))
@settings(max_examples=30, deadline=None)
def test_placed_takes_the_centre_where_it_is_told(degrees: float, scale: float, x: float, y: float) -> None:
    matrix = placed(degrees, scale, (x, y), (23.5, 14.5))
    np.testing.assert_allclose(at(matrix, (23.5, 14.5)), (x, y), atol=1e-9)
    assert np.linalg.det(matrix[:2, :2]) == pytest.approx(scale**2)
    assert math.cos(math.radians(angle(matrix) - degrees)) == pytest.approx(1)


def test_at_rest_every_part_lies_as_on_the_canvas(toy: Template) -> None:
    found = matrices(toy.parts, np.eye(3), {})
    for name, part in toy.parts.items():
        np.testing.assert_array_equal(at(found[name], (0, 0)), part.at)
        np.testing.assert_array_equal(found[name][:2, :2], np.eye(2))


def test_joints_stay_put(toy: Template) -> None:
    """A part's pivot lies where its parent's frame says, however far the part is turned."""
    found, places = frames(toy.parts, ROOT, TURNS), matrices(toy.parts, ROOT, TURNS)
    for name, part in toy.parts.items():
        if part.parent is not None:
            np.testing.assert_allclose(at(found[name], part.joint), at(found[part.parent], part.joint))
            np.testing.assert_allclose(at(places[name], part.pivot), at(found[part.parent], part.joint))


def test_nested_turns_add_up_and_carry_what_hangs_on_them(toy: Template) -> None:
    found = matrices(toy.parts, ROOT, TURNS)
    assert angle(found["left"]) == pytest.approx(25 - 12 + 20)
    assert angle(found["right"]) == pytest.approx(25 - 12 - 5)
    assert angle(found["body"]) == pytest.approx(25)
    pair = toy.parts["pair"].joint
    by_hand = ROOT @ rotation(-12, pair) @ rotation(20, (19, 11)) @ toy.parts["left"].rest
    np.testing.assert_allclose(found["left"], by_hand)
    alone = matrices(toy.parts, ROOT, {"pair": -12.0})
    joint = toy.parts["left"].joint
    assert np.linalg.norm(at(alone["left"], (3, 10)) - at(ROOT, joint)) > 0.5  # the eye went with its pair


@pytest.mark.parametrize(
    ("turns", "words"), [({"leg": 3.0}, '"leg".*arm'), ({"body": 3.0}, '"body" is static')]
)
def test_turns_that_cannot_be(toy: Template, turns: dict[str, float], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        frames(toy.parts, ROOT, turns)


def test_painted_at_whole_pixels_it_is_the_picture_itself(toy: Template) -> None:
    part = toy.parts["left"]
    assert part.motif is not None
    only = Template(
        "one", toy.canvas, Tree({"left": Part("left", None, part.motif, (0, 0), (0, 0), 0, False)}), ("left",)
    )
    scene = render(torch.zeros(3, 40, 50), only, {"left": placed(0, 1, (20, 15), (3, 5))})
    torch.testing.assert_close(scene[:, 10:21, 17:24], part.motif.masked)
    assert scene.abs().sum() == pytest.approx(part.motif.masked.sum().item(), rel=1e-5)


def test_each_part_is_interpolated_once(toy: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = []
    sample = Surface.__call__
    monkeypatch.setattr(Surface, "__call__", lambda self, points: samples.append(1) or sample(self, points))
    places = matrices(toy.parts, ROOT, TURNS)
    scene = torch.rand(3, 90, 120)
    painted = render(scene, toy, places)
    assert len(samples) == len(toy.parts.leaves)
    for name in toy.paint_order:
        motif = toy.parts[name].motif
        assert motif is not None
        scene = paint(scene, motif, torch.from_numpy(places[name]))
    assert torch.equal(painted, scene)


def test_the_upper_layer_hides_the_lower(toy: Template) -> None:
    """The arm is painted after the body, so where they overlap the arm shows."""
    places = matrices(toy.parts, np.eye(3), {})
    places["arm"] = places["body"] @ placed(0, 1, (10, 7), (4, 7))
    scene = render(torch.zeros(3, 60, 80), toy, places)
    motif = toy.parts["arm"].motif
    assert motif is not None
    field = transform(torch.from_numpy(places["arm"]).float(), lattice(15, 9, motif.pixels))
    inside = motif.mask > 0.5
    torch.testing.assert_close(warp(scene, field)[:, inside], motif.pixels[:, inside])


@pytest.mark.parametrize("hidden", [(), ("arm",), ("left", "right")])
def test_hidden_parts_are_not_there(toy: Template, hidden: tuple[str, ...]) -> None:
    background = torch.full((3, 90, 120), 0.5)
    places = matrices(toy.parts, placed(0, 1.0, (60.0, 45.0), toy.centre), TURNS)
    scene = render(background, toy, places, hidden)
    assert torch.equal(background, torch.full_like(background, 0.5))  # not painted over in place
    for name in toy.parts.leaves:
        motif = toy.parts[name].motif
        assert motif is not None
        x, y = at(places[name], ((motif.width - 1) / 2, (motif.height - 1) / 2))
        there = (scene[:, round(y), round(x)] != 0.5).any()
        assert bool(there) == (name not in hidden), name


def read(scene: torch.Tensor, motif: Motif, matrix: Any) -> float:
    """The mean difference of the motif and what is seen through its matrix, away from the motif's edge."""
    field = transform(torch.from_numpy(matrix).float(), lattice(motif.height, motif.width, motif.pixels))
    seen = warp(scene, field)
    return float((seen - motif.pixels)[:, 3:-3, 3:-3].abs().mean())


def test_what_is_painted_is_read_back_through_its_matrix(
    spec: dict[str, Any], write: Callable[[dict[str, Any]], Any]
) -> None:
    """The truth is exact: sampled through its matrix a part is unchanged; half a pixel away it is not."""
    toy = Template.load(write(spec))
    root = placed(40.0, 1.0, (60.0, 45.0), toy.centre)
    places = matrices(toy.parts, root, TURNS)
    for name in toy.parts.leaves:
        motif = toy.parts[name].motif
        assert motif is not None
        others = [other for other in toy.parts.leaves if other != name]
        scene = render(torch.rand(3, 90, 120), toy, places, hidden=others)
        right = read(scene, motif, places[name])
        beside = read(scene, motif, places[name] @ placed(0, 1, (0.5, 0.0), (0, 0)))
        turned = read(
            scene, motif, places[name] @ rotation(5, ((motif.width - 1) / 2, (motif.height - 1) / 2))
        )
        assert right < 0.01 and beside > 2 * right and turned > 1.2 * right, (name, right, beside, turned)
