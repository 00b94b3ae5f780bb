"""Fits of a flat motif: C against torch, known poses under other light, many at once."""

import numpy as np
import pytest
import torch

from wherein.images.channels import ChannelSettings
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.motion.models import MOTIONS, motion_named
from wherein.native import kernel
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, finest_stage, fit_each, fit_planes, motif_stages
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")

_TRUTH = np.array(((0.95, -0.25, 60.0), (0.2, 1.05, 40.0), (4e-4, -3e-4, 1.0)))


def _texture(channels, height, width, seed):
    rng = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, channels, height // 5 + 2, width // 5 + 2, generator=rng)
    return torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic")[0].clamp(0, 1)


def _motif(channels=3, seed=3):
    y, x = np.mgrid[0:70, 0:80]
    mask = torch.from_numpy(np.clip(34 - np.hypot((x - 39.5) * 0.87, y - 34.5), 0, 1)).float()
    return Motif(_texture(channels, 70, 80, seed), mask)


def _scene(matrix=_TRUTH, channels=3):
    return paint(_texture(channels, 180, 220, 9), _motif(channels), torch.from_numpy(matrix))


def _beside(count=8, seed=0, reach=2.5):
    """Poses around the truth: corners are off by a few pixels."""
    rng = np.random.default_rng(seed)
    poses = np.repeat(_TRUTH[None], count, axis=0)
    poses[:, :2, 2] += rng.uniform(-reach, reach, (count, 2))
    poses[:, :2, :2] *= 1 + rng.uniform(-0.02, 0.02, (count, 2, 2))
    return poses


def _corner_error(poses, truth=_TRUTH):
    corners = np.array(((0, 79, 79, 0), (0, 0, 69, 69), (1, 1, 1, 1.0)))
    ends, there = poses @ corners, truth @ corners
    return np.linalg.norm(ends[:, :2] / ends[:, 2:] - there[:2] / there[2:], axis=1).max(-1)


def _odd_poses():
    """Beside the truth, partly outside, far outside, mirrored, behind the camera, and beside the truth."""
    poses = _beside(6)
    poses[1, 0, 2], poses[2, 0, 2] = -25.0, 900.0
    poses[3, 0] *= -1
    poses[4, 2] *= -1
    return poses


def _in_both(monkeypatch, *problem):
    in_c = fit_planes(*problem)
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    return in_c, fit_planes(*problem)


@compiled
@pytest.mark.parametrize("channels", [1, 3])
def test_evaluations_in_c_are_those_in_torch(channels, monkeypatch):
    scene, plane = ScenePyramid(_scene(channels=channels)), PlaneMotif.of(_motif(channels), 25)
    motion, stage = motion_named("homography"), PlaneStage(rounds=1, steps=0)
    in_c, in_torch = _in_both(monkeypatch, scene, plane, motion, stage, _odd_poses())
    np.testing.assert_allclose(in_c.zncc, in_torch.zncc, atol=2e-4)
    np.testing.assert_allclose(in_c.visible, in_torch.visible, atol=1e-6)
    assert in_c.zncc[2:5].tolist() == [-1, -1, -1]
    assert 0.3 < in_c.visible[1] < 0.9


@compiled
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("channels", [1, 3])
def test_fits_in_c_are_those_in_torch(motion, channels, monkeypatch):
    scene, plane = ScenePyramid(_scene(channels=channels)), PlaneMotif.of(_motif(channels), 25)
    stage = PlaneStage(3, 10, 1e-3)  # to convergence: which step is the last may differ by a rounding error
    in_c, in_torch = _in_both(monkeypatch, scene, plane, motion_named(motion), stage, _beside(5, seed=4))
    np.testing.assert_allclose(in_c.zncc, in_torch.zncc, atol=2e-4)
    for one, other in zip(in_c.poses, in_torch.poses, strict=True):
        assert _corner_error(one[None], other) < 0.02


