"""The end of a fit by the pixels: where they agree, and nowhere else."""

import numpy as np
import pytest
import torch

from detecting import noise, photo
from wherein.images.motif import Motif
from wherein.motion.homography import mapped, relative, rotations, shift
from wherein.motion.models import MOTIONS
from wherein.planes.pixel_fit import PixelJob, fit_pixels, pixels_of
from wherein.planes.plane_fit import SHARP, PlaneFits, finest_stage
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint
from wherein.template.pose import placed

EUCLIDEAN = MOTIONS["euclidean"]
SIZE = (70, 60)
MIDDLE = (34.5, 29.5)
MOTIF = Motif.whole(noise(SIZE[1], SIZE[0], 4))
EXACT = finest_stage(MOTIF, settings=SHARP, even=True)


def found_at(pose: np.ndarray) -> PlaneFits:
    return PlaneFits(pose[None], np.array([0.9]), np.ones(1))


def fitted(scene: ScenePyramid, found: PlaneFits) -> PlaneFits:
    motif = pixels_of(MOTIF, len(scene.samples))
    (ended,) = fit_pixels(scene, [PixelJob(motif, EXACT, EUCLIDEAN, found)])
    return ended


def beside(pose: np.ndarray) -> np.ndarray:
    """A pose as channels may leave it."""
    return shift(0.15, -0.1) @ pose @ rotations(np.array(0.3), MIDDLE)


def off(pose: np.ndarray, truth: np.ndarray) -> float:
    corners = [(0, 0), (SIZE[0] - 1, 0), (0, SIZE[1] - 1), (SIZE[0] - 1, SIZE[1] - 1)]
    return float(np.linalg.norm(mapped(pose, corners) - mapped(truth, corners), axis=1).max())


@pytest.mark.parametrize("size", [0.6, 1.0, 1.7])
@pytest.mark.parametrize("grey", [False, True])
def test_where_they_agree_poses_are_exact(size: float, grey: bool) -> None:
    truth = placed(20.0, size, (110.3, 90.6), MIDDLE)
    scene = paint(photo("coffee", 220, 180), MOTIF, torch.from_numpy(truth)) * 0.7 + 0.1
    scene = scene.mean(0, keepdim=True) if grey else scene
    found = fitted(ScenePyramid(scene), found_at(beside(truth)))
    assert off(found.poses[0], truth) < 0.05 * size
    assert found.zncc == [0.9]
    moved = relative(beside(truth), found.poses[0])[:2, :2]
    np.testing.assert_allclose(moved @ moved.T, np.eye(2), atol=1e-5)  # in the plane that it had


def test_in_other_light_poses_stay_to_the_byte() -> None:
    """Half of it in a shadow: what is dark there is not dark in the motif."""
    truth = placed(20.0, 1.0, (110.3, 90.6), MIDDLE)
    scene = paint(photo("coffee", 220, 180), MOTIF, torch.from_numpy(truth))
    scene[..., :110] *= 0.15
    start = beside(truth)
    found = fitted(ScenePyramid(scene), found_at(start))
    np.testing.assert_array_equal(found.poses[0], start)


def test_outside_of_the_scene_poses_stay() -> None:
    scene = ScenePyramid(photo("coffee", 220, 180))
    for away in (placed(0.0, 1.0, (900.0, 90.0), MIDDLE), np.diag((-1.0, 1.0, 1.0))):
        found = fitted(scene, found_at(away))
        np.testing.assert_array_equal(found.poses[0], away)


def test_a_pose_does_not_depend_on_others_or_on_the_rest_of_the_scene() -> None:
    truth = placed(20.0, 1.0, (110.0, 90.0), MIDDLE)
    scene = paint(photo("coffee", 220, 180), MOTIF, torch.from_numpy(truth))
    starts = np.stack([beside(truth), placed(20.0, 1.0, (60.0, 60.0), MIDDLE), shift(0.2, 0.2) @ truth])
    many = PlaneFits(starts, np.full(3, 0.9), np.ones(3))
    together = fitted(ScenePyramid(scene), many)
    alone = fitted(ScenePyramid(scene), found_at(starts[0]))
    np.testing.assert_array_equal(together.poses[0], alone.poses[0])
    dark = scene.clone()
    dark[..., 170:] = 0
    other = fitted(ScenePyramid(dark), found_at(starts[0]))
    np.testing.assert_array_equal(other.poses[0], alone.poses[0])
