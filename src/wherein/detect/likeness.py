"""Which parts could be taken for one another."""

import math
from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.detect.fitting import EUCLIDEAN
from wherein.images.motif import Motif
from wherein.images.render import paint
from wherein.search.levels import MotifLevels, SceneLevels, descend
from wherein.solve.schedule import Stage
from wherein.template import Template
from wherein.template.pose import placed

_ALIKE = 0.6
"""ZNCC from which two parts are told as alike."""

_SIZES = 1.5
"""Parts that differ more in area are not compared: the smaller fits on a piece of anything."""


def alike(template: Template) -> list[tuple[str, str, float]]:
    """Pairs (a, b, ZNCC) where a's picture fits on b's, the most alike first; each pair once."""
    found: dict[tuple[str, str], float] = {}
    for a, b in permutations(template.parts.leaves, 2):
        first, second = template.parts[a].motif, template.parts[b].motif
        if first is None or second is None or not 1 / _SIZES < _area(first) / _area(second) < _SIZES:
            continue
        pair = (min(a, b), max(a, b))
        found[pair] = max(found.get(pair, -1.0), _fit(first, second))
    alike_ones = [(a, b, round(zncc, 3)) for (a, b), zncc in found.items() if zncc >= _ALIKE]
    return sorted(alike_ones, key=lambda pair: -pair[2])


def _area(motif: Motif) -> float:
    return float((motif.mask > 0.5).sum())


def _fit(wanted: Motif, there: Motif) -> float:
    """The best ZNCC of one motif on the other, painted on its own mean colour, from starts all around."""
    side = 2 * math.ceil(math.hypot(max(wanted.width, there.width), max(wanted.height, there.height)))
    mean = there.pixels[:, there.mask > 0.5].mean(1)
    middle = ((side - 1) / 2, (side - 1) / 2)
    ground = mean[:, None, None].expand(3, side, side)
    scene = paint(ground, there, torch.from_numpy(placed(0.0, 1.0, middle, _centre(there))))
    starts: NDArray[np.float64] = np.stack(
        [placed(float(angle), 1.0, middle, _centre(wanted)) for angle in range(0, 360, 15)]
    )
    ended = descend(SceneLevels(scene.contiguous()), MotifLevels(wanted), EUCLIDEAN, Stage(2, 20), starts)
    return float(ended.zncc.max())


def _centre(motif: Motif) -> tuple[float, float]:
    return (motif.width - 1) / 2, (motif.height - 1) / 2