@compiled
def test_poses_settle_in_c_as_in_torch(monkeypatch):
    scene, plane = ScenePyramid(_scene()), PlaneMotif.of(_motif(), 25)
    stage = PlaneStage(3, 1, 0.0, settles=True)
    in_c, in_torch = _in_both(
        monkeypatch, scene, plane, motion_named("homography"), stage, _beside(4, reach=0.5)
    )
    np.testing.assert_allclose(in_c.zncc, in_torch.zncc, atol=2e-4)
    for one, other in zip(in_c.poses, in_torch.poses, strict=True):
        assert _corner_error(one[None], other) < 0.02


def test_poses_settle_at_one_pose_from_all_starts():
    """Checked ones end where interpolation costs more than the step gains, wherever that is."""
    scene, plane = ScenePyramid(_scene()), PlaneMotif.of(_motif(), 100)
    motion = motion_named("homography")
    checked = fit_planes(scene, plane, motion, PlaneStage(2, 6, 5e-3), _beside(6))
    settled = fit_planes(scene, plane, motion, PlaneStage(4, 1, 5e-3, settles=True), checked.poses)
    apart = [_corner_error(found.poses, found.poses[0]).max() for found in (checked, settled)]
    assert apart[1] < 0.05
    assert apart[1] < 0.5 * apart[0]


def test_poses_settle_in_three_rounds_though_each_step_leads_only_a_part_of_the_way():
    """In a scene that is less sharp than the motif: without extrapolation a fifth of a pixel is left."""
    scene = ScenePyramid(blur(_scene(), 2.5))
    plane, motion = PlaneMotif.of(_motif(), 100, ChannelSettings(sigma=0.5)), motion_named("euclidean")
    starts = fit_planes(scene, plane, motion, PlaneStage(1, 0), _beside(6, reach=0.3)).poses
    ends = fit_planes(scene, plane, motion, PlaneStage(40, 1, 0.0, settles=True), starts).poses
    near = fit_planes(scene, plane, motion, PlaneStage(3, 1, 0.0, settles=True), starts).poses
    apart = [
        max(_corner_error(one[None], end)[0] for one, end in zip(some, ends, strict=True))
        for some in (starts, near)
    ]
    assert apart[0] > 1
    assert apart[1] < 0.1 * apart[0]


def test_a_pose_beside_the_truth_is_brought_to_it():
    scene, plane = ScenePyramid(_scene()), PlaneMotif.of(_motif(), 100, even=True)
    found = fit_planes(scene, plane, motion_named("homography"), PlaneStage(6, 6, 1e-3), _beside(seed=4))
    assert _corner_error(found.poses).max() < 0.25
    assert found.zncc.min() > 0.95
    assert (found.visible == 1).all()


def test_light_changes_little():
    """Half as bright and shaded: ZNCC of the channels hardly falls, and the pose stays."""
    scene = _scene()
    ramp = torch.linspace(0.4, 1.2, scene.shape[-1])
    lit = (0.5 * scene * ramp + 0.1).clamp(0, 1)
    plane = PlaneMotif.of(_motif(), 100, even=True)
    found = fit_planes(ScenePyramid(lit), plane, motion_named("homography"), PlaneStage(6, 6), _beside())
    assert _corner_error(found.poses).max() < 0.5
    assert found.zncc.min() > 0.9


def test_a_reflection_costs_no_more_than_what_it_covers():
    scene = _scene()
    scene[:, 60:75, 90:110] = 0.95
    plane = PlaneMotif.of(_motif(), 100)
    found = fit_planes(ScenePyramid(scene), plane, motion_named("similarity"), PlaneStage(6, 6), _beside())
    assert found.zncc.min() > 0.75
    assert _corner_error(found.poses).max() < 2.5


def test_a_plain_shape_is_found_by_its_outline_on_any_background():
    motif = Motif(torch.full((3, 70, 80), 0.5), _motif().mask)
    truth = np.array(((1, 0, 60.0), (0, 1, 40.0), (0, 0, 1)))
    plane = PlaneMotif.of(motif, 30)
    start = truth[None] + np.array(((0, 0, 2.0), (0, 0, -1.5), (0, 0, 0)))
    for level in (0.0, 1.0):  # darker and lighter than the shape
        scene = paint(torch.full((3, 180, 220), level), motif, torch.from_numpy(truth))
        found = fit_planes(ScenePyramid(scene), plane, motion_named("translation"), PlaneStage(4, 6), start)
        assert np.abs(found.poses[0] - truth).max() < 0.3
        assert found.zncc[0] > 0.9


