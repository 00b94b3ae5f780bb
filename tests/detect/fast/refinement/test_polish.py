"""The last stage: blur, occluders and joints; and pieces attached to a hidden one."""

import numpy as np
import pytest
import torch

from detecting import group, leaf, made_up, off, painted, photo, ready, scene, template, texture, toy, walker
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.behind_hidden import place_behind_hidden
from wherein.detect.fast.joints.joint_geometry import turn_towards
from wherein.detect.fast.joints.placing import place
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.detect.fast.refinement.converged import POLISH
from wherein.detect.fast.refinement.last_fits import end_pieces
from wherein.detect.fast.refinement.polish import polish_pieces, with_polished
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.motion.homography import mapped, relative, rotations, shift
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import fit_planes
from wherein.pyramid.levels import ScenePyramid
from wherein.template import Template
from wherein.template.paint import paint
from wherein.template.pose import frames, placed, rotation

ROOT = placed(40.0, 1.0, (160.0, 120.0), walker().centre)
TURNS = {"arm": 20.0, "wrist": -33.0, "leg": 12.0}


BEFORE = 0.1
"""ZNCC of a limb before it is polished."""


def polished(scene: ScenePyramid, model: PieceModel, parent: np.ndarray, frame: np.ndarray) -> Placement:
    """One hypothesis with a limb, refined."""
    piece = model.piece
    before = Placement(
        {piece.parent: parent[None], piece.name: frame[None]}, {piece.name: np.array([BEFORE])}
    )
    found = polish_pieces(scene, before, [model], EUCLIDEAN)
    return with_polished(before, model, found[piece.name])


def striped() -> Template:
    """A body and an arm with three thin stripes along it, whose place along them its ends tell."""
    down, across = torch.arange(14.0)[:, None], torch.arange(52.0)[None]
    arm = torch.tensor((0.1, 0.5, 0.6))[:, None, None].expand(3, 14, 52)
    lines = ((2.8, (0.0, 0.1, 0.9)), (6.3, (0.1, 0.1, 0.9)), (9.8, (0.6, 0.4, 0.5)))
    stripes = [((1.2 - (down - at).abs()).clamp(0, 1), colour) for at, colour in lines]
    for cover, colour in (*stripes, ((2 - (across - 46.8).abs()).clamp(0, 1), (0.7, 0.3, 0.1))):
        arm = arm * (1 - cover) + cover * torch.tensor(colour)[:, None, None]
    return template(
        group("figure"),
        leaf("body", "figure", texture(64, 56, 3, 8), (4.0, 12.0), static=True),
        leaf("arm", "figure", arm, (62.0, 20.0), (5.0, 6.5), 40.0),
        size=(120, 80),
    )


def test_many_rotations_are_each_a_rotation() -> None:
    degrees = np.array([[0.0, 10.0, -90.0], [180.0, 33.0, 359.0]])
    many = rotations(degrees, (3.0, -7.0))
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(many[index], rotation(float(degrees[index]), (3.0, -7.0)), atol=1e-15)
    np.testing.assert_allclose(many @ (3.0, -7.0, 1.0), np.broadcast_to((3.0, -7.0, 1.0), (2, 3, 3)))


@pytest.mark.parametrize("sigma", [1.0, 1.5, 2.0])
def test_a_blurred_limb_keeps_to_its_joint(sigma: float) -> None:
    made = walker()
    scene, where = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    model, true = PieceModel(piece), frames(made.parts, ROOT, TURNS)
    near = (true["wrist"] @ rotation(2.5, piece.joint))[None]
    near[:, :2, 2] += 0.8
    found = polished(ScenePyramid(blur(scene, sigma)), model, true["arm"], near[0])
    pixels, degrees = off(made, "hand", found.frames["wrist"][0] @ model.to_canvas, where["hand"])
    assert pixels < 0.25
    assert degrees < 0.4


def test_a_similar_thing_has_the_pose_by_which_it_is_judged_better() -> None:
    """As a coin with another face: neither fit agrees with little smoothing, so that tells nothing."""
    made = walker()
    (model,) = (PieceModel(piece) for piece in Pieces.of(made).pieces if piece.name == "walker")
    name, start, first = model.piece.name, placed(40.0, 1.0, (160.6, 119.5), made.centre), np.array([BEFORE])
    for seed in range(6):
        other = blur(texture(320, 240, seed, 6), 1.0)
        alike = ScenePyramid(0.3 * painted(made, ROOT, TURNS)[0] + 0.7 * other)
        found = polish_pieces(alike, Placement({name: start[None]}, {name: first}), [model], EUCLIDEAN)[name]
        smooth, last = start[None] @ model.to_canvas, model.stages[-1]
        for stage in POLISH:
            smooth = fit_planes(alike, model.informative, EUCLIDEAN, stage, smooth).poses
        judged = fit_planes(alike, last, EUCLIDEAN, PlaneStage(1, 0), smooth)
        sharp = fit_planes(
            alike, model.sharp, EUCLIDEAN, PlaneStage(1, 0), np.concatenate((smooth, found.poses))
        )
        assert sharp.zncc.max() < 0.5
        assert found.zncc >= judged.zncc - 1e-6


