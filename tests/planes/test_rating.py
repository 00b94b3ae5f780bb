"""Turns of a flat motif in a plane, rated on one picture of the plane."""

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.images.motif import Motif
from wherein.motion.models import motion_named
from wherein.native import kernel
from wherein.planes import scene_parts
from wherein.planes.plane_descent import PlaneStage, steering
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rating import best_turns, rate_poses, rate_turns, refine_poses
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.paint import paint
from wherein.template.pose import placed, rotations, tilted

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")

JOINT, TURN = (10.0, 22.0), 24.0
AT_REST = placed(0.0, 1.0, (30.0, 40.0), JOINT)
"""Motif pixels → plane, with the joint at (30, 40)."""

PLANE = placed(15.0, 1.1, (70.0, 90.0), (30.0, 40.0))
TILTED = PLANE @ tilted(30.0, 50.0, 400.0, (30.0, 40.0))


def limb(channels: int = 3) -> Motif:
    return Motif.whole(noise(44, 70, 4, channels))


def turns(step: float = 6.0, reach: float = 60.0) -> Poses:
    degrees = np.arange(-reach, reach + 1e-6, step)
    return rotations(degrees, (30.0, 40.0)) @ AT_REST


def scene(plane: np.ndarray = PLANE, channels: int = 3) -> ScenePyramid:
    """The limb, turned in the plane by `TURN`."""
    pose = plane @ rotations(np.array(TURN), (30.0, 40.0)) @ AT_REST
    ground = noise(200, 240, 9, channels)
    return ScenePyramid(paint(ground, limb(channels), torch.from_numpy(pose)))


def planes() -> Poses:
    """The right one, one beside it, one that is partly outside of the scene, and a tilted one."""
    shift = np.repeat(np.eye(3)[None], 3, axis=0)
    shift[1, :2, 2], shift[2, :2, 2] = (6.0, -9.0), (-75.0, 0.0)
    return np.concatenate((shift @ PLANE, TILTED[None]))


