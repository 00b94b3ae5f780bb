"""The range of poses in which a flat motif is searched: rotations, scales and tilts."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.motion.models import MOTIONS, Motion

_MAX_RATIO, _TILT_AXES = 0.72, 4
"""Factor between neighbouring foreshortenings of the first look, and number of axes of the first one.
Choices: templates without tilt find dials that are foreshortened down to about 0.8."""

_DISTORTIONS = (0.82, 0.2)
"""Foreshortening of a distortion, that of a tilt by 35°; and its perspective, the share by which the distance
to the camera changes from the middle to the side. Choices."""

_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
"""The sides of a motif that a perspective distortion brings nearer or moves away."""


@dataclass(frozen=True)
class PlaneRange:
    """The poses that are searched.

    Attributes:
        rotation: maximum rotation to either side, in degrees.
        scale: lowest and highest.
        tilt: maximum tilt out of the picture plane, in degrees.
    """

    rotation: float = 180.0
    scale: tuple[float, float] = (0.5, 2.0)
    tilt: float = 40.0

    def linear(self, step: float) -> NDArray[np.float64]:
        """All rotations, at most `step` degrees apart, combined with all tilts of the first look, (T, 2, 2).

        The templates of one tilt are consecutive.
        """
        full = self.rotation >= 180
        count = max(1, math.ceil(2 * self.rotation / step - 1e-9))
        # On a full circle the last rotation is the first; on an arc both ends need one.
        count += 0 if full or self.rotation == 0 else 1
        between = 2 * self.rotation / max(1, count if full else count - 1)
        turns = [rotation(-self.rotation + between * k) for k in range(count)]
        return np.stack([turn @ tilt for tilts in self.tilts for tilt in tilts for turn in turns])

    @property
    def motion(self) -> Motion:
        """The motion of fits: with as few parameters as the range allows."""
        if self.tilt > 0:
            return MOTIONS["homography"]
        return MOTIONS["euclidean" if self.scale[0] == self.scale[1] else "similarity"]

    @cached_property
    def tilts(self) -> list[list[NDArray[np.float64]]]:
        """For each foreshortening of the first look, its matrices along several axes; first no tilt at all.

        The foreshortenings differ by the factor `_MAX_RATIO`. The steeper, the more axes, since an error of
        the axis matters more.
        """
        tilts, lowest, ratio, axes = [[np.eye(2)]], math.cos(math.radians(self.tilt)), _MAX_RATIO, _TILT_AXES
        # Until the steepest tilt is within half a factor of the last foreshortening, in logarithms.
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
    """Small distortions of a motif about its centre, (8, 3, 3).

    Four are foreshortened along an axis, and four have one of the sides nearer to the camera.

    Arguments:
        size: width and height of the motif.
        centre: (x, y).
    """
    # Shorter along the axis and longer across it by √0.82, so that the area remains the same.
    shorter, nearer = math.sqrt(_DISTORTIONS[0]), _DISTORTIONS[1]
    foreshortened = [rotation(45 * k) @ np.diag((shorter, 1 / shorter)) for k in range(4)]
    linear = [axis @ rotation(-45 * k) for k, axis in enumerate(foreshortened)]
    away = nearer / (max(size) / 2) * np.array(_SIDES)
    middle = np.eye(3)
    middle[:2, 2] = centre
    made = np.repeat(np.eye(3)[None], len(linear) + len(away), axis=0)
    made[: len(linear), :2, :2], made[len(linear) :, 2, :2] = linear, away
    return np.asarray(middle @ made @ np.linalg.inv(middle))
