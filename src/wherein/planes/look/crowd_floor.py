"""From which ZNCC several places of a scene may be a crowd, and not clutter."""

import math
from dataclasses import dataclass

_MAX_ZNCC = 0.999
"""Higher ones count as this: the information of 1 is infinite."""


@dataclass(frozen=True)
class CrowdFloor:
    """The ZNCC of the third best place before the fits from which there may be a crowd.

    The larger a scene, the higher clutter scores somewhere in it: the tail of its information −ln(1 − ρ²) is
    exponential.

    Attributes:
        zncc: what clutter does not reach in a scene (`plane_search.PlaneSearch.third_best`).
        pixels: of that scene.
        spread: by how much more information clutter reaches in a scene that is e times as large.
    """

    zncc: float = 0.0
    pixels: float = 1.0
    spread: float = 0.0

    def at(self, pixels: float) -> float:
        """The same for a scene of so many pixels; in a smaller scene no less."""
        if self.zncc <= 0:
            return self.zncc
        reached = -math.log1p(-(min(self.zncc, _MAX_ZNCC) ** 2))
        grown = reached + self.spread * max(0.0, math.log(pixels / self.pixels))
        return math.sqrt(-math.expm1(-grown))


NO_FLOOR = CrowdFloor()
"""With which any three places may be a crowd."""
