"""The score of a hypothesis: the correlations of its pieces, combined into one number.

A piece that fits with ZNCC ρ explains the share ρ² of the variance of its pixels. With n independent pixels,
the log-likelihood ratio against "anything else, with some gain and bias" is −(n/2) ln(1 − ρ²). Given the
pose, the pieces are independent. So their evidence adds up, and one piece that fits very well counts for more
than many that fit a little. The number of pixels of a piece that count as independent is measured: if q is
the ZNCC that clutter reaches at the best of all places where the piece is searched for, −ln(1 − q²) is the
information that chance gives, and

    score = √(1 − exp(−Σ_k n_k ℓ_k / Σ_k n_k)),   ℓ_k = −ln(1 − ρ_k²),   n_k = 1 / −ln(1 − q_k²):

the ZNCC that every piece would need for the same total evidence.

ℓ is called the *information* of a fit, and n ℓ its *weighted evidence*: 1 is what clutter reaches.

Border of the scene: pixels outside the scene explain nothing, like hidden ones. If the fraction v of a piece
lies inside, the share v ρ² of its variance is explained, and its information is −ln(1 − v ρ²). The obvious
alternative, v ℓ, would assume that the rest fits as well. Clutter would profit from that: at the border, half
of a hammer is a stick, which fits every stripe.

Tilt: a pose that may be tilted has four more degrees of freedom, and clutter profits from them: it reaches
more information at tilted poses than at upright ones. The difference is measured, and subtracted from the
information of a tilted body in proportion to the square of its tilt. For a textured template it is next to
nothing. A bare outline, which can be tilted to fit the edges of anything, has to fit better if it is tilted.

Size: a small object covers few pixels of the scene. Enlarged to the resolution of the motif they are smooth,
and fewer of them are independent. So clutter reaches more information at the smallest sizes of the range than
at the largest (and there are more places for a small object). This information falls with a power of the
size, which is measured. Information is multiplied by the factor that makes clutter score the same at all
sizes; the factor is 1 at the template's own size.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

MAX_ZNCC = 0.98
"""The ZNCC from which a better fit adds no evidence, since the rest is noise and interpolation. A choice.
Scores of parts and detections are therefore at most 0.98."""

MIN_EVIDENCE = 2.0
"""The weighted evidence from which a piece counts as found: twice what clutter reaches. A choice."""

_BISECTIONS = 30
"""Number of bisections of the interval of scores: 0.98 / 2³⁰ ≈ 1e-9, far below what is printed."""

_MIN_CHANCE = 0.05
"""Minimum ZNCC of clutter. A choice: it keeps the weight of a piece finite where clutter reaches nothing, as
on a flat background."""


def rounded_down(score: float) -> float:
    """A score rounded down to three digits. As a threshold, it still admits the detection with that score."""
    return math.floor(score * 1000) / 1000


def score_with_rate(false_alarms: Callable[[float], float], rate: float) -> float:
    """The lowest score that clutter reaches at most at this rate; at most `MAX_ZNCC`, the maximum score.

    Arguments:
        false_alarms: the rate at which clutter reaches a score; it falls as the score rises
            (`Calibration.false_alarms`).
        rate: the allowed rate, per megapixel.
    """
    low, high = 0.0, MAX_ZNCC
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if false_alarms(middle) <= rate else (middle, high)
    # The upper end, at which the rate is kept; the lower one may exceed it.
    return high


def information(zncc: NDArray[np.float64]) -> NDArray[np.float64]:
    """ℓ = −ln(1 − ρ²) for ρ > 0, else 0: inverted contrast is no evidence. ρ is capped at `MAX_ZNCC`."""
    explained = np.clip(zncc, 0.0, MAX_ZNCC) ** 2
    # log1p(−x) is exact for small x, where 1 − x would be rounded.
    return np.asarray(-np.log1p(-explained))


def tilt_share(tilt: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """The share of the measured cost of a tilt that each tilt bears, (tilt / limit)².

    The square is a choice: the largest tilts fit clutter best, and the fit of an upright object may be tilted
    by a few degrees, which should cost little.

    Arguments:
        tilt: of each pose, in degrees.
        limit: the maximum tilt of the range, in degrees.
    """
    # The lower bound avoids a division by 0 for a range without tilt.
    return np.asarray((tilt / max(limit, 1e-9)) ** 2)


def size_factor(sizes: NDArray[np.float64], power: float, usual: float) -> NDArray[np.float64]:
    """The factor of information for objects of these sizes in the scene, (size / usual)^power.

    Arguments:
        sizes: scales of the object.
        power: the information that clutter reaches falls with this power of the size.
        usual: the scale at which the factor is 1.
    """
    return np.asarray((np.maximum(sizes, 1e-9) / usual) ** power)


def evidence_weight(chance: float) -> float:
    """The weight n = 1 / −ln(1 − q²) of a piece for which clutter reaches the ZNCC q = `chance`."""
    return float(1 / information(np.array(max(chance, _MIN_CHANCE))))


def shown(information: NDArray[np.float64], visible: NDArray[np.float64]) -> NDArray[np.float64]:
    """The information of whole pieces, −ln(1 − v ρ²), from that of their pixels inside the scene.

    Arguments:
        information: ℓ of the pixels inside the scene, any shape.
        visible: the fraction v of each piece that is inside, of the same shape.
    """
    # ρ² = 1 − exp(−ℓ) = −expm1(−ℓ), so 1 − v ρ² = 1 + v expm1(−ℓ).
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
        evidence: information ℓ of each piece, of its pixels inside the scene, (H,) by name.
        visible: fraction of each piece that lies inside the scene, (H,) by name.
        weights: weight n of every piece of the template, by name.
    """
    total = sum(weights[name] * shown(evidence[name], visible[name]) for name in weights)
    # The mean over all pieces, found or not, so that a missing piece lowers the score.
    return equivalent_zncc(np.asarray(total) / sum(weights.values()))
