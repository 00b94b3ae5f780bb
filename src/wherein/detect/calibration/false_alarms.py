"""False-alarm rates and thresholds: how often clutter reaches a score, and which score is rare enough.

The score of a scene without the object is the maximum over many poses. Maxima of many values with an
exponential tail follow a Gumbel distribution, so one is fitted to the scores of the calibration's scenes, and
extrapolated to rates that are too low to be counted there.
"""

import math
from collections.abc import Sequence

import numpy as np

from wherein.detect.score import equivalent_zncc, information

_FEWEST_ALARMS, MOST_ALARMS, MOST_OF_ALL = 1e-4, 1e-2, 3e-3
"""Rates of false alarms for each scene without the object: 1 in 10 000 if the object scores well above the
corresponding score, up to 1 in 100 if it does not, and at most 3 in 1000 for all templates of a library
together. Choices: low, since scenes are often larger than those of a calibration."""

_WELL_ABOVE, _HARD_SHARE = 0.85, 12
"""An object scores well above a threshold that is at most 0.85 times the score that it reaches in all test
scenes but a twelfth, and but one at least. Choices: a twelfth of them, two of 24, may be too hard."""

_OWN_SHARE = 0.95
"""The threshold is at most this fraction of the score that the object reaches in the best quarter of the test
scenes. A choice: every template must pass its own threshold at least in easy scenes."""

_LOW_SHARE, _ENOUGH = 20, 8
"""The lowest score of an object is that which it reaches in all scenes but a twentieth, and but one if there
are 8 scenes or more. Choices: 5 % of the test scenes may be too hard. One of 8 may be, which is how many the
templates of a library have: in one of them, 15 and 23 of 100 cut-outs and patches, in two sets, scored as low
as clutter does."""

_FAR_OUT = 2.0
"""A scene with this many times the information of rare clutter counts as one with the object, if the object
scores no more than rare clutter in some test scenes. A choice, by measurement with 200 cut-outs and patches:
photographs that patches were cut from had 2.9 and 7 times that information. Clutter that resembles a thin
object, and must count as clutter, had 1.2 times."""

_GUMBEL_MEDIAN, _GUMBEL_UPPER = 0.3665, 1.5453
"""Median of the standard Gumbel distribution, −ln ln 2, and the mean of its upper half, which is
2 ∫ −ln(−ln u) du over (½, 1)."""

_MAX_MEGAPIXELS_PER_ALARM = 1e9
"""Lower false-alarm rates are reported as "less than once in" this many megapixels. A choice: more than
anybody searches, so the difference would not matter."""


def false_alarm_rate(score: float, clutter: Sequence[float], megapixels: float) -> float:
    """The expected number of detections of at least this score per megapixel without the object.

    The tail of the information −ln(1 − score²) is exponential, so its maximum in a scene follows a Gumbel
    distribution.

    Arguments:
        score: of a detection, or a threshold.
        clutter: the highest score in each scene without the object.
        megapixels: size of each of these scenes.
    """
    location, spread = _gumbel(clutter)
    # The maximum of a scene stays below x with the probability exp(−exp(−(x − location) / spread)). That is
    # the probability of no event in a Poisson process with exp(−(x − location) / spread) events per scene.
    value = float(information(np.array(score)))
    return math.exp(-(value - location) / spread) / megapixels


def describe_rate(rate: float, measured: float) -> str:
    """A false-alarm rate as text: "once in 40 megapixels".

    Arguments:
        rate: per megapixel.
        measured: megapixels of all scenes that the rate was measured in.
    """
    if rate >= 1:
        return f"{rate:.1f} per megapixel"
    # Two digits: the distribution was fitted to a few dozen scenes and is not more precise than that.
    # The lower bound avoids a division by zero if the rate is 0, for a score far above all clutter.
    every = float(f"{1 / max(rate, 0.1 / _MAX_MEGAPIXELS_PER_ALARM):.2g}")
    rare = every > _MAX_MEGAPIXELS_PER_ALARM
    often = "less than once in 10⁹ megapixels" if rare else f"once in {every:,.0f} megapixels"
    # If less than one event is expected in all measured scenes, the rate is not a count but extrapolated.
    return often if rate * measured >= 1 else f"{often} (extrapolated from {measured:.2g} megapixels)"