def test_many_poses_are_each_fitted_on_their_own():
    scene, plane, poses = ScenePyramid(_scene()), PlaneMotif.of(_motif(), 25), _beside(5)
    motion, stage = motion_named("affine"), PlaneStage()
    together = fit_planes(scene, plane, motion, stage, poses)
    for k, pose in enumerate(poses):
        alone = fit_planes(scene, plane, motion, stage, pose[None])
        assert np.array_equal(alone.poses[0], together.poses[k])
        assert alone.zncc[0] == together.zncc[k]


def test_no_poses_and_no_steps():
    scene, plane = ScenePyramid(_scene()), PlaneMotif.of(_motif(), 25)
    motion = motion_named("euclidean")
    assert len(fit_planes(scene, plane, motion, PlaneStage(), np.zeros((0, 3, 3)))) == 0
    still = fit_planes(scene, plane, motion, PlaneStage(rounds=1, steps=0), _TRUTH[None])
    np.testing.assert_allclose(still.poses[0], _TRUTH, atol=1e-9)


def test_a_flat_scene_has_no_fit():
    found = fit_planes(
        ScenePyramid(torch.full((3, 180, 220), 0.5)),
        PlaneMotif.of(_motif(), 25),
        motion_named("similarity"),
        PlaneStage(),
        _beside(3),
    )
    assert (np.abs(found.zncc) < 0.05).all()
    assert np.isfinite(found.poses).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_several_motifs_are_fitted_as_each_alone(threads):
    """Also one without poses, and the same motif twice."""
    scene = ScenePyramid(_scene(), threads=threads)
    motifs = [PlaneMotif.of(_motif(), radius) for radius in (20.0, 30.0)]
    euclidean, similarity = MOTIONS["euclidean"], MOTIONS["similarity"]
    jobs = [
        FitJob(motifs[0], euclidean, PlaneStage(), _beside(5)),
        FitJob(motifs[1], similarity, PlaneStage(rounds=1), _beside(3, seed=1)),
        FitJob(motifs[1], euclidean, PlaneStage(), _beside(0)),
        FitJob(motifs[0], euclidean, PlaneStage(), _beside(2, seed=2)),
    ]
    for job, found in zip(jobs, fit_each(scene, jobs), strict=True):
        alone = fit_planes(ScenePyramid(_scene()), job.motif, job.motion, job.stage, job.poses)
        assert np.array_equal(found.poses, alone.poses)
        assert np.array_equal(found.zncc, alone.zncc)
        assert np.array_equal(found.visible, alone.visible)


def test_the_finest_stage_is_the_last():
    last, alone = motif_stages(_motif())[-1], finest_stage(_motif())
    torch.testing.assert_close(alone.target, last.target, rtol=0, atol=0)
    torch.testing.assert_close(alone.weights, last.weights, rtol=0, atol=0)
    np.testing.assert_array_equal(alone.from_full, last.from_full)


@compiled
def test_where_half_of_the_motif_is_covered_a_step_leads_as_far():
    scene = _scene()
    scene[:, :, 95:] = _texture(3, 180, 220, 21)[:, :, 95:]
    plane = PlaneMotif.of(_motif(), 25)
    found = fit_planes(
        ScenePyramid(scene), plane, motion_named("translation"), PlaneStage(1, 2), _shifted((2, -1))
    )
    assert 0.3 < found.zncc[0] < 0.8
    assert _corner_error(found.poses)[0] < 0.4


def _shifted(by):
    """The truth, off by some pixels of the scene."""
    pose = _TRUTH.copy()[None]
    pose[:, :2] += np.array(by)[:, None] * _TRUTH[2]
    return pose
