"""Placement of pieces at their joints."""

import gc
import weakref

import numpy as np
import pytest

from detecting import angle, between, group, leaf, noise, off, painted, template, walker
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import keeps_joint, turns
from wherein.detect.fast.joints.placing import place
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.motion.homography import mapped, shift
from wherein.motion.parallax import leans
from wherein.pyramid.levels import ScenePyramid
from wherein.template.pose import frames, matrices, placed, rotation, tilted
from wherein.template.render import render

ROOT = placed(40.0, 1.0, (160.0, 120.0), walker().centre)


def limbs(turns: dict[str, float], hidden: tuple[str, ...] = ()) -> tuple[Placement, dict[str, np.ndarray]]:
    """The walker's limbs, placed from its true root."""
    made = walker()
    scene, where = painted(made, ROOT, turns, hidden)
    levels, found = ScenePyramid(scene), Placement({"walker": ROOT[None]}, {"walker": np.ones(1)})
    for piece in Pieces.of(made).limbs:
        found = place(levels, found, PieceModel(piece))
    return found, where


@pytest.mark.parametrize(("arm", "wrist", "leg"), [(0, 0, 0), (35, -35, 20), (-38, 30, -25), (10, 39, 3)])
def test_a_chain_is_placed_link_by_link(arm: float, wrist: float, leg: float) -> None:
    made, turns = walker(), {"arm": arm, "wrist": wrist, "leg": leg}
    found, where = limbs(turns)
    for piece, name in (("arm", "upper"), ("wrist", "hand"), ("leg", "leg")):
        pixels, degrees = off(made, name, found.frames[piece][0] @ made.parts[name].rest, where[name])
        assert pixels < 0.5
        assert degrees < 1
        assert found.zncc[piece][0] > 0.85


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("axis", [0.0, 70.0])
def test_a_limb_above_its_plane_is_found_under_tilt(axis: float, side: int) -> None:
    """Seen from a side, all of it is shifted along the tilt; its turn is what it is."""
    made, turn = walker(), 15.0
    root = ROOT @ tilted(40.0, axis, 900.0, made.centre)
    (leg,) = (piece for piece in Pieces.of(made).limbs if piece.name == "leg")
    (lean,) = leans(root[None], leg.joint)
    raised = root @ shift(*(side * 0.9 * leg.height * lean)) @ np.linalg.inv(root)
    poses = matrices(made.parts, root, {"leg": turn})
    poses["leg"] = raised @ poses["leg"]
    scene = ScenePyramid(render(noise(240, 320, 9), made, poses))
    found = place(scene, Placement({"walker": root[None]}, {"walker": np.ones(1)}), PieceModel(leg))
    assert found.zncc["leg"][0] > 0.75
    assert abs(turns(root[None], found.frames["leg"])[0] - turn) < 1
    assert (
        np.linalg.norm(
            mapped(found.frames["leg"][0] @ made.parts["leg"].rest, (11.5, 21.5))
            - mapped(poses["leg"], (11.5, 21.5))
        )
        < 1
    )


def test_nothing_of_a_piece_outlives_it() -> None:
    piece = next(iter(Pieces.of(walker()).limbs))
    model, left = PieceModel(piece), weakref.ref(piece)
    place(ScenePyramid(noise(60, 80)), Placement({"walker": ROOT[None]}, {}), model)
    assert model.starts is model.starts  # cached, as long as the piece exists
    del piece, model
    gc.collect()
    assert left() is None


def test_a_piece_that_is_not_there_is_not_found() -> None:
    there, _ = limbs({"leg": 10.0})
    missing, _ = limbs({"leg": 10.0}, ("leg",))
    assert there.zncc["leg"][0] > 0.85
    assert missing.zncc["leg"][0] < 0.6
    np.testing.assert_array_equal(there.frames["arm"], missing.frames["arm"])


