"""The ruler on cases small enough for paper."""

import numpy as np
import pytest

from benchmarks.geometry import shift
from benchmarks.measure import Ruler, Trial, summarise, time_ratio, timed, zncc
from benchmarks.report import Target, compare
from benchmarks.scenes import Problem


def paste(motion="translation"):
    scene = np.random.default_rng(0).integers(0, 256, (31, 37, 3), dtype=np.uint8)
    truth = shift(6, 4)[:2]
    return Problem(scene, scene[4:20, 6:24].copy(), None, truth, None, motion, "noise")


def trial(index=0, corner=0.1, seconds=1.0, score=0.95):
    return Trial(index, "noise", score, corner, seconds, "done")


def test_zncc_ignores_gain_and_bias_but_not_sign():
    x = np.random.default_rng(0).normal(size=(50, 3))
    assert zncc(x, 3 * x + np.array([1, 2, 3])) == pytest.approx(1)
    assert zncc(x, -x) == pytest.approx(-1)
    assert zncc(x, np.ones_like(x)) == 0


def test_zncc_takes_the_mean_off_each_channel():
    x = np.array([[0.0, 10.0], [1.0, 11.0]])
    y = np.array([[0.0, 5.0], [1.0, 4.0]])  # the channels agree and disagree: they cancel
    assert zncc(x, y) == pytest.approx(0)


def test_ruler_at_and_beside_the_truth():
    ruler = Ruler(paste())
    assert ruler.zncc(shift(6, 4)[:2]) == pytest.approx(1)
    assert ruler.zncc(shift(9, 4)[:2]) < 0.5
    assert ruler.corner_error(shift(9, 8)[:2]) == pytest.approx(5)


def test_ruler_counts_what_lies_inside_and_refuses_what_hardly_does():
    ruler = Ruler(paste())
    assert ruler.zncc(shift(-100, 0)) == 0
    assert ruler.zncc(None) == 0
    assert ruler.corner_error(None) == np.inf
    problem = paste()
    cut = Problem(problem.scene[:, 10:], problem.motif, None, shift(-4, 4)[:2], None, "translation", "noise")
    assert Ruler(cut).zncc(cut.truth) == pytest.approx(1)  # 4 of 18 columns are outside


def test_ruler_looks_at_the_support_only():
    problem = paste()
    alpha = np.full((*problem.motif.shape[:2], 1), 255, np.uint8)
    alpha[:8] = 0
    motif = np.concatenate([problem.motif, alpha], axis=-1)
    motif[:8, :, :3] = 0
    masked = Problem(problem.scene, motif, None, problem.truth, None, "translation", "noise")
    assert masked.support.sum() == 8 * 18
    assert Ruler(masked).zncc(problem.truth) == pytest.approx(1)


def test_rms_over_corners_of_a_scaled_square():
    ruler = Ruler(paste())
    doubled = np.array([[2.0, 0, 6], [0, 2.0, 4]])  # corners move by (0|17, 0|15)
    assert ruler.corner_error(doubled) == pytest.approx(np.sqrt((0 + 17**2 + (17**2 + 15**2) + 15**2) / 4))


def test_summary_counts_failures_as_infinite():
    done = [trial(0, 0.1), trial(1, 0.3, score=0.95), trial(2, np.inf, score=0.0)]
    numbers = summarise(done)
    assert numbers["success"] == pytest.approx(2 / 3)
    assert numbers["within_1px"] == pytest.approx(2 / 3)
    assert numbers["corner_median"] == pytest.approx(0.3)
    assert numbers["corner_median_solved"] == pytest.approx(0.1)
    assert numbers["corner_p90"] is None
    assert numbers["corner_rms"] is None
    assert [failure["index"] for failure in numbers["failures"]] == [2]


def test_time_ratio_looks_where_the_peer_succeeds():
    ours = [trial(0, seconds=1), trial(1, seconds=1), trial(2, seconds=1)]
    peer = [trial(0, seconds=2), trial(1, seconds=100, score=0.1)]
    assert time_ratio(ours, peer) == {"solved": 0.5, "solved_count": 1, "all": pytest.approx(0.255)}
    assert time_ratio(ours, peer[1:])["solved"] is None


def test_brief_calls_are_timed_twice():
    calls = []
    value, seconds = timed(lambda: calls.append(1) or "value")
    assert (value, len(calls)) == ("value", 2)
    assert 0 <= seconds < 0.25


def test_targets():
    target = Target("corner_median", "<", 0.05)
    assert target.judge({"corner_median": 0.04})["met"] is True
    assert target.judge({"corner_median": 0.05})["met"] is False
    assert target.judge({"corner_median": None})["met"] is False  # infinite
    assert target.judge(None)["met"] is None
    assert Target("time / ECC, solved", "<=", 1).judge({"time / ECC, solved": None})["met"] is None


def test_comparison_is_over_the_problems_both_had():
    ours = [trial(0, 0.2), trial(1, np.inf, score=0)]
    trials = {"wherein": ours, "peer": [trial(0, 0.1)]}
    summary = {name: summarise(done) for name, done in trials.items()}
    verdicts = {row["measure"]: row["verdict"] for row in compare("wherein", trials, summary)}
    assert verdicts["success"] == "tie"
    assert verdicts["corner_median"] == "loss"
    assert verdicts["corner_median, both solved"] == "loss"


def test_a_peer_that_fails_often_may_still_be_the_more_exact():
    trials = {"wherein": [trial(0, 0.2), trial(1, 0.2)], "peer": [trial(0, 0.1), trial(1, np.inf, score=0)]}
    summary = {name: summarise(done) for name, done in trials.items()}
    verdicts = {row["measure"]: row["verdict"] for row in compare("wherein", trials, summary)}
    assert (verdicts["success"], verdicts["corner_p90"]) == ("win", "win")
    assert verdicts["corner_median, both solved"] == "loss"
