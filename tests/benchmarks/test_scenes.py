"""The problems are what they say: exact truth, the paper's ranges, reproducible."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import photographs, scenes
from benchmarks.geometry import (
    Spline,
    apply,
    centred,
    corners,
    four_points,
    homogeneous,
    pixels,
    rotation,
    shift,
)
from benchmarks.measure import Ruler

MAKERS = {
    **{
        f"figure1 {kind}": (lambda kind=kind: scenes.figure1(kind, "photographs", 2)) for kind in scenes.POSES
    },
    "subpixel": lambda: scenes.subpixel(1, size=120),
    "subpixel 8 bit": lambda: scenes.subpixel(1, size=120, quantise=True),
    "homographies": lambda: scenes.homographies(3),
    "homographies with margin": lambda: scenes.homographies(3, margin=32),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_scene_through_truth_is_the_motif(maker):
    for problem in MAKERS[maker]():
        ruler = Ruler(problem)
        assert ruler.zncc(problem.truth) > 0.99
        assert ruler.corner_error(problem.truth) == 0
        aside = (homogeneous(problem.truth) @ shift(1, 0))[: len(problem.truth)]
        assert ruler.zncc(aside) < ruler.zncc(problem.truth)


def test_whole_pixel_pose_is_an_exact_paste():
    rng = np.random.default_rng(0)
    background = rng.integers(0, 256, (37, 31, 3), dtype=np.uint8)
    motif = rng.integers(0, 256, (9, 11, 4), dtype=np.uint8)
    motif[..., 3] = np.where(motif[..., 3] > 80, 255, 0)
    painted = scenes.paint(background, motif, shift(7, 5)[:2])
    expected = background.copy()
    window = expected[5:14, 7:18]
    window[motif[..., 3] > 0] = motif[motif[..., 3] > 0][:, :3]
    np.testing.assert_array_equal(painted, expected)


def test_painting_turns_x_towards_y():
    motif = np.zeros((21, 21, 4), np.uint8)
    motif[..., 3] = 255
    motif[9:12, 16:20, :3] = 255  # a mark to the right of the centre
    matrix = scenes.about_centre(rotation(90), (21, 21), shift(10, 10), np.zeros(2))
    scene = scenes.paint(np.zeros((41, 41, 3), np.uint8), motif, matrix)
    y, x = (axis.mean() for axis in np.nonzero(scene[..., 0] > 127))
    assert (x, y) == pytest.approx((20, 27.5), abs=0.01)  # below it, on the scene


@pytest.mark.parametrize(("quantise", "bias"), [(False, 2e-4), (True, 3e-3)])
def test_least_squares_at_the_truth_stays_there(quantise, bias):
    """One Gauss–Newton step over the affine parameters from the truth: it moves by the bias of the data."""
    problem = next(scenes.subpixel(1, size=120, quantise=quantise))
    scale = 255 if quantise else 1
    points = pixels(120, 120)
    seen = apply(problem.truth, points)
    scene = Spline(problem.scene / scale, order=5)
    residual = (problem.motif.reshape(-1, 3) / scale - scene(seen)).ravel()
    slope = [(scene(seen + step) - scene(seen - step)) / 0.02 for step in 0.01 * np.eye(2)]
    basis = [np.ones(len(points)), *((points - 59.5) / 59.5).T]
    jacobian = np.stack([(s * b[:, None]).ravel() for s in slope for b in basis], axis=1)
    move = np.linalg.lstsq(jacobian, residual, rcond=None)[0].reshape(2, 3)
    assert np.abs(move).max() < bias


@pytest.mark.parametrize("kind", scenes.POSES)
def test_poses_stay_in_the_ranges_of_the_paper(kind):
    rng = np.random.default_rng(1)
    middle = np.array([[88.5, 50.5]])
    for _ in range(200):
        pose = scenes.figure1_pose(kind, (178, 102), rng)
        assert np.abs(apply(pose, middle) - [255.5, 191.5]).max() <= 5
        stretch = np.linalg.svd(pose[:, :2], compute_uv=False)
        assert stretch.min() >= 0.8 - 1e-9
        assert stretch.max() <= 1.25 + 1e-9
        if kind in ("translation", "euclidean"):
            np.testing.assert_allclose(stretch, 1)
        if kind == "similarity":
            assert stretch[0] == pytest.approx(stretch[1])
        if kind != "affine":
            assert abs(np.degrees(np.arctan2(pose[1, 0], pose[0, 0]))) <= (0 if kind == "translation" else 45)


def test_homography_moves_corners_by_no_more_than_the_spread():
    for problem in scenes.homographies(4):
        moved = apply(problem.truth, corners(128, 128)) - corners(128, 128)
        assert 2 < np.abs(moved).max() <= 16
        assert problem.scene.shape == problem.motif.shape == (128, 128, 3)
    bordered = next(scenes.homographies(1, margin=32))
    assert bordered.scene.shape == (192, 192, 3)
    np.testing.assert_array_equal(bordered.start, shift(32, 32))


def test_problems_do_not_depend_on_how_many_are_made():
    short, long = (list(scenes.homographies(count, seed=3)) for count in (2, 3))
    np.testing.assert_array_equal(short[1].scene, long[1].scene)
    other = next(scenes.homographies(1, seed=4))
    assert not np.array_equal(other.truth, short[0].truth)
    poses = [next(scenes.figure1("euclidean", where, 1)).truth for where in ("beach", "photographs")]
    assert not np.array_equal(*poses)


def test_start_is_the_centred_motif():
    problem = next(scenes.figure1("translation", "photographs", 1))
    assert problem.start is None
    np.testing.assert_array_equal(problem.start_matrix, centred((512, 384), problem.motif_size))
    assert np.abs(problem.truth - problem.start_matrix).max() <= 5


def test_four_points_are_met():
    source = corners(10, 7)
    target = source + np.random.default_rng(0).uniform(-2, 2, (4, 2))
    np.testing.assert_allclose(apply(four_points(source, target), source), target, atol=1e-12)


def test_body_without_the_shared_folder(monkeypatch):
    monkeypatch.setattr(photographs, "BODY", Path("nowhere") / "body.png")
    body = scenes.body(np.random.default_rng(0))
    assert body.shape == (102, 178, 4)
    assert 0.7 < (body[..., 3] > 0).mean() < 0.8  # π/4
    assert body[0, 0, 3] == 0 < body[51, 89, 3]


def test_crops_have_the_size_asked_for_and_small_photographs_grow():
    rng = np.random.default_rng(0)
    for name in photographs.names():
        assert photographs.crop(name, 512, 384, rng).shape == (384, 512, 3)
    assert len(photographs.names()) >= 12


def test_flat_crops_are_drawn_again():
    rng = np.random.default_rng(0)
    crop = photographs.textured_crop("rocket", 224, 128, rng)  # mostly sky
    assert photographs.min_contrast(crop, 128) >= photographs.MIN_CONTRAST


def test_photograph_that_is_missing_is_said_without_a_path(monkeypatch, tmp_path):
    monkeypatch.setattr(photographs, "BEACH", tmp_path / "beach.jpg")
    with pytest.raises(ValueError, match=r"^beach: No such file or directory$"):
        photographs.load.__wrapped__("beach")


def test_unknown_photograph_is_named():
    with pytest.raises(ValueError, match="unicorn"):
        photographs.load("unicorn")
