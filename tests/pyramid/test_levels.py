"""Descents at one scale: converge from nearby, each pose independently, and nothing without pixels."""

import numpy as np
import pytest
import torch

from detecting import noise, photo
from wherein.images.motif import Motif
from wherein.images.picture import unit
from wherein.motion import motion_named
from wherein.pyramid.descent import Stage, descend
from wherein.pyramid.levels import ScenePyramid
from wherein.pyramid.motif_levels import MotifPyramid
from wherein.template.paint import paint
from wherein.template.pose import placed

EUCLIDEAN, SIMILARITY = motion_named("euclidean"), motion_named("similarity")
MIDDLE = (24.5, 19.5)


def known(scale: float = 1.0) -> tuple[ScenePyramid, MotifPyramid, np.ndarray]:
    motif = Motif.whole(noise(40, 50, 6))
    truth = placed(25.0, scale, (90.3, 61.7), MIDDLE)
    scene = paint(photo("coffee", 180, 130), motif, torch.from_numpy(truth))
    return ScenePyramid(scene), MotifPyramid(motif), truth


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_home_from_nearby_on_every_scale(factor: int) -> None:
    scene, motif, truth = known()
    start = placed(25.0 + 4, 1.0, (90.3 + factor, 61.7 - factor / 2), MIDDLE)
    ended = descend(scene, motif, EUCLIDEAN, Stage(factor, 15), start[None])
    assert np.abs((ended.poses[0] - truth) @ (0, 0, 1)).max() < 0.15 * factor
    assert np.abs((ended.poses[0] - truth) @ (49, 39, 1)).max() < 0.15 * factor
    assert ended.zncc[0] > 0.9


def test_a_similarity_finds_the_scale_and_a_euclidean_keeps_it() -> None:
    scene, motif, _ = known(1.08)
    start = placed(25.0, 1.0, (90.3, 61.7), MIDDLE)[None]
    free = descend(scene, motif, SIMILARITY, Stage(1, 20), start)
    rigid = descend(scene, motif, EUCLIDEAN, Stage(1, 20), start)
    assert np.linalg.det(free.poses[0]) ** 0.5 == pytest.approx(1.08, abs=2e-3)
    assert np.linalg.det(rigid.poses[0]) ** 0.5 == pytest.approx(1, abs=1e-5)
    assert free.zncc[0] > rigid.zncc[0]


def test_each_pose_by_itself_and_the_starts_are_left_alone() -> None:
    scene, motif, truth = known()
    starts = np.stack([truth @ placed(k, 1.0, (k / 3, -k / 4), (0.0, 0.0)) for k in range(-3, 4)])
    before = starts.copy()
    together = descend(scene, motif, EUCLIDEAN, Stage(2, 6), starts)
    alone = [descend(scene, motif, EUCLIDEAN, Stage(2, 6), start[None]) for start in starts]
    np.testing.assert_array_equal(together.poses, np.concatenate([one.poses for one in alone]))
    np.testing.assert_array_equal(together.zncc, np.concatenate([one.zncc for one in alone]))
    np.testing.assert_array_equal(starts, before)


def test_no_steps_only_evaluate() -> None:
    scene, motif, truth = known()
    evaluated = descend(scene, motif, EUCLIDEAN, Stage(1, 0), truth[None])
    np.testing.assert_allclose(evaluated.poses[0], truth, atol=1e-5)
    assert evaluated.zncc[0] > 0.99


def test_outside_and_flat_have_no_correlation() -> None:
    scene, motif, _ = known()
    outside = placed(0.0, 1.0, (900.0, 60.0), MIDDLE)[None]
    assert descend(scene, motif, EUCLIDEAN, Stage(1, 5), outside).zncc.tolist() == [-1]
    flat = ScenePyramid(torch.full((3, 130, 180), 0.5))
    assert descend(flat, motif, EUCLIDEAN, Stage(1, 5), outside).zncc.tolist() == [-1]


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (3, 3), (7, 7)])
def test_scenes_of_which_no_pixel_is_left(size: tuple[int, int]) -> None:
    """C once read beyond them."""
    _, motif, truth = known()
    tiny = ScenePyramid(torch.rand(3, *size))
    for factor in (1, 2, 4, 8):
        ended = descend(tiny, motif, EUCLIDEAN, Stage(factor, 5), truth[None])
        assert ended.zncc.tolist() == [-1]
        np.testing.assert_allclose(ended.poses[0], truth, atol=1e-4)


def test_nothing_in_nothing_out() -> None:
    scene, motif, _ = known()
    ended = descend(scene, motif, EUCLIDEAN, Stage(2, 5), np.zeros((0, 3, 3)))
    assert ended.poses.shape == (0, 3, 3)
    assert ended.zncc.shape == (0,)


def test_what_is_covered_pulls_a_robust_descent_less() -> None:
    _, motif, truth = known()
    picture = paint(photo("coffee", 180, 130), motif.motif, torch.from_numpy(truth))
    picture[:, 45:64, 60:95] = photo("rocket", 35, 19, 3)
    scene, start = ScenePyramid(picture), placed(27.0, 1.0, (91.5, 60.7), MIDDLE)[None]
    errors = []
    for robust in (False, True):
        ended = descend(scene, motif, EUCLIDEAN, Stage(1, 25), start, robust=robust)
        errors.append(np.abs((ended.poses[0] - truth) @ (*MIDDLE, 1)).max())
    assert errors[1] < 0.1
    assert errors[1] < errors[0]


def test_levels_are_made_once_and_hold_their_centres() -> None:
    scene, motif, _ = known()
    assert scene.reduced(4) is scene.reduced(4)
    assert motif.side(2, EUCLIDEAN, 100) is motif.side(2, EUCLIDEAN, 100)
    assert scene.reduced(4).shape == (3, 32, 45)
    assert motif.reduced(4).mask.shape == (10, 13)


def test_a_scene_in_bytes_has_the_levels_of_its_floats() -> None:
    samples = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, 75, 118), dtype=np.uint8))
    given, floats = ScenePyramid(samples), ScenePyramid(unit(samples))
    assert given.size == (118, 75)
    for scale in (4, 1, 8, 2):
        assert torch.equal(given.reduced(scale), floats.reduced(scale))
    box = (16, 8, 77, 60)
    assert torch.equal(ScenePyramid(samples).part(box, 4), floats.part(box, 4))


def test_a_level_is_made_of_the_one_before_it() -> None:
    scene = ScenePyramid(torch.rand(1, 64, 64))
    for scale in (2, 4, 8):
        scene.reduced(scale)
    assert scene.tally.convolutions == 1 + 1 / 4 + 1 / 16


def test_full_size_in_floats_is_made_only_when_it_is_needed() -> None:
    scene = ScenePyramid(torch.zeros(1, 64, 64, dtype=torch.uint8))
    scene.reduced(4)
    assert "scene" not in vars(scene)
    assert scene.reduced(1).dtype == torch.float32
