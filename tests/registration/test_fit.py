"""The way from a start to the best pose: which contender wins, and what is counted on the way."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Motion
from wherein.pyramid.descent import Stage
from wherein.registration.fit import Candidates, Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem
from wherein.registration.starts import around

COMPARISON = Stage(2, 8, pixels=1200)


def shifted(x: float, y: float) -> NDArray[np.float64]:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])


def descent(motion: Motion = MOTIONS["similarity"]) -> Descent:
    """A motif that lies at (40, 30) in its scene."""
    rng = np.random.default_rng(5)
    picture = sum(np.kron(rng.random((96 // s, 128 // s)), np.ones((s, s))) for s in (4, 8, 16, 32))
    scene = torch.from_numpy(np.stack([picture / picture.max()] * 3)).float()
    return Descent(Problem(scene, Motif.whole(scene[:, 30:70, 40:90]), motion), robust=False)


def test_contenders_are_compared_in_one_stage() -> None:
    """One brings a low cost from elsewhere, the other a high one: only what they cost here counts."""
    flattered = Candidates(shifted(46, 36)[None], np.float32([1e-6]), np.array([3]), ())
    right = Candidates(shifted(40, 30)[None], np.float32([0.9]), np.array([7]), ())
    for contenders in ((flattered, right), (right, flattered)):
        best = descent().best_of(COMPARISON, *contenders)
        assert np.allclose(best.poses, right.poses)
        assert (best.steps[0], best.costs[0] < 1e-3) == (7, True)


def test_steps_before_a_probe_count() -> None:
    descend = descent()
    found = descend((Stage(4, 1, pixels=600),), Candidates.at(shifted(46, 25)[None]))
    assert not found.good
    probed = descend.probe(COMPARISON, found)
    only = descend((COMPARISON,), Candidates.at(probed.poses))
    assert probed.costs[0] < found.costs[0]
    assert probed.steps[0] > found.steps[0] == 1
    assert only.steps[0] < probed.steps[0]


def test_a_start_that_is_close_is_not_searched_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wherein.registration.fit.around", lambda *_: pytest.fail("searched"))
    plan = coarse_to_fine(40, 50, 2000)
    best = fit(descent(), shifted(41, 29), plan, everywhere=True)
    assert np.allclose(best.poses[0], shifted(40, 30), atol=1e-2)


@pytest.mark.parametrize(("name", "shapes"), [("translation", 1), ("euclidean", 1), ("similarity", 5)])
def test_starts_move_only_what_the_motion_can(name: str, shapes: int) -> None:
    search = coarse_to_fine(40, 50, 2000).searches[0]
    motif = descent().problem.motif.motif
    starts = around(MOTIONS[name], motif, search, everywhere=True)
    turns = 24 if name != "translation" else 1
    assert starts.shape == (turns * shapes, 3, 3)
    assert np.allclose(starts @ (24.5, 19.5, 1), (24.5, 19.5, 1))  # the centre stays
    assert len(np.unique(np.linalg.det(starts).round(6))) == shapes


def test_evaluations_are_counted() -> None:
    """An evaluation costs an interpolation and a product with J, of the fraction of pixels compared."""
    descend = descent(MOTIONS["translation"])
    start = Candidates.at(np.stack((shifted(40, 30), shifted(41, 30))))
    descend((Stage(1, 0, keep=2),), start)
    tally = descend.tally
    assert tally.interpolations == pytest.approx(2)
    assert tally.convolutions == pytest.approx(2 + 2)  # and the motif's two derivatives
    descend((Stage(1, 0, keep=2, pixels=500),), start)
    assert tally.interpolations == pytest.approx(2 + 2 * 500 / 2000)
    assert tally.convolutions == pytest.approx(4 + 2 * 500 / 2000 + 2)
    before = tally.operations
    descend((Stage(2, 0),), start)
    window = 96 * 128 / (96 * 128)  # as large as the scene: the motif and half of it around
    reduced = window + 1 + 2 / 4  # of the scene, of the motif; derivatives of a quarter
    evaluated = tally.operations - before - reduced
    assert 0 < evaluated < 2 * 2 / 4 + 1e-6


def test_steps_that_were_refused_are_counted_too() -> None:
    descend = descent(MOTIONS["translation"])
    found = descend((Stage(1, 8, tolerance=1e-3),), Candidates.at(shifted(42, 31)[None]))
    assert descend.tally.interpolations >= found.steps[0] + 1


def test_a_start_that_does_not_fit_at_all_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the searches are left out too, nothing but the coarsest stage and those at full size are run."""
    plan, descend = replace(coarse_to_fine(40, 50, 2000), searches=()), descent()
    scales, through = [], Descent._through
    monkeypatch.setattr(
        Descent, "_through", lambda s, stage, found: scales.append(stage.scale) or through(s, stage, found)
    )
    fit(descend, shifted(5, 50), plan, everywhere=True)
    assert scales[0] == plan.alone[0].scale
    assert set(scales[1:]) == {1}


def test_a_fit_that_is_fair_goes_on_at_the_finest_scale() -> None:
    """And through all scales where that leads nowhere."""
    descend, stages = descent(), (Stage(4, 6, 3, pixels=600), COMPARISON)
    fair = replace(Candidates.at(shifted(41, 30)[None]), costs=np.float32([0.1]))
    assert descend.refined(stages, fair).steps[0] == descend((COMPARISON,), fair).steps[0]
    far = replace(Candidates.at(shifted(70, 50)[None]), costs=np.float32([0.1]))
    assert descend.refined(stages, far).steps[0] == descend(stages, far).steps[0]
