"""The score of a hypothesis: the correlations of its pieces, combined into one number.

A piece that fits with ZNCC ρ explains the share ρ² of what its n independent pixels show: a log-likelihood of
−(n/2) ln(1 − ρ²) over "anything with a gain and a bias". Pieces are independent given the pose, so evidence
adds up, and a single piece that fits very well counts for more than many that fit a little. How many pixels
of a piece count as independent is measured, not guessed: with q the ZNCC that clutter reaches at the best of
all places where the piece was searched for, −ln(1 − q²) is one unit of chance, and

    score = √(1 − exp(−Σ_k n_k ℓ_k / Σ_k n_k)),   ℓ_k = −ln(1 − ρ_k²),   n_k = 1 / −ln(1 − q_k²):

the ZNCC that every piece would need for the same total evidence. Pieces outside the scene add nothing.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

MAX_ZNCC = 0.98
"""A choice: a better fit adds no evidence, since what is left is noise and interpolation. Scores of parts and
detections are therefore at most 0.98."""

FOUND = 2.0
"""A choice: a piece is found where its fit carries this many times the information that clutter gives."""


def rounded_down(score: float) -> float:
    """A score to three digits, never rounded up: given as the threshold, it still admits that detection."""
    return math.floor(score * 1000) / 1000


def information(zncc: NDArray[np.float64]) -> NDArray[np.float64]:
    """ℓ = −ln(1 − ρ²) for ρ > 0, else 0."""
    explained = np.clip(zncc, 0.0, MAX_ZNCC) ** 2
    return np.asarray(-np.log1p(-explained))


def evidence_weight(chance: float) -> float:
    """n of a piece for which clutter reaches the ZNCC `chance`."""
    return float(1 / information(np.array(max(chance, 0.05))))


def equivalent_zncc(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """ρ = √(1 − exp(−ℓ)): the ZNCC that carries this information."""
    return np.asarray(np.sqrt(-np.expm1(-information)))


def combined_score(
    evidence: Mapping[str, NDArray[np.float64]],
    visible: Mapping[str, NDArray[np.float64]],
    weights: Mapping[str, float],
) -> NDArray[np.float64]:
    """The score of H hypotheses in [0, 1).

    Arguments:
        evidence: ℓ, (H,) by piece.
        visible: (H,) by piece, which fraction of it lies inside the scene.
        weights: n of every piece of the template.
    """
    total = sum(weights[name] * visible[name] * evidence[name] for name in weights)
    return equivalent_zncc(np.asarray(total) / sum(weights.values()))