def low_score(present: Sequence[float]) -> float:
    """The score that the object reaches in 95 % of the scenes, or in all but one.

    Arguments:
        present: scores of scenes with the object, sorted.
    """
    return present[max(int(len(present) >= _ENOUGH), len(present) // _LOW_SHARE)]


def rare_clutter_score(empty: Sequence[float], rate: float = _FEWEST_ALARMS) -> float:
    """The score that clutter reaches in one of 1 / `rate` scenes, extrapolated.

    Arguments:
        empty: the highest score in each scene without the object.
        rate: expected number of false alarms in a scene.
    """
    # The inverse of `false_alarm_rate` for a scene: rate = exp(−(ℓ − location) / spread), solved for ℓ and
    # converted to a score, √(1 − exp(−ℓ)).
    location, spread = _gumbel(empty)
    return math.sqrt(-math.expm1(-(location - spread * math.log(rate))))


def suspect_scenes(empty: Sequence[float], present: Sequence[float], beyond: float = 1.0) -> list[int]:
    """The indices of scenes that score as high as the object although they should not contain it.

    Empty unless most scenes score less than the object. If many score as high, that is usual for clutter, and
    no sign that a scene shows the object.

    Arguments:
        empty: scores of scenes that are supposed not to show the object.
        present: scores of scenes with the object.
        beyond: a suspect has at least this many times the information that the other scenes reach in one of
            ten thousand. More than 1 if the object's scores are known from a few scenes only.
    """
    low = low_score(sorted(present))
    others = [score for score in empty if score < low]
    if len(others) < max(2, len(empty) / 2):
        return []
    rare = rare_clutter_score(others)
    # If the object sometimes scores no more than clutter, only an outlier is evidence of the object.
    beyond = beyond if rare < low else max(beyond, _FAR_OUT)
    far = float(equivalent_zncc(np.array(beyond * float(information(np.array(rare))))))
    least = max(low, far)
    return [index for index, score in enumerate(empty) if score >= least]


def choose_threshold(empty: Sequence[float], present: Sequence[float]) -> float:
    """The threshold of a template: a score that clutter hardly ever reaches.

    The threshold is not half-way between clutter and the object. In a photograph the object may be lit,
    blurred or covered worse than in any test scene, and should still be found if nothing else scores as high.

    Arguments:
        empty: scores of scenes without the object.
        present: scores of scenes with the object, sorted.
    """
    strict, loose = (rare_clutter_score(empty, rate) for rate in (_FEWEST_ALARMS, MOST_ALARMS))
    # The distribution may underestimate the highest score that was measured, if a few scenes resemble the
    # object far more than the others do. Scores as high as the object's do not count: such a scene may show
    # the object.
    seen = max((score for score in empty if score < low_score(present)), default=0.0)
    loose = max(loose, seen)
    # Test scenes in which the object scores less than this are missed with any threshold that is allowed, so
    # they must not lower it.
    hopeful = [score for score in present if score >= loose] or present
    return min(max(loose, min(strict, _reached(hopeful))), _own(present))


def threshold_among(empty: Sequence[float], present: Sequence[float], count: int, most: float) -> float:
    """The threshold of one of several templates that are searched for together.

    As for a single template: a score that clutter hardly ever reaches or, if the object does not score well
    above that, one that clutter reaches rarely. The rates are lower, since each template adds false alarms.

    Arguments:
        empty: scores of scenes without the object.
        present: scores of scenes with the object, sorted.
        count: number of templates.
        most: the maximum number of false alarms of this template in a scene (`equal_rate`).
    """
    strict, loose = (rare_clutter_score(empty, rate) for rate in (_FEWEST_ALARMS / count, most))
    # With many templates it is likely that one of them meets such clutter again. So its threshold is not
    # below a score that clutter has reached, unless the object itself would then be missed.
    loose = max(loose, min(max(empty), _own(present)))
    return max(loose, min(strict, _reached(present)))


def _reached(present: Sequence[float]) -> float:
    """The highest score that the object is well above (`_WELL_ABOVE`); `present` is sorted."""
    return _WELL_ABOVE * present[min(max(1, len(present) // _HARD_SHARE), len(present) - 1)]


def _own(present: Sequence[float]) -> float:
    """The highest threshold that is allowed, which the object passes in easy scenes; `present` is sorted."""
    return _OWN_SHARE * present[3 * len(present) // 4]


def equal_rate(rates: Sequence[float], total: float) -> float:
    """The limit r for which Σ min(rate, r) is the allowed total; infinity if the rates do not exceed it.

    Templates with low rates keep them, and those with high rates share the rest equally.

    Arguments:
        rates: of false alarms.
        total: the allowed sum.
    """
    # From the lowest rate on: each template gets an equal share of what is left. One that needs less than its
    # share leaves the difference to the next ones; at the first that needs more, the share is the limit.
    for done, rate in enumerate(sorted(rates)):
        each = total / (len(rates) - done)
        if rate > each:
            return each
        total -= rate
    return math.inf


def clutter_spread(clutter: Sequence[float]) -> float:
    """By how much more information clutter reaches in a scene that is e times as large: the Gumbel scale."""
    # The maximum over e times as many places is shifted by one scale: exp(−exp(−z))ᵉ = exp(−exp(−(z − 1))).
    return _gumbel(clutter)[1]


def _gumbel(scores: Sequence[float]) -> tuple[float, float]:
    """Location and scale of the Gumbel distribution of the scores' information.

    They are estimated from the median and the mean of the upper half of the values. Only the upper tail
    matters, and moments of all values would be distorted by a scene with nothing in it.
    """
    # The information, not the score: a Gumbel distribution needs an exponential tail, and scores are bounded.
    values = np.sort(information(np.array(scores)))
    median, upper = float(np.median(values)), float(values[len(values) // 2 :].mean())
    # Median = location + spread · 0.3665 and upper mean = location + spread · 1.5453, solved for both. The
    # spread is at least 1e-3, because all scores are the same on flat backgrounds.
    spread = max((upper - median) / (_GUMBEL_UPPER - _GUMBEL_MEDIAN), 1e-3)
    return median - _GUMBEL_MEDIAN * spread, spread
