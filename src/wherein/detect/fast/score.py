"""How sure are we? Correlations of pieces, put together into one score.

A piece that fits with ZNCC ρ explains the share ρ² of what its n independent pixels show: a log-likelihood of
−(n/2) ln(1 − ρ²) over "anything with a gain and a bias". Pieces are independent given the pose, so evidence
adds up, and a single piece that fits very well counts for more than many that fit a little. How many pixels
of a piece count as independent is measured, not guessed: with q the ZNCC that clutter reaches at the best of
all places where the piece was looked for, −ln(1 − q²) is one unit of chance, and

    score = √(1 − exp(−Σ_k n_k ℓ_k / Σ_k n_k)),   ℓ_k = −ln(1 − ρ_k²),   n_k = 1 / −ln(1 − q_k²):

the ZNCC that all pieces would have to have to be as sure together. Pieces outside the frame add nothing.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

BEST = 0.98
"""A better fit than this says no more: what is left is noise and interpolation."""


FOUND = 2.0
"""A piece is found where it fits with this many times the information that clutter gives."""


def not_above(score: float) -> float:
    """A score to three digits, never rounded up: given as the threshold, it still admits what has it."""
    return math.floor(score * 1000) / 1000


def information(zncc: NDArray[np.float64]) -> NDArray[np.float64]:
    """ℓ = −ln(1 − ρ²) for ρ > 0, else 0."""
    explained = np.clip(zncc, 0.0, BEST) ** 2
    return np.asarray(-np.log1p(-explained))


def weight(chance: float) -> float:
    """n of a piece for which clutter reaches the ZNCC `chance`."""
    return float(1 / information(np.array(max(chance, 0.05))))


def likeness(told: NDArray[np.float64]) -> NDArray[np.float64]:
    """ρ = √(1 − exp(−ℓ)): the ZNCC that tells as much."""
    return np.asarray(np.sqrt(-np.expm1(-told)))


def score(
    told: Mapping[str, NDArray[np.float64]],
    seen: Mapping[str, NDArray[np.float64]],
    weights: Mapping[str, float],
) -> NDArray[np.float64]:
    """The score of H hypotheses in [0, 1).

    Arguments:
        told: ℓ, (H,) by home.
        seen: (H,) by home, which share of the piece is in the frame.
        weights: n of every piece of the template.
    """
    total = sum(weights[home] * seen[home] * told[home] for home in weights)
    return likeness(np.asarray(total) / sum(weights.values()))
