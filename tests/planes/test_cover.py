"""What covers an object, and fits without it."""

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.images.motif import Motif
from wherein.motion.models import MOTIONS
from wherein.native import kernel
from wherein.planes.cover import (
    _uncovered,
    _uncovered_in_torch,
    covered_points,
    fit_uncovered,
    point_evidence,
)
from wherein.planes.plane_descent import PlaneStage, patch_of
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rectify import scene_levels
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint
from wherein.template.pose import placed

POSE = placed(20.0, 1.0, (110.0, 90.0), (34.5, 29.5))
MOTIF = Motif.whole(noise(60, 70, 4))


def scene(covered: float) -> ScenePyramid:
    """The motif with so much of it, on the left in its own picture, under something else."""
    picture = paint(noise(180, 220, 9), MOTIF, torch.from_numpy(POSE))
    width = round(70 * covered)
    if width:
        picture = paint(picture, Motif.whole(noise(60, width, 5)), torch.from_numpy(POSE))
    return ScenePyramid(picture)


def covered_in(problem: ScenePyramid, motif: PlaneMotif) -> torch.Tensor | None:
    patch = patch_of(scene_levels(problem), motif, POSE @ np.linalg.inv(motif.from_full))
    assert patch is not None
    return covered_points(motif, patch)


def test_what_is_covered_is_told_by_where_it_lies() -> None:
    motif = PlaneMotif.of(MOTIF, 100.0)
    found = covered_in(scene(0.35), motif)
    assert found is not None
    left = motif.points[:, 0] * motif.radius + motif.centre[0] < 0.35 * motif.size[0]
    assert (found == left).float().mean() > 0.85


def test_in_plain_view_nothing_is_covered() -> None:
    assert covered_in(scene(0.0), PlaneMotif.of(MOTIF, 100.0)) is None


def test_with_most_of_it_covered_there_is_no_fit_of_the_rest() -> None:
    motif = PlaneMotif.of(MOTIF, 100.0)
    found = covered_in(scene(0.9), motif)
    assert found is None or float(motif.weights[found].sum() / motif.weights.sum()) < 0.7


def test_the_rest_is_fitted_and_zncc_is_that_of_the_whole() -> None:
    motif, motion = PlaneMotif.of(MOTIF, 100.0), MOTIONS["similarity"]
    problem = scene(0.35)
    beside = placed(0.0, 1.0, (0.8, -0.6), (0.0, 0.0)) @ POSE
    before = fit_planes(problem, motif, motion, PlaneStage(rounds=1, steps=0), beside[None])
    found = fit_uncovered(problem, (motif,), motif, motion, before)
    assert np.abs(found.poses[0] - POSE)[:2, 2].max() < 0.35
    whole = fit_planes(problem, motif, motion, PlaneStage(rounds=1, steps=0), found.poses)
    np.testing.assert_allclose(found.zncc, whole.zncc)


def test_poses_in_plain_view_stay() -> None:
    motif, motion = PlaneMotif.of(MOTIF, 100.0), MOTIONS["similarity"]
    before = PlaneFits(POSE[None], np.array([0.9]), np.ones(1))
    found = fit_uncovered(scene(0.0), (motif,), motif, motion, before)
    np.testing.assert_array_equal(found.poses, before.poses)


compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


@compiled
@pytest.mark.parametrize("name", ["euclidean", "similarity", "affine", "homography"])
@pytest.mark.parametrize("any_polarity", [False, True])
@pytest.mark.parametrize("at_border", [False, True])
def test_c_fits_as_torch_does(name: str, any_polarity: bool, at_border: bool) -> None:
    motif, motion = PlaneMotif.of(MOTIF, 100.0, any_polarity=any_polarity).sparse, MOTIONS[name]
    beside = np.stack([placed(turn, 1.0, (x, -0.6), (0.0, 0.0)) @ POSE for turn, x in ((0, 0.8), (1, -0.5))])
    if at_border:
        beside = np.linalg.inv(placed(0.0, 1.0, (80.0, 0.0), (0.0, 0.0))) @ beside
    for covered in (0.35, 0.5):
        problem = scene(covered)
        if at_border:
            problem = ScenePyramid(problem.reduced(1)[..., 80:].contiguous())
        found = _uncovered(problem, motif, motion, beside)
        expected = _uncovered_in_torch(problem, motif, motion, beside)
        assert (expected != beside).any((1, 2)).all(), "the test is of poses that move"
        np.testing.assert_allclose(found, expected, atol=1e-4)


@compiled
def test_in_c_as_in_torch_poses_in_plain_view_stay_to_the_byte() -> None:
    motif, motion = PlaneMotif.of(MOTIF, 100.0).sparse, MOTIONS["similarity"]
    odd = POSE @ np.array(((1.0, 0, 1e-9), (0, 1, 0), (0, 0, 1)))
    poses = np.stack((odd, odd @ np.diag((-1.0, 1.0, 1.0))))  # the second is mirrored
    for fit in (_uncovered, _uncovered_in_torch):
        np.testing.assert_array_equal(fit(scene(0.0), motif, motion, poses), poses)
        assert len(fit(scene(0.0), motif, motion, poses[:0])) == 0


def test_threads_do_not_change_the_fits() -> None:
    motif, motion = PlaneMotif.of(MOTIF, 100.0), MOTIONS["similarity"]
    poses = np.stack([placed(0.0, 1.0, (0.1 * k, -0.6), (0.0, 0.0)) @ POSE for k in range(7)])
    problem = scene(0.35)
    before = fit_planes(problem, motif, motion, PlaneStage(rounds=1, steps=0), poses)
    alone, together = (
        fit_uncovered(ScenePyramid(problem.reduced(1), threads=count), (motif,), motif, motion, before)
        for count in (1, 3)
    )
    np.testing.assert_array_equal(alone.poses, together.poses)
    assert (alone.poses != poses).any((1, 2)).all()


def test_evidence_comes_from_what_shows() -> None:
    motif = PlaneMotif.of(MOTIF, 100.0)
    spots, evidence = point_evidence(scene(0.35), motif, POSE)
    own = (np.linalg.inv(POSE) @ np.concatenate((spots, np.ones((len(spots), 1))), 1).T)[:2].T
    assert own.min() > -1
    assert (own.max(0) < (70, 60)).all()
    covered = own[:, 0] < 0.35 * 70
    assert evidence.min() >= 0
    assert evidence[covered].mean() < 0.4 * evidence[~covered].mean()


def test_behind_the_camera_there_is_no_evidence() -> None:
    mirrored = POSE @ np.diag((-1.0, 1.0, 1.0))
    assert not point_evidence(scene(0.0), PlaneMotif.of(MOTIF, 100.0), mirrored)[1].any()
