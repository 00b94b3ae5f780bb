"""What the experiments are made of: the motif, the scenes, the ruler."""

from pathlib import Path

import numpy as np
import pytest
import torch

from wherein.experiments import scenes
from wherein.experiments.data import Subject
from wherein.experiments.experiment import generator
from wherein.experiments.judge import Judge
from wherein.experiments.scenes import as_tensor, observe, random_motion, shifted
from wherein.images.motif import Motif
from wherein.template import Template


def test_the_body_is_what_shows_of_the_largest_rigid_leaf(robot: Subject) -> None:
    name, motif = robot.body
    whole = robot.template.parts["torso"].motif
    assert name == "torso"
    assert whole is not None
    assert torch.equal(motif.pixels, whole.pixels)
    assert (motif.mask <= whole.mask).all()
    assert 0.8 < float(motif.mask.sum() / whole.mask.sum()) < 0.95


def test_of_the_crab_nothing_is_covered(shared: Path) -> None:
    subject = Subject.load(shared / "crab")
    name, motif = subject.body
    whole = subject.template.parts["body"].motif
    assert (name, subject.origin) == ("body", "beach.jpg")
    assert whole is not None
    assert torch.equal(motif.mask, whole.mask)
    assert subject.photograph.shape == (3, 1536, 2048)


def test_a_single_picture_is_its_own_body(robot: Subject) -> None:
    motif = Motif.whole(torch.rand(3, 23, 31))
    name, found = Subject(Template.rigid("logo", motif), robot.photograph, "here").body
    assert name == "logo"
    assert torch.equal(found.mask, motif.mask)


def test_backgrounds_are_cut_from_the_photograph_and_enlarged_where_it_is_small() -> None:
    template = Template.rigid("logo", Motif.whole(torch.rand(3, 8, 9)))
    subject = Subject(template, torch.rand(3, 37, 51), "here")
    cut = subject.background(31, 29, np.random.default_rng(0))
    windows = subject.photograph.unfold(1, 29, 1).unfold(2, 31, 1)
    assert (windows == cut[:, None, None]).all(0).all(-1).all(-1).sum() == 1
    large = subject.background(102, 53, np.random.default_rng(0))
    assert large.shape == (3, 53, 102)
    assert 0 <= float(large.min()) < float(large.max()) <= 1


def test_subjects_that_look_different_have_different_fingerprints(robot: Subject) -> None:
    again = Subject(robot.template, robot.photograph.clone(), "elsewhere")
    brighter = Subject(robot.template, robot.photograph * 0.9, robot.origin)
    assert again.fingerprint == robot.fingerprint != brighter.fingerprint


@pytest.mark.parametrize("motion", list(scenes.LINEAR))
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
    moved = shifted(4.0, -3.0) @ np.diag((1.1, 1.1, 1.0))
    seen = observe(robot, moved, np.random.default_rng(1))
    assert seen.scene.shape == (3, 500, 600)
    centre = np.array(((seen.motif.width - 1) / 2, (seen.motif.height - 1) / 2, 1.0))
    np.testing.assert_allclose((seen.start @ centre)[:2], (299.5, 249.5))
    np.testing.assert_allclose((seen.truth @ centre)[:2], (303.5, 246.5))
    fits = Judge(seen.scene, seen.motif)(as_tensor(seen.start, seen.truth))
    assert fits[1] > 0.97
    assert fits[0] < 0.8


def test_the_ruler_is_zncc_on_the_support(robot: Subject) -> None:
    seen = observe(robot, shifted(2.0, 1.0), np.random.default_rng(2))
    left, top = seen.truth[:2, 2]
    moved = shifted(round(left) - left, round(top) - top) @ seen.truth  # whole pixels: nothing to interpolate
    x, y = moved[:2, 2].round().astype(int)
    window = seen.scene[:, y : y + seen.motif.height, x : x + seen.motif.width]
    inside = seen.motif.mask > 0.99
    a, b = (each[:, inside].double() for each in (seen.motif.pixels, window))
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    expected = float((a * b).sum() / (a.norm() * b.norm()))
    assert float(Judge(seen.scene, seen.motif)(as_tensor(moved))) == pytest.approx(expected, abs=2e-3)
    outside = shifted(-400.0, 0.0) @ moved
    assert float(Judge(seen.scene, seen.motif)(as_tensor(outside))) == 0
