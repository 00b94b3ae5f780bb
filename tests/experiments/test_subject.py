"""The subject of an experiment: its motif, its backgrounds, its fingerprint."""

from pathlib import Path

import numpy as np
import torch

from wherein.experiments.subject import Subject
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
