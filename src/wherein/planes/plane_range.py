"""The poses in which a flat motif is searched for: rotations, sizes and tilts."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.motion.models import MOTIONS, Motion

_MAX_RATIO, _TILT_AXES = 0.72, 4
"""Factor between neighbouring foreshortenings of the first look, and number of axes of the first. Choices:
upright templates find dials foreshortened to about 0.8."""

_DISTORTIONS = (0.82, 0.2)
"""The foreshortening of a distortion, that of a tilt by 35°, and its perspective: by which share the distance
changes from the middle to the side. Choices."""

_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass(frozen=True)
class PlaneRange:
    """The poses that are searched.

    Attributes:
        rotation: ± degrees.
        scale: lowest and highest.
        tilt: out of the picture plane, up to so many degrees.
    """

    rotation: float = 180.0
    scale: tuple[float, float] = (0.5, 2.0)
    tilt: float = 40.0

    def linear(self, step: float) -> NDArray[np.float64]:
        """Rotations at most `step` degrees apart, with all tilts of the first look, (T, 2, 2)."""
        full = self.rotation >= 180
        count = max(1, math.ceil(2 * self.rotation / step - 1e-9))
        count += 0 if full or self.rotation == 0 else 1
        between = 2 * self.rotation / max(1, count if full else count - 1)
        turns = [rotation(-self.rotation + between * k) for k in range(count)]
        return np.stack([turn @ tilt for tilts in self.tilts for tilt in tilts for turn in turns])

    @property
    def motion(self) -> Motion:
        """How a pose may move within it."""
        if self.tilt > 0:
            return MOTIONS["homography"]
        return MOTIONS["euclidean" if self.scale[0] == self.scale[1] else "similarity"]

    @cached_property
    def tilts(self) -> list[list[NDArray[np.float64]]]:
        """For each foreshortening, none first, its directions: by factors of `_MAX_RATIO`, along axes that
        get closer together."""
        tilts, lowest, ratio, axes = [[np.eye(2)]], math.cos(math.radians(self.tilt)), _MAX_RATIO, _TILT_AXES
        while lowest < math.sqrt(ratio * ratio / _MAX_RATIO) - 1e-9:
            along = [rotation(180 * k / axes) for k in range(axes)]
            tilts.append([axis @ np.diag((max(ratio, lowest), 1.0)) @ axis.T for axis in along])
            ratio, axes = ratio * _MAX_RATIO, axes + 2
        return tilts


def rotation(degrees: float) -> NDArray[np.float64]:
    """The matrix of a rotation, 2×2."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array(((c, -s), (s, c)))


def distortions(size: tuple[int, int], centre: tuple[float, float]) -> NDArray[np.float64]:
    """Small distortions of a motif about its centre, (8, 3, 3): foreshortened along four axes, and nearer on
    each of four sides.

    Arguments:
        size: width and height of the motif.
        centre: (x, y).
    """
    shorter, nearer = math.sqrt(_DISTORTIONS[0]), _DISTORTIONS[1]
    foreshortened = [rotation(45 * k) @ np.diag((shorter, 1 / shorter)) for k in range(4)]
    linear = [axis @ rotation(-45 * k) for k, axis in enumerate(foreshortened)]
    away = nearer / (max(size) / 2) * np.array(_SIDES)
    middle = np.eye(3)
    middle[:2, 2] = centre
    made = np.repeat(np.eye(3)[None], len(linear) + len(away), axis=0)
    made[: len(linear), :2, :2], made[len(linear) :, 2, :2] = linear, away
    return np.asarray(middle @ made @ np.linalg.inv(middle))
