"""The score of a hypothesis: the correlations of its pieces, combined into one number.

A piece that fits with ZNCC ρ explains the share ρ² of the variance of its pixels. With n independent pixels
that is a log-likelihood ratio of −(n/2) ln(1 − ρ²) against "anything else with some gain and bias". Given the
pose, the pieces are independent, so their evidence adds up, and one piece that fits very well counts for more
than many that fit a little. How many pixels of a piece count as independent is measured: with q the ZNCC that
clutter reaches at the best of all places where the piece is searched for, −ln(1 − q²) is the information that
chance gives, and

    score = √(1 − exp(−Σ_k n_k ℓ_k / Σ_k n_k)),   ℓ_k = −ln(1 − ρ_k²),   n_k = 1 / −ln(1 − q_k²):

the ZNCC that every piece would need for the same total evidence.

What lies outside the scene explains nothing, just as what is hidden: of a piece of which the fraction v is
inside, the share ρ² v of its variance is explained. To count the information of what is inside in proportion
to v would be to believe that the rest fits as well. Clutter makes use of that at the border: there half of a
hammer is a stick, which fits every stripe.

ℓ is called the *information* of a fit, and n ℓ its *weighted evidence*: 1 is what clutter reaches.

A pose that may be tilted is free in four more ways, and clutter makes use of them: it reaches more
information where poses are tilted than where they are not. By how much is measured, and taken off the body's
information where its pose is tilted, in proportion to the square of the tilt. For a picture with much in it
that is next to nothing. A bare outline, which can be tilted to fit the edges of anything, has to fit better
where it is tilted.

A small object covers few pixels of the scene. Enlarged to the resolution of the motif they are smooth, and
fewer of them are independent, so that clutter reaches more information at the smallest sizes of the range
than at the largest (and there are more places for a small object). It falls with a power of the size, which
is measured; information is multiplied by what makes clutter score the same at all sizes, and is unchanged at
the template's own size.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

MAX_ZNCC = 0.98
"""A choice: a better fit adds no evidence, since the rest is noise and interpolation. Scores of parts and
detections are therefore at most 0.98."""

MIN_EVIDENCE = 2.0
"""A choice: a piece counts as found if its weighted evidence is at least twice what clutter reaches."""

_BISECTIONS = 30
"""Of the interval of scores: to 1e-9, far below what is printed."""

_MIN_CHANCE = 0.05
"""A choice: keeps the weight of a piece finite where clutter reaches nothing, as on a flat background."""


def rounded_down(score: float) -> float:
    """A score to three digits, never rounded up: used as the threshold, it still admits that detection."""
    return math.floor(score * 1000) / 1000


def score_with_rate(false_alarms: Callable[[float], float], rate: float) -> float:
    """The lowest score that clutter does not reach more often; at most `MAX_ZNCC`, which is every maximum.

    Arguments:
        false_alarms: the rate of a score; it falls as the score rises (`Calibration.false_alarms`).
        rate: per megapixel.
    """
    low, high = 0.0, MAX_ZNCC
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if false_alarms(middle) <= rate else (middle, high)
    return high


def information(zncc: NDArray[np.float64]) -> NDArray[np.float64]:
    """ℓ = −ln(1 − ρ²) for ρ > 0, else 0: inverted contrast is no evidence. ρ is capped at `MAX_ZNCC`."""
    explained = np.clip(zncc, 0.0, MAX_ZNCC) ** 2
    return np.asarray(-np.log1p(-explained))


def tilt_share(tilt: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """How much of the measured cost each tilt has: all of it at the limit of the range, both in degrees.

    By the square, a choice: clutter is fitted best by the largest tilts, and what is upright may seem to be
    tilted by some degrees.
    """
    return np.asarray((tilt / max(limit, 1e-9)) ** 2)


def size_factor(sizes: NDArray[np.float64], power: float, usual: float) -> NDArray[np.float64]:
    """By what information is multiplied for an object of some size in the scene.

    Arguments:
        sizes: scales of the object.
        power: of the size, by which the information that clutter reaches falls.
        usual: the scale at which information is unchanged.
    """
    return np.asarray((np.maximum(sizes, 1e-9) / usual) ** power)


def evidence_weight(chance: float) -> float:
    """The weight n of a piece for which clutter reaches the ZNCC `chance`."""
    return float(1 / information(np.array(max(chance, _MIN_CHANCE))))


def shown(information: NDArray[np.float64], visible: NDArray[np.float64]) -> NDArray[np.float64]:
    """The information of whole pieces, −ln(1 − v ρ²), from that of their parts inside the scene.

    Arguments:
        information: ℓ of what is inside, any shape.
        visible: the fraction v of each piece that is inside, likewise.
    """
    return np.asarray(-np.log1p(visible * np.expm1(-information)))


def equivalent_zncc(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """ρ = √(1 − exp(−ℓ)): the ZNCC that carries this information."""
    return np.asarray(np.sqrt(-np.expm1(-information)))


def combined_score(
    evidence: Mapping[str, NDArray[np.float64]],
    visible: Mapping[str, NDArray[np.float64]],
    weights: Mapping[str, float],
) -> NDArray[np.float64]:
    """The scores of H hypotheses, in [0, 1).

    Arguments:
        evidence: information ℓ of what is inside the scene of each piece, (H,) by name.
        visible: fraction of each piece that lies inside the scene, (H,) by name.
        weights: weight n of every piece of the template, by name.
    """
    total = sum(weights[name] * shown(evidence[name], visible[name]) for name in weights)
    # Divided by the weights of all pieces, found or not: a missing piece lowers the score.
    return equivalent_zncc(np.asarray(total) / sum(weights.values()))