def test_a_joint_that_is_wrong_does_not_bind() -> None:
    """The template's joints may be inaccurate: the picture decides."""
    made = walker()
    scene, where = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    model, true = PieceModel(piece), frames(made.parts, ROOT, TURNS)
    parent = true["arm"].copy()
    parent[:2, 2] += (1.8, -1.4)
    noisy = (scene + 0.12 * (photo("gravel", 320, 240) - 0.5)).clamp(0, 1)
    found = polished(ScenePyramid(noisy), model, parent, true["wrist"] @ rotation(1.0, piece.joint))
    assert off(made, "hand", found.frames["wrist"][0] @ model.to_canvas, where["hand"])[0] < 0.3


def test_a_limb_is_not_drawn_away_from_its_joint() -> None:
    """Where its picture lies too far from the joint, the limb stays where it was."""
    made = walker()
    scene, _ = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    model, true = PieceModel(piece), frames(made.parts, ROOT, TURNS)
    away = np.array(((1, 0, 4.5), (0, 1, -3.5), (0, 0, 1.0)))
    found = polished(ScenePyramid(scene), model, away @ true["arm"], away @ true["wrist"])
    np.testing.assert_array_equal(found.frames["wrist"][0], away @ true["wrist"])
    assert found.zncc["wrist"][0] == BEFORE


@pytest.mark.parametrize("turn", [-33.0, -12.0, 4.0, 21.0, 36.0])
def test_long_straight_edges_do_not_slide(turn: float) -> None:
    """In the score they count little, and there a pose that is 1° off may have a higher ZNCC than the right
    one; for a pose they count in full."""
    made = striped()
    root = placed(17.0, 0.8, (163.4, 121.7), made.centre)
    scene, where = painted(made, root, {"arm": turn})
    (found,) = ready(made, scale=(0.8, 0.8))(scene)
    pixels, degrees = off(made, "arm", found.parts["arm"].matrix, where["arm"])
    assert pixels < 0.2
    assert degrees < 0.3


