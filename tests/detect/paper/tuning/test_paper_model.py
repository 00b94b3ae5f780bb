"""The calibration of the paper's network: α and γ, the threshold, and its warnings."""

import math

import pytest
from pydantic import ValidationError

from detecting import walker
from wherein.detect.paper.tuning.paper_model import (
    NodeCalibration,
    PaperCalibration,
    alpha_gamma,
    root_threshold,
)


def test_alpha_and_gamma_lie_between() -> None:
    alpha, gamma = alpha_gamma(0.002, 0.05)
    assert gamma == pytest.approx(0.01)
    assert math.exp(-alpha * (0.05 - gamma)) == pytest.approx(0.01)
    alpha, gamma = alpha_gamma(0.05, 0.002)  # no γ separates: all that is found counts
    assert gamma == 0.05
    assert math.exp(-alpha * 0.01) < 0.01


def test_the_threshold_is_above_clutter() -> None:
    assert root_threshold([1.0] * 8, [0.0] * 8) == 0.5
    assert root_threshold([0.9] * 8, [0.0, 0.3]) == pytest.approx(0.6)
    assert root_threshold([0.1] * 8, [0.4]) == pytest.approx(0.45)
    assert root_threshold([1.0] * 8, [0.99]) == 0.95


def record(nodes: dict[str, NodeCalibration], present: tuple[float, ...] = (1.0, 1.0)) -> PaperCalibration:
    return PaperCalibration(
        fingerprint="0",
        rotation=12.0,
        scale=(1.0, 1.0),
        sigma0=3.0,
        nodes=nodes,
        threshold=0.5,
        clutter=[0.0],
        present=list(present),
    )


def test_doubts_in_words() -> None:
    lost = NodeCalibration(
        stride=8, sigma=3, alpha=1, gamma=1, covered=0, found=[], elsewhere=[0.1], taken_for=None
    )
    assert record({"eye": lost}, (0.1, 0.9, 1.0)).warnings == [
        '"eye" was not found in any scene',
        "at rotations within ±12° the object was missed in 1 of 3 scenes",
    ]
    mixed = lost.model_copy(update={"found": [0.01, 0.2]})
    assert record({"eye": mixed}).warnings == [
        '"eye" has costs up to 0.2, and clutter has 0.1: no threshold γ separates them'
    ]
    assert record({"eye": mixed.model_copy(update={"found": [0.01]})}).warnings == []


NODE = {
    "stride": 8,
    "sigma": 9.0,
    "alpha": 1.0,
    "gamma": 1.0,
    "covered": None,
    "found": [0.1],
    "elsewhere": [0.2],
    "taken_for": None,
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"stride": 0},
        {"stride": 1},
        {"stride": 10**9},
        {"sigma": 0.0},
        {"sigma": 1e-6},
        {"sigma": 1e9},
        {"sigma": 2.9},
        {"alpha": float("nan")},
        {"gamma": float("inf")},
        {"found": [0.1] * 100_001},
    ],
    ids=lambda wrong: repr(wrong)[:40],
)
def test_numbers_that_set_work_are_bounded(wrong: dict[str, object]) -> None:
    """A calibration may come with a template from someone else."""
    good = record({}).model_dump() | {"nodes": {"eyes": NODE}}
    assert PaperCalibration.model_validate(good).nodes["eyes"].stride == 8
    with pytest.raises(ValidationError):
        PaperCalibration.model_validate(good | {"nodes": {"eyes": NODE | wrong}})


@pytest.mark.parametrize("sigma0", [0.0, 1e-9, 1e9])
def test_the_width_of_spikes_is_bounded(sigma0: float) -> None:
    with pytest.raises(ValidationError):
        PaperCalibration.model_validate(record({}).model_dump() | {"sigma0": sigma0})


@pytest.mark.parametrize(("sigma", "right"), [(5.0, True), (500.0, False)])
def test_a_leaf_is_not_smoothed_away(sigma: float, right: bool) -> None:
    template = walker()
    node = NodeCalibration.model_validate(NODE | {"sigma": sigma, "covered": 0.9})
    known = record({template.parts.leaves[0]: node})
    known = known.model_copy(update={"fingerprint": template.fingerprint})
    assert known.serves(template, known.range) == right


def test_nodes_that_the_template_lacks() -> None:
    template = walker()
    node = NodeCalibration.model_validate(NODE)
    for name, right in (("arm", True), ("boat", False)):
        known = record({name: node}).model_copy(update={"fingerprint": template.fingerprint})
        assert known.serves(template, known.range) == right
