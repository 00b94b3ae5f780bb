"""The scenes of Figures 1 and 5: their poses, and the ZNCC in them."""

import numpy as np
import pytest

from wherein.experiments import registration_scenes
from wherein.experiments.registration_scenes import (
    SupportZNCC,
    as_tensor,
    observe,
    random_motion,
    translation,
)
from wherein.experiments.runs.experiment import generator
from wherein.experiments.subject import Subject


@pytest.mark.parametrize("motion", list(registration_scenes.LINEAR))
def test_the_poses_of_figure_1(motion: str) -> None:
    """Appendix A.3: what is drawn, and how far it reaches."""
    rng = generator(0, motion)
    drawn = np.stack([random_motion(motion, rng) for _ in range(2000)])
    assert np.abs(drawn[:, :2, 2]).max() <= 5
    assert np.abs(drawn[:, :2, 2]).max(0).min() > 4.9
    stretches = np.linalg.svd(drawn[:, :2, :2])[1]
    turns = np.degrees(np.arctan2(drawn[:, 1, 0] - drawn[:, 0, 1], drawn[:, 0, 0] + drawn[:, 1, 1]))
    furthest = {"translation": 0, "euclidean": 45, "similarity": 45, "affine": 90}[motion]
    assert np.abs(turns).max() <= furthest + 1e-9
    assert np.abs(turns).max() >= 0.9 * furthest
    if motion in ("translation", "euclidean"):
        np.testing.assert_allclose(stretches, 1, atol=1e-12)
    else:
        assert 0.8 <= stretches.min() < 0.81
        assert 1.24 < stretches.max() <= 1.25
    if motion == "similarity":
        np.testing.assert_allclose(stretches[:, 0], stretches[:, 1])


def test_the_template_is_where_it_should_be(robot: Subject) -> None:
    moved = translation(4.0, -3.0) @ np.diag((1.1, 1.1, 1.0))
    seen = observe(robot, moved, np.random.default_rng(1))
    assert seen.scene.shape == (3, 500, 600)
    centre = np.array(((seen.motif.width - 1) / 2, (seen.motif.height - 1) / 2, 1.0))
    np.testing.assert_allclose((seen.start @ centre)[:2], (299.5, 249.5))
    np.testing.assert_allclose((seen.truth @ centre)[:2], (303.5, 246.5))
    fits = SupportZNCC(seen.scene, seen.motif)(as_tensor(seen.start, seen.truth))
    assert fits[1] > 0.97
    assert fits[0] < 0.8


def test_the_ruler_is_zncc_on_the_support(robot: Subject) -> None:
    seen = observe(robot, translation(2.0, 1.0), np.random.default_rng(2))
    left, top = seen.truth[:2, 2]
    moved = (
        translation(round(left) - left, round(top) - top) @ seen.truth
    )  # whole pixels: nothing to interpolate
    x, y = moved[:2, 2].round().astype(int)
    window = seen.scene[:, y : y + seen.motif.height, x : x + seen.motif.width]
    inside = seen.motif.mask > 0.99
    a, b = (each[:, inside].double() for each in (seen.motif.pixels, window))
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    expected = float((a * b).sum() / (a.norm() * b.norm()))
    assert float(SupportZNCC(seen.scene, seen.motif)(as_tensor(moved))) == pytest.approx(expected, abs=2e-3)
    outside = translation(-400.0, 0.0) @ moved
    assert float(SupportZNCC(seen.scene, seen.motif)(as_tensor(outside))) == 0