@pytest.mark.parametrize("turn", [-17.0, -5.0, 10.0, 18.0])
def test_limbs_lie_in_the_plane_of_the_body_as_it_is_in_the_end(turn: float) -> None:
    """On the way it was tilted a little, and limbs had its tilt: a limb is a turn away from its body."""
    made = toy()
    known = made_up(made, 0.0, (0.5, 2.0), tilt=40.0)
    (found,) = ready(made, 0.0, (0.5, 2.0), 40.0, calibration=known)(scene(made, turn=turn))
    rest = {name: made.parts[name].rest for name in ("body", "arm")}
    body, arm = (found.parts[name].matrix @ np.linalg.inv(rest[name]) for name in rest)
    moved = relative(body, arm)
    np.testing.assert_allclose(moved[:2, :2] @ moved[:2, :2].T, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(moved[2], (0, 0, 1), atol=1e-9)
    assert found.parts["arm"].turn == pytest.approx(turn, abs=0.2)


def test_what_was_not_found_is_not_polished() -> None:
    made = walker()
    scene, _ = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    true = frames(made.parts, ROOT, TURNS)
    beside = true["wrist"] @ rotation(2.0, piece.joint)
    before = Placement({"arm": true["arm"][None], "wrist": beside[None]}, {"wrist": np.array([-1.0])})
    model = PieceModel(piece)
    fits = polish_pieces(ScenePyramid(scene), before, [model], EUCLIDEAN)
    found = with_polished(before, model, fits[piece.name])
    np.testing.assert_array_equal(found.frames["wrist"][0], beside)
    assert found.zncc["wrist"][0] == -1


def test_a_turn_towards_a_point_brings_it_there() -> None:
    made = walker()
    arm = next(p for p in Pieces.of(made).limbs if p.name == "arm")
    wrist = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    true = frames(made.parts, ROOT, TURNS)
    turned = turn_towards(arm, ROOT[None], true["wrist"][None], wrist.joint)
    np.testing.assert_allclose(ROOT @ rotations(turned, arm.joint), true["arm"][None], atol=1e-9)


@pytest.mark.parametrize("arm", [-35.0, 0.0, 28.0])
def test_a_hand_is_found_beyond_a_hidden_arm(arm: float) -> None:
    made, turns = walker(), {**TURNS, "arm": arm}
    scene, where = painted(made, ROOT, turns, hidden=("upper",))
    found = ready(made)(scene)
    assert len(found) == 1
    assert not found[0].parts["upper"].found
    assert found[0].parts["hand"].found
    pixels, degrees = off(made, "hand", found[0].parts["hand"].matrix, where["hand"])
    assert pixels < 1
    assert degrees < 1


def test_a_missing_hand_is_not_found_beyond_a_hidden_arm() -> None:
    made = walker()
    scene, _ = painted(made, ROOT, TURNS, hidden=("upper", "hand"))
    models = {piece.name: PieceModel(piece) for piece in Pieces.of(made).limbs}
    before = Placement({"walker": ROOT[None]}, {"walker": np.ones(1)})
    before = place(ScenePyramid(scene), place(ScenePyramid(scene), before, models["arm"]), models["wrist"])
    after = place_behind_hidden(ScenePyramid(scene), before, models["wrist"], models["arm"])
    assert after.zncc["wrist"][0] < 0.75


def beside_a_picture(shade: float) -> tuple[ScenePyramid, PieceModel, Placement, np.ndarray]:
    """A picture without an outline, half of it in a shade; a pose that is nearly right; and the truth."""
    motif = Motif.whole(texture(64, 56, 3, 8))
    made, truth = Template.rigid("picture", motif), placed(20.0, 1.0, (110.3, 90.6), motif.centre)
    pixels = paint(photo("coffee", 220, 180), motif, torch.from_numpy(truth))
    pixels[..., :110] *= shade
    model = PieceModel(Pieces.of(made).pieces[0])
    name, near = model.piece.name, shift(0.4, -0.3) @ truth @ rotations(np.array(0.5), motif.centre)
    frame = near @ model.from_canvas
    return ScenePyramid(pixels), model, Placement({name: frame[None]}, {name: np.full(1, BEFORE)}), truth


def test_a_picture_without_an_outline_ends_by_its_pixels_at_once() -> None:
    scene, model, before, truth = beside_a_picture(1.0)
    name = model.piece.name
    found = with_polished(before, model, polish_pieces(scene, before, [model], EUCLIDEAN)[name])
    assert found.fitted_by_pixels(name).all()
    ended = mapped(found.frames[name][0] @ model.to_canvas, model.footprint.corners)
    assert np.abs(ended - mapped(truth, model.footprint.corners)).max() < 0.05
    assert found.zncc[name][0] > 0.9
    again = end_pieces(scene, found, [model], EUCLIDEAN)
    np.testing.assert_array_equal(again.frames[name], found.frames[name])


@pytest.mark.parametrize(("loss", "stands"), [(0.03, True), (0.08, False)])
def test_a_small_loss_of_its_channels_leaves_a_fit_by_pixels_as_it_is(loss: float, stands: bool) -> None:
    scene, model, start, _ = beside_a_picture(1.0)
    name = model.piece.name
    clear = polish_pieces(scene, start, [model], EUCLIDEAN)[name]
    before = Placement(start.frames, {name: clear.zncc + loss})
    found = polish_pieces(scene, before, [model], EUCLIDEAN)[name]
    assert found.by_pixels.tolist() == [stands]
    if stands:  # at the pose of the pixels, with the ZNCC before it
        np.testing.assert_array_equal(found.poses, clear.poses)
        assert found.zncc == before.zncc[name]


def test_in_other_light_it_ends_by_its_channels() -> None:
    scene, model, before, truth = beside_a_picture(0.15)
    name = model.piece.name
    found = with_polished(before, model, polish_pieces(scene, before, [model], EUCLIDEAN)[name])
    assert not found.fitted_by_pixels(name).any()
    ended = mapped(found.frames[name][0] @ model.to_canvas, model.footprint.corners)
    assert np.abs(ended - mapped(truth, model.footprint.corners)).max() < 0.4


def test_what_was_fitted_by_pixels_is_known_until_it_moves() -> None:
    told, untold = np.array([True, False]), np.zeros(2, dtype=bool)
    frames_ = np.stack([np.eye(3)] * 2)
    some = Placement({"a": frames_}, {"a": np.ones(2)}, {"a": told})
    assert some[np.array([1, 0])].fitted_by_pixels("a").tolist() == [False, True]
    other = Placement({"a": frames_}, {"a": np.ones(2)})
    assert some.joined(other).fitted_by_pixels("a").tolist() == [True, False, False, False]
    assert other.joined(some).fitted_by_pixels("a").tolist() == [False, False, True, False]
    assert some.with_frames("a", frames_).fitted_by_pixels("a").tolist() == untold.tolist()
    assert some.with_piece("a", frames_, np.ones(2), told).fitted_by_pixels("a").tolist() == told.tolist()
