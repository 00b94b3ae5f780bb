"""The score: evidence adds up, and the score is the ZNCC that all pieces would need for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherein.detect.score import (
    MAX_ZNCC,
    combined_score,
    equivalent_zncc,
    evidence_weight,
    information,
    score_with_rate,
    size_factor,
    tilt_share,
)

share = st.floats(0, 1)
zncc = st.floats(-1, 1)
WEIGHTS = {"body": 2.5, "arm": 1.0, "leg": 0.3}


def one(fits: dict[str, float], visible: dict[str, float] | None = None) -> float:
    visible = visible or dict.fromkeys(WEIGHTS, 1.0)
    evidence = {name: information(np.array((rho,))) for name, rho in fits.items()}
    return float(
        combined_score(evidence, {name: np.array((part,)) for name, part in visible.items()}, WEIGHTS)[0]
    )


@given(st.floats(0, MAX_ZNCC))
def test_equals_the_zncc_that_all_pieces_have(rho: float) -> None:
    assert one(dict.fromkeys(WEIGHTS, rho)) == pytest.approx(rho, abs=1e-9)


@given(st.tuples(zncc, zncc, zncc), st.tuples(share, share, share), st.sampled_from(sorted(WEIGHTS)), share)
def test_a_better_fit_or_more_visible_pixels_never_lower_the_score(
    fits: tuple[float, ...], visible: tuple[float, ...], which: str, more: float
) -> None:
    fit, sight = dict(zip(WEIGHTS, fits, strict=True)), dict(zip(WEIGHTS, visible, strict=True))
    here = one(fit, sight)
    assert 0 <= here < 1
    assert one(fit | {which: fit[which] + more * (1 - fit[which])}, sight) >= here - 1e-12
    assert one(fit, sight | {which: sight[which] + more * (1 - sight[which])}) >= here - 1e-12


@given(zncc)
def test_a_piece_outside_the_scene_adds_nothing(rho: float) -> None:
    without = one({"body": 0.8, "arm": -1.0, "leg": 0.7})
    assert one({"body": 0.8, "arm": rho, "leg": 0.7}, {"body": 1.0, "arm": 0.0, "leg": 1.0}) == without
    assert without < one({"body": 0.8, "arm": 0.8, "leg": 0.7})


@given(st.floats(0, MAX_ZNCC), share)
def test_what_lies_outside_the_scene_counts_as_not_explained(rho: float, inside: float) -> None:
    cut = one(dict.fromkeys(WEIGHTS, rho), dict.fromkeys(WEIGHTS, inside))
    assert cut == pytest.approx(rho * np.sqrt(inside), abs=1e-6)


def test_hypotheses_are_scored_one_by_one() -> None:
    fits = {"body": np.array((0.9, 0.1)), "arm": np.array((0.2, 0.3)), "leg": np.array((-1.0, 0.5))}
    both = combined_score(
        {k: information(v) for k, v in fits.items()}, {k: np.ones(2) for k in fits}, WEIGHTS
    )
    for k in range(2):
        assert both[k] == one({name: values[k] for name, values in fits.items()})


def test_weights_fall_with_chance_and_stay_finite() -> None:
    found = [evidence_weight(chance) for chance in (-1.0, 0.0, 0.1, 0.3, 0.6, 0.9, 1.0)]
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0).all()
    assert information(np.array(0.3)) * evidence_weight(0.3) == pytest.approx(1)
    assert information(np.array((-0.5, 0.0, 1.0))).tolist() == [0, 0, information(np.array(MAX_ZNCC))]


@given(st.floats(0, MAX_ZNCC))
def test_equivalent_zncc_inverts_information(rho: float) -> None:
    assert float(equivalent_zncc(information(np.array(rho)))) == pytest.approx(rho, abs=1e-9)


def test_a_score_by_its_rate_of_false_alarms() -> None:
    def rate(score: float) -> float:
        return float(np.exp(-20 * score))

    assert score_with_rate(rate, rate(0.61)) == pytest.approx(0.61)
    assert score_with_rate(rate, 2.0) == pytest.approx(0, abs=1e-6), "any score will do"
    assert score_with_rate(rate, 1e-30) == MAX_ZNCC, "none is so rare"


def test_the_cost_of_a_tilt_is_full_at_the_limit_of_the_range() -> None:
    assert tilt_share(np.array([0.0, 20.0, 40.0]), 40.0).tolist() == [0.0, 0.25, 1.0]
    assert tilt_share(np.zeros(1), 0.0).tolist() == [0.0]  # no tilt at all


def test_information_counts_for_less_at_small_sizes_and_as_it_is_at_the_usual_one() -> None:
    assert size_factor(np.array((0.5, 1.0, 2.0)), 0.5, 1.0) == pytest.approx((2**-0.5, 1.0, 2**0.5))
    assert size_factor(np.array((0.5, 2.0)), 0.0, 1.0) == pytest.approx((1.0, 1.0))