@pytest.mark.parametrize("turn", [50.0, -60.0, 90.0, 180.0])
def test_limits_of_joints_hold(turn: float) -> None:
    """A leg that is turned beyond its limit is not found, and never placed beyond it."""
    found, _ = limbs({"leg": turn})
    relative = between(angle(found.frames["leg"][0]), angle(ROOT))
    assert relative <= 25 + 3 + 1e-6
    assert found.zncc["leg"][0] < 0.8


def test_a_frame_keeps_its_joint_within_the_tolerances() -> None:
    made = template(group("r"), leaf("a", "r", noise(9, 9), (3.0, 4.0), (2.0, 2.0), turn=20.0), size=(20, 20))
    (piece,) = Pieces.of(made).pieces
    parent = placed(70.0, 2.0, (50.0, 60.0), (10.0, 10.0))
    right = [parent @ rotation(t, piece.joint) for t in (0.0, 20.0, -22.9)]
    wrong = [parent @ rotation(t, piece.joint) for t in (24.0, -24.0, 180.0)]
    aside = np.array(((1, 0, 2.4), (0, 1, 0), (0, 0, 1.0)))  # on the canvas, whatever the scale
    further = np.array(((1, 0, 2.6), (0, 1, 0), (0, 0, 1.0)))
    every = np.stack([*right, *wrong, parent @ aside, parent @ further])
    kept = keeps_joint(piece, np.repeat(parent[None], len(every), 0), every, 2.5)
    assert kept.tolist() == [True] * 3 + [False] * 3 + [True, False]


def test_no_hypotheses_no_pieces() -> None:
    made = walker()
    piece = Pieces.of(made).limbs[0]
    none = Placement({"walker": np.zeros((0, 3, 3))}, {})
    found = place(ScenePyramid(noise(60, 60)), none, PieceModel(piece))
    assert found.frames[piece.name].shape == (0, 3, 3)
    assert len(found) == 0


def test_frames_nest() -> None:
    made, turns = walker(), {"arm": 20.0, "wrist": -50.0}
    nested = frames(made.parts, ROOT, turns)
    wrist = np.array((136.0, 40.0, 1.0))
    np.testing.assert_allclose(nested["wrist"] @ wrist, nested["arm"] @ wrist)
    assert between(angle(nested["hand"]), 40 + 20 - 50) < 1e-9


@pytest.mark.parametrize("size", [(100, 100), (1200, 900)])
def test_joints_of_large_templates_have_a_larger_tolerance(
    size: tuple[int, int],
) -> None:
    """In canvas pixels: a fiftieth of the diagonal, but not less than the accuracy of a fit."""
    made = template(group("r"), leaf("a", "r", noise(9, 9), (3.0, 4.0), (2.0, 2.0), turn=20.0), size=size)
    (piece,) = Pieces.of(made).pieces
    allowed = max(2.5, 0.02 * float(np.hypot(*size)))
    moved = np.repeat(np.eye(3)[None], 2, axis=0)
    moved[:, 0, 2] = (allowed - 0.1, allowed + 0.1)
    assert keeps_joint(piece, np.repeat(np.eye(3)[None], 2, axis=0), moved, 2.5).tolist() == [True, False]


def test_a_tilt_allows_a_joint_to_be_off_along_it_alone() -> None:
    made = template(
        group("r"), leaf("a", "r", noise(9, 9), (3.0, 4.0), (2.0, 2.0), turn=20.0), size=(300, 400)
    )
    (piece,) = Pieces.of(made).pieces
    lean = piece.height * np.tan(np.radians(40.0))
    plane = tilted(40.0, 0.0, 1e9, piece.joint)
    off = [(lean + piece.play - 0.1, 0), (-lean - piece.play + 0.1, 0), (lean + piece.play + 0.1, 0)]
    off += [(0, piece.play - 0.1), (0, piece.play + 0.1)]
    every = np.stack([plane @ shift(*by) for by in off])
    kept = keeps_joint(piece, np.repeat(plane[None], len(every), 0), every, 2.5)
    assert kept.tolist() == [True, True, False, True, False]