@compiled
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("any_polarity", [False, True])
def test_ratings_in_c_are_those_in_torch(
    channels: int, any_polarity: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    motif = PlaneMotif.of(limb(channels), 20, any_polarity=any_polarity)
    problem = scene(channels=channels), motif, planes(), turns(20.0)
    in_c = rate_turns(*problem)
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    np.testing.assert_allclose(in_c, rate_turns(*problem), atol=2e-3)
    assert in_c.shape == (4, 7)
    assert in_c.std() > 0.1


@compiled
@pytest.mark.parametrize("motion", ["euclidean", "similarity", "homography"])
@pytest.mark.parametrize("any_polarity", [False, True])
def test_poses_are_refined_in_c_as_in_torch(
    motion: str, any_polarity: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    motif = PlaneMotif.of(limb(), 20, any_polarity=any_polarity).rough
    starts = np.concatenate([plane @ turns(30.0) for plane in planes()])
    problem = motif, motion_named(motion), PlaneStage(rounds=1), starts
    in_c = refine_poses(scene(), *problem)
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    in_torch = refine_poses(scene(), *problem)
    np.testing.assert_allclose(in_c.zncc, in_torch.zncc, atol=2e-3)
    np.testing.assert_allclose(in_c.visible, in_torch.visible, atol=1e-3)
    assert (in_c.zncc == -1).any() != (in_c.visible >= 0.35).all()
    assert (in_c.zncc > 0.3).any()


def test_refining_brings_a_pose_near_the_truth() -> None:
    picture, motif = scene(), PlaneMotif.of(limb(), 20)
    truth = PLANE @ rotations(np.array(TURN), (30.0, 40.0)) @ AT_REST
    start = PLANE @ rotations(np.array(TURN + 5.0), (30.0, 40.0)) @ AT_REST
    start[:2, 2] += (1.5, -1.0)
    found = refine_poses(
        picture, motif.rough, motion_named("similarity"), PlaneStage(rounds=1, steps=6), start[None]
    )
    ends = np.array(((0, 69, 69, 0), (0, 0, 43, 43), (1, 1, 1, 1.0)))
    before, after = (np.abs((pose @ ends - truth @ ends)[:2]).max() for pose in (start, found.poses[0]))
    assert after < 0.4 * before
    assert after < 1.5


def test_refining_does_not_depend_on_threads_or_on_the_other_poses() -> None:
    motif = PlaneMotif.of(limb(), 20).rough
    starts = np.concatenate([plane @ turns(2.0) for plane in planes()[:3]])
    assert len(starts) > 2 * 64  # more than one share
    settings = motif, motion_named("similarity"), PlaneStage(rounds=1)
    alone = refine_poses(scene(), *settings, starts)
    shared = refine_poses(ScenePyramid(scene().scene, threads=3), *settings, starts)
    some = refine_poses(scene(), *settings, starts[7:9])
    assert np.array_equal(alone.poses, shared.poses)
    assert np.array_equal(alone.poses[7:9], some.poses)


def test_large_scenes_are_divided_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    motif = PlaneMotif.of(limb(), 20)
    poses = np.concatenate(
        [placed(a, s, (70.0, 90.0), (30.0, 40.0))[None] for a in (0, 30) for s in (1, 2, 3)]
    )
    problem = motif, motion_named("similarity"), PlaneStage()
    together, rated = refine_poses(scene(), *problem, poses), rate_poses(scene(), motif, poses)
    made: list[tuple[int, ...]] = []
    original = scene_parts.channels

    def counted(picture: torch.Tensor, settings: object) -> torch.Tensor:
        made.append(tuple(picture.shape[1:]))
        return original(picture, settings)

    monkeypatch.setattr(scene_parts, "_MAX_KEPT", 1)
    monkeypatch.setattr(scene_parts, "_SQUARE", 64)
    monkeypatch.setattr(scene_parts, "channels", counted)
    width, height = scene().size
    alone = refine_poses(scene(), *problem, poses)
    assert len(made) == len(poses)
    assert all(down * across < width * height for down, across in made)
    np.testing.assert_allclose(alone.poses, together.poses, atol=1e-3)
    np.testing.assert_allclose(alone.zncc, together.zncc, atol=1e-4)
    np.testing.assert_allclose(rate_poses(scene(), motif, poses), rated, atol=1e-4)
    # One pose changes nothing for another.
    some = refine_poses(scene(), *problem, poses[2:4])
    np.testing.assert_array_equal(some.poses, alone.poses[2:4])
    np.testing.assert_array_equal(
        rate_poses(scene(), motif, poses[2:4]), rate_poses(scene(), motif, poses)[2:4]
    )


@pytest.mark.parametrize("at", [(-500.0, 20.0), (20.0, 9000.0)])
def test_poses_outside_of_a_large_scene_have_no_rating(
    at: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene_parts, "_MAX_KEPT", 1)
    motif = PlaneMotif.of(limb(), 20)
    outside = np.array(((1.0, 0, at[0]), (0, 1, at[1]), (0, 0, 1)))[None]
    assert rate_poses(scene(), motif, outside) == -1
    assert refine_poses(scene(), motif, motion_named("similarity"), PlaneStage(), outside).zncc == -1


def test_the_best_turns_are_found_and_refined() -> None:
    picture, motif = scene(), PlaneMotif.of(limb(), 20)
    found = best_turns(
        picture, motif, motion_named("euclidean"), PlaneStage(rounds=1), PLANE[None], [turns(10.0)], 3
    )
    assert found.poses.shape == (3, 3, 3)
    truth = PLANE @ rotations(np.array(TURN), (30.0, 40.0)) @ AT_REST
    best = found.poses[found.zncc.argmax()]
    assert np.abs((best - truth)[:2, :2]).max() < 0.05
    assert np.isclose(
        np.linalg.det(best[:2, :2]), np.linalg.det(truth[:2, :2]), rtol=1e-3
    )  # it keeps its size


def test_the_best_turns_of_a_plane_do_not_depend_on_other_planes() -> None:
    """One plane has two turns, the other one many: the rest of the first are none."""
    picture, motif = scene(), PlaneMotif.of(limb(), 20)
    few = np.stack([rotations(np.array(at), (30.0, 40.0)) @ AT_REST for at in (TURN + 3.0, TURN - 40.0)])

    def best(*turned: np.ndarray) -> PlaneFits:
        own = np.stack([PLANE] * len(turned))
        return best_turns(
            picture, motif, motion_named("euclidean"), PlaneStage(rounds=1), own, list(turned), 4
        )

    alone, together = best(few), best(few, turns(10.0))
    assert (len(alone), len(together)) == (2, 8)
    np.testing.assert_array_equal(together.poses[:2], alone.poses)
    np.testing.assert_array_equal(together.zncc[:4], [*alone.zncc, -1.0, -1.0])
    assert (together.zncc[4:] > -1).all()


@pytest.mark.parametrize("plane", [PLANE, TILTED], ids=["upright", "tilted"])
def test_ratings_rank_turns_as_fits_do(plane: np.ndarray) -> None:
    """They approximate what a rectification for each turn would give."""
    picture, motif = scene(plane), PlaneMotif.of(limb(), 20)
    rated = rate_turns(picture, motif, plane[None], turns())[0]
    exact = fit_planes(
        picture, motif, motion_named("euclidean"), PlaneStage(rounds=1, steps=0), plane @ turns()
    )
    assert np.corrcoef(rated, exact.zncc)[0, 1] > 0.9
    assert rated.argmax() == exact.zncc.argmax() == (TURN + 60) / 6
    assert rated.max() > 0.8


def test_a_turn_out_of_the_scene_is_rated_minus_one() -> None:
    picture, motif = scene(), PlaneMotif.of(limb(), 20)
    away = placed(15.0, 1.1, (900.0, 90.0), (30.0, 40.0))
    edge = placed(0.0, 1.0, (12.0, 90.0), (30.0, 40.0))
    all_around = rotations(np.array((0.0, 180.0)), (30.0, 40.0)) @ AT_REST
    rated = rate_turns(picture, motif, np.stack((away, edge)), all_around)
    assert rated[0].tolist() == [-1, -1]
    assert rated[1, 0] > -1, "to the right there is room"
    assert rated[1, 1] == -1, "to the left there is none"


def test_a_mirrored_plane_and_one_behind_the_camera_have_no_rating() -> None:
    picture, motif = scene(), PlaneMotif.of(limb(), 20)
    mirrored, behind = PLANE.copy(), PLANE.copy()
    mirrored[:, 0] *= -1
    behind[2] *= -1
    assert (rate_turns(picture, motif, np.stack((mirrored, behind)), turns(60.0)) == -1).all()


def test_planes_and_turns_are_each_rated_on_their_own() -> None:
    picture, motif, every = scene(), PlaneMotif.of(limb(), 20), turns(30.0)
    together = rate_turns(picture, motif, planes(), every)
    for row, plane in zip(together, planes(), strict=True):
        np.testing.assert_array_equal(rate_turns(picture, motif, plane[None], every)[0], row)
    assert rate_turns(picture, motif, np.zeros((0, 3, 3)), every).shape == (0, len(every))


def test_channels_are_turned_as_a_smooth_function_of_the_direction() -> None:
    steered = torch.eye(8, dtype=torch.float64) @ steering(3.0)
    torch.testing.assert_close(steered, torch.eye(8, dtype=torch.float64).roll(-3, 1), atol=1e-9, rtol=0)
    direction = torch.arange(8, dtype=torch.float64) * (torch.pi / 4)
    smooth = (2 + direction.cos() + 0.5 * (2 * direction).sin()) @ steering(0.4)
    at = direction + 0.4 * torch.pi / 4
    torch.testing.assert_close(smooth, 2 + at.cos() + 0.5 * (2 * at).sin(), atol=1e-9, rtol=0)
