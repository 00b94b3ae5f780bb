"""The ZNCC above which several places of a scene may be a crowd instead of clutter."""

import math
from dataclasses import dataclass

_MAX_ZNCC = 0.999
"""A higher ZNCC counts as this: the information of 1 is infinite."""


@dataclass(frozen=True)
class CrowdFloor:
    """The minimum ZNCC of the third best place, before the fits, for a crowd.

    The larger a scene, the higher clutter scores somewhere in it. The information −ln(1 − ρ²) of a place of
    clutter has an exponential tail, so its maximum over n places grows in proportion to ln n.

    Attributes:
        zncc: ZNCC that clutter does not reach in a scene (`plane_search.PlaneSearch.third_best`).
        pixels: number of pixels of that scene.
        spread: by how much the maximum information of clutter grows in a scene e times as large.
    """

    zncc: float = 0.0
    pixels: float = 1.0
    spread: float = 0.0

    def at(self, pixels: float) -> float:
        """The minimum ZNCC in a scene with this number of pixels; in a smaller scene that of `zncc`."""
        if self.zncc <= 0:
            return self.zncc
        # The information at `pixels`, increased for the larger scene, and converted back: ρ² = 1 − exp(−I).
        reached = -math.log1p(-(min(self.zncc, _MAX_ZNCC) ** 2))
        grown = reached + self.spread * max(0.0, math.log(pixels / self.pixels))
        return math.sqrt(-math.expm1(-grown))


NO_FLOOR = CrowdFloor()
"""Any three places may be a crowd."""
