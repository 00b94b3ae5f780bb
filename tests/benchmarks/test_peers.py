"""Each wrapper finds a known motion: its conventions are translated rightly."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import peers, photographs
from benchmarks.geometry import Spline, apply, homogeneous, linear, pixels, rotation, shift
from benchmarks.measure import Ruler
from benchmarks.memory import peak_megabytes, tiny
from benchmarks.methods import METHODS, attempt
from benchmarks.scenes import Problem, about_centre

SIZE, MARGIN = (96, 80), 24  # not square: a swapped axis would show
MOTIONS = {  # asymmetric on purpose: inverted, or with x and y swapped, each would miss by more than 2 px
    "translation": about_centre(np.eye(2), SIZE, shift(MARGIN, MARGIN), np.array([2.25, -1.5])),
    "euclidean": about_centre(rotation(4), SIZE, shift(MARGIN, MARGIN), np.array([1.5, -0.75])),
    "similarity": about_centre(1.04 * rotation(-3), SIZE, shift(MARGIN, MARGIN), np.array([-1.25, 1.5])),
    "affine": about_centre(
        np.array([[1.05, 0.04], [-0.02, 0.97]]), SIZE, shift(MARGIN, MARGIN), np.array([1, 2])
    ),
    "homography": shift(MARGIN, MARGIN) @ np.array([[1.03, 0.02, 1], [-0.03, 1, 1], [2e-4, -1e-4, 1]]),
}


def known(motion, masked=False):
    """A view of a photograph and the same place in a scene moved by a known, small motion."""
    picture = Spline(photographs.load("gravel")[100:300, 200:420] / 255.0)
    place, outer = np.array([60, 60]), (SIZE[0] + 2 * MARGIN, SIZE[1] + 2 * MARGIN)
    truth = MOTIONS[motion] if motion == "homography" else MOTIONS[motion][:2]
    back = apply(np.linalg.inv(homogeneous(truth)), pixels(*outer)) + place
    scene = picture(back).reshape(outer[1], outer[0], 3)
    motif = picture(pixels(*SIZE) + place).reshape(SIZE[1], SIZE[0], 3)
    mask = None
    if masked:
        mask = np.zeros(SIZE[::-1], bool)
        mask[10:-10, 8:-20] = True
        motif = np.where(mask[..., None], motif, 0.5)  # what the mask hides must not matter
    start = shift(MARGIN, MARGIN) if motion == "homography" else shift(MARGIN, MARGIN)[:2]
    views = (np.rint(np.clip(view, 0, 1) * 255).astype(np.uint8) for view in (scene, motif))
    return Problem(*views, mask, truth, start, motion, "gravel")


def error(method, problem):
    outcome = attempt(METHODS[method], problem)
    assert outcome.matrix is not None, outcome.status
    assert outcome.matrix.shape == ((3, 3) if problem.motion == "homography" else outcome.matrix.shape)
    return Ruler(problem).corner_error(outcome.matrix)


def test_wrong_conventions_would_show():
    for motion in MOTIONS:
        problem = known(motion)
        local = shift(-MARGIN, -MARGIN) @ homogeneous(problem.truth)
        swap = linear(np.array([[0.0, 1], [1, 0]]))
        for wrong in (np.linalg.inv(local), swap @ local @ swap, np.eye(3)):
            assert Ruler(problem).corner_error(shift(MARGIN, MARGIN) @ wrong) > 1.5


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("motion", MOTIONS)
def test_ecc_recovers_a_known_motion(motion, masked):
    assert error("ECC", known(motion, masked)) < 0.15


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("motion", MOTIONS)
def test_ecc_with_inset_masks_is_not_drawn_inwards(motion, masked):
    assert error("ECC inset", known(motion, masked)) < 0.05


@pytest.mark.parametrize("motion", MOTIONS)
def test_multi_scale_ecc_recovers_a_known_motion(motion):
    assert error("ECC multi-scale", known(motion)) < 0.15


@pytest.mark.parametrize("motion", ["translation", "homography"])
def test_kornia_recovers_a_known_motion(motion):
    assert error("kornia", known(motion)) < 0.5


@pytest.mark.parametrize("motion", ["euclidean", "similarity"])
def test_tuned_kornia_recovers_a_known_rotation(motion):
    centred = replace(known(motion), start=None)  # the same start, but said to be far off: longer steps
    assert error("kornia tuned", centred) < 0.5


def test_kornia_minds_the_mask():
    assert error("kornia", known("translation", masked=True)) < 0.5


def test_wherein_is_called_as_the_contract_has_it(monkeypatch):
    import wherein

    def register(scene, motif, motion="euclidean", mask=None, start=None):
        assert (motion, mask) == ("affine", None)
        return SimpleNamespace(matrix=start, zncc=1.0, status="converged")

    monkeypatch.setattr(wherein, "register", register, raising=False)
    problem = known("affine")
    outcome = attempt(METHODS["wherein"], problem)
    np.testing.assert_array_equal(outcome.matrix, problem.start)
    assert outcome.status == "converged"
    assert METHODS["wherein"].missing() is None


def test_what_a_method_raises_is_a_failure_of_that_problem():
    def broken(problem):
        raise RuntimeError("no\nway")

    def wild(problem):
        return peers.Outcome(np.full((2, 3), np.nan), "converged")

    problem = tiny("affine")
    assert attempt(replace(METHODS["ECC"], run=broken), problem) == peers.Outcome(None, "RuntimeError: no")
    assert attempt(replace(METHODS["ECC"], run=wild), problem) == peers.Outcome(None, "converged")


def test_ecc_without_anything_to_see_is_a_failure():
    flat = replace(tiny("affine"), scene=np.zeros((64, 64, 3), np.uint8))
    assert attempt(METHODS["ECC"], flat).matrix is None
    assert attempt(METHODS["ECC multi-scale"], flat).matrix is None


def test_peak_memory_of_a_registration():
    megabytes = peak_megabytes(METHODS["ECC"], known("affine"), threads=1)
    assert megabytes is not None
    assert 0 <= megabytes < 100
