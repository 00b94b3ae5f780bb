"""Poses of small objects are judged at the resolution that the scene has of them."""

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.images.motif import Motif
from wherein.motion.models import MOTIONS
from wherein.planes.own_resolution import JudgeJob, judge_each, judged, own_stages
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes, motif_stages
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint
from wherein.template.pose import placed

FINE = torch.rand((3, 150, 160), generator=torch.Generator().manual_seed(0))
MOTIF = Motif.whole((noise(150, 160, 4) + 0.8 * FINE) / 1.8)  # with detail that a small picture has not
STAGES = motif_stages(MOTIF)
SIMILARITY, AS_IT_IS = MOTIONS["similarity"], PlaneStage(rounds=1, steps=0)


def pose(scale: float) -> np.ndarray:
    return placed(20.0, scale, (120.0, 110.0), MOTIF.centre)


def scene(scale: float, threads: int = 1) -> ScenePyramid:
    picture = paint(noise(220, 240, 9), MOTIF, torch.from_numpy(pose(scale)))
    return ScenePyramid(picture, threads=threads)


def at(stage: int, scale: float) -> PlaneFits:
    return fit_planes(scene(scale), STAGES[stage], SIMILARITY, AS_IT_IS, pose(scale)[None])


def test_a_pose_has_the_finest_stage_that_is_not_enlarged_much() -> None:
    assert len(STAGES) == 4
    poses = np.stack([pose(scale) for scale in (0.2, 0.45, 0.6, 1.0, 3.0)])
    assert own_stages(STAGES, poses).tolist() == [0, 1, 2, 3, 3]
    assert own_stages(STAGES[-1:], poses).tolist() == [0] * 5


def test_a_small_object_scores_more_than_at_the_finest_resolution() -> None:
    last = at(-1, 0.4)
    own = judged(scene(0.4), STAGES, SIMILARITY, last)
    assert own.zncc[0] > last.zncc[0] + 0.05
    assert own.zncc[0] == pytest.approx(at(1, 0.4).zncc[0])
    np.testing.assert_allclose(own.poses, last.poses, atol=1e-9)


def test_a_large_one_stays_as_it_is() -> None:
    last = at(-1, 1.0)
    assert judged(scene(1.0), STAGES, SIMILARITY, last) is last


def test_what_has_no_fit_is_not_judged() -> None:
    lost = PlaneFits(pose(0.4)[None], np.full(1, -1.0), np.zeros(1))
    assert judged(scene(0.4), STAGES, SIMILARITY, lost) is lost


@pytest.mark.parametrize("threads", [1, 3])
def test_many_are_judged_as_each_alone(threads: int) -> None:
    poses = np.stack([pose(scale) for scale in (0.4, 0.7, 1.0)])
    found = PlaneFits(poses, np.zeros(3), np.zeros(3))
    jobs = [JudgeJob(STAGES, SIMILARITY, found), JudgeJob(STAGES[-1:], SIMILARITY, found)]
    both = judge_each(scene(0.4, threads), jobs)
    for job, together in zip(jobs, both, strict=True):
        for k in range(3):
            alone = judge_each(scene(0.4), [JudgeJob(job.stages, SIMILARITY, found[np.array([k])])])[0]
            assert alone.zncc[0] == together.zncc[k]
            np.testing.assert_array_equal(alone.poses[0], together.poses[k])
