"""What a score means: how often clutter reaches it, and the threshold that follows."""

import math
from collections.abc import Sequence

import numpy as np

from wherein.detect.score import equivalent_zncc, information

_FEWEST_ALARMS, MOST_ALARMS, MOST_OF_ALL = 1e-4, 1e-2, 3e-3
"""False alarms in a scene without the template: one in ten thousand scenes where the object scores well above
that, up to one in a hundred where it does not; and of all templates of a library that is searched together.
Choices: scenes are often larger than those of a calibration."""

_WELL_ABOVE, _HARD_SHARE = 0.85, 12
"""An object scores well above a threshold that is at most this share of what it reaches in all but one of so
many test scenes, or all but one of fewer. Choices: a twelfth of them, two of 24, may be too hard."""

_OWN_SHARE = 0.95
"""The threshold is at most this share of what the object reaches in the best quarter of the test scenes. A
choice: no template ends with a threshold that its own picture does not pass."""

_LOW_SHARE, _ENOUGH = 20, 8
"""The score that the object reaches in all but one of so many scenes, or of all if there are fewer but
enough, counts as its lowest. Choices: 5 % of the test scenes may be too hard. One may be already of 8, as
many as templates of a library have: of 100 cut-outs and patches, 15 and 23 of two sets scored in one of them
as low as clutter does."""

_FAR_OUT = 2.0
"""How many times the information of rare clutter a scene must have to count as one with the object, where the
object scores no more than rare clutter in some test scenes. A choice, by measurement with 200 cut-outs and
patches: of photographs that patches were cut from it was 2.9 and 7 times that, and of clutter that resembles
a thin thing, which has to count, 1.2."""

_GUMBEL_MEDIAN, _GUMBEL_UPPER = 0.3665, 1.5453
"""Median of the standard Gumbel distribution, −ln ln 2, and the mean of what lies above it,
2 ∫ −ln(−ln u) du over (½, 1)."""

_MAX_MEGAPIXELS_PER_ALARM = 1e9
"""Rarer false alarms are reported as "less than once in" this many megapixels. A choice: nobody searches
more, so nobody could tell rarer rates apart."""


def false_alarm_rate(score: float, clutter: Sequence[float], megapixels: float) -> float:
    """The expected number of detections of at least this score per megapixel without the template.

    By the Gumbel distribution of the maximum of many values: the tail of the information −ln(1 − score²)
    is exponential.

    Arguments:
        score: of a detection, or a threshold.
        clutter: the highest score of each scene without the template.
        megapixels: of each of these scenes.
    """
    location, spread = _gumbel(clutter)
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
    # Two digits: the law was fitted to a few dozen scenes, more would claim a precision that it lacks.
    # The lower bound keeps a rate of 0 (a score far above all clutter) from dividing by zero.
    every = float(f"{1 / max(rate, 0.1 / _MAX_MEGAPIXELS_PER_ALARM):.2g}")
    rare = every > _MAX_MEGAPIXELS_PER_ALARM
    often = "less than once in 10⁹ megapixels" if rare else f"once in {every:,.0f} megapixels"
    # Less than one expected in everything that calibration looked at: the tail of the law, not a count.
    return often if rate * measured >= 1 else f"{often} (extrapolated from {measured:.2g} megapixels)"


def low_score(present: Sequence[float]) -> float:
    """The score that the object reaches in 95 % of the scenes, or in all but one, out of sorted scores."""
    return present[max(int(len(present) >= _ENOUGH), len(present) // _LOW_SHARE)]


def rare_clutter_score(empty: Sequence[float], rate: float = _FEWEST_ALARMS) -> float:
    """The score that clutter reaches in one of 1 / `rate` scenes, extrapolated."""
    location, spread = _gumbel(empty)
    return math.sqrt(-math.expm1(-(location - spread * math.log(rate))))


def suspect_scenes(empty: Sequence[float], present: Sequence[float], beyond: float = 1.0) -> list[int]:
    """The indices of scenes said to be empty that score as high as the object.

    None where that is not unusual: only if most scenes stay clear of the object's scores is one that does not
    a mistake.

    Arguments:
        empty: scores of scenes without the object, as the user says.
        present: scores of scenes with the object.
        beyond: how many times the information that others reach in one of ten thousand scenes it must have.
            More than 1 where the object's scores are known from a few scenes only.
    """
    low = low_score(sorted(present))
    others = [score for score in empty if score < low]
    if len(others) < max(2, len(empty) / 2):
        return []
    rare = rare_clutter_score(others)
    # Where the object does not always score more than clutter, only what stands far out is no clutter.
    beyond = beyond if rare < low else max(beyond, _FAR_OUT)
    far = float(equivalent_zncc(np.array(beyond * float(information(np.array(rare))))))
    least = max(low, far)
    return [index for index, score in enumerate(empty) if score >= least]


def choose_threshold(empty: Sequence[float], present: Sequence[float]) -> float:
    """The threshold: what clutter hardly ever reaches.

    Not half-way to what the object reaches: in a photograph it may be lit, blurred or covered worse than in
    any test scene, and it must still count where nothing else scores as high.

    Arguments:
        empty: scores of scenes without the object.
        present: scores of scenes with the object, sorted.
    """
    strict, loose = (rare_clutter_score(empty, rate) for rate in (_FEWEST_ALARMS, MOST_ALARMS))
    # The law may fall short of what a scene has shown, where a few scenes resemble the object far more than
    # the rest do. Scores as high as the object's own say nothing: such a scene may well show it.
    seen = max((score for score in empty if score < low_score(present)), default=0.0)
    loose = max(loose, seen)
    # A scene in which it does not even reach that is lost, however low the threshold.
    hopeful = [score for score in present if score >= loose] or present
    return min(max(loose, min(strict, _reached(hopeful))), _own(present))


def threshold_among(empty: Sequence[float], present: Sequence[float], count: int, most: float) -> float:
    """The threshold of one of several templates, of which any may have a false alarm.

    As for one alone: what clutter hardly ever reaches, or, where the object does not score well above that,
    what it reaches rarely.

    Arguments:
        empty: scores of scenes without the object.
        present: scores of scenes with the object, sorted.
        count: number of templates.
        most: the false alarms in a scene that this one may have at most (`equal_rate`).
    """
    strict, loose = (rare_clutter_score(empty, rate) for rate in (_FEWEST_ALARMS / count, most))
    # With many templates, what a scene has shown of one of them is seen again in others.
    loose = max(loose, min(max(empty), _own(present)))
    return max(loose, min(strict, _reached(present)))


def _reached(present: Sequence[float]) -> float:
    """A score that the object is well above, out of sorted scores."""
    return _WELL_ABOVE * present[min(max(1, len(present) // _HARD_SHARE), len(present) - 1)]


def _own(present: Sequence[float]) -> float:
    """The highest threshold that the object's own picture still passes, out of sorted scores."""
    return _OWN_SHARE * present[3 * len(present) // 4]


def equal_rate(rates: Sequence[float], total: float) -> float:
    """The rate to which the higher ones of some rates have to be lowered, so that they add up to a total.

    Lower ones stay as they are, and what they leave is for the others; infinity if nothing has to be lowered.

    Arguments:
        rates: of false alarms.
        total: that is allowed.
    """
    for done, rate in enumerate(sorted(rates)):
        each = total / (len(rates) - done)
        if rate > each:
            return each
        total -= rate
    return math.inf


def clutter_spread(clutter: Sequence[float]) -> float:
    """By how much more information clutter reaches in a scene that is e times as large."""
    return _gumbel(clutter)[1]


def _gumbel(scores: Sequence[float]) -> tuple[float, float]:
    """Location and scale of the Gumbel distribution of the scores' information.

    By the median and the mean of what lies above it: only the upper tail is asked for, and a scene with
    nothing in it at all would spoil the moments.
    """
    # Of the information and not of the score, which is bounded: its tail is exponential, as Gumbel's law
    # needs.
    values = np.sort(information(np.array(scores)))
    middle, upper = float(np.median(values)), float(values[len(values) // 2 :].mean())
    # At least 1e-3: on flat backgrounds all scores are the same.
    spread = max((upper - middle) / (_GUMBEL_UPPER - _GUMBEL_MEDIAN), 1e-3)
    return middle - _GUMBEL_MEDIAN * spread, spread
