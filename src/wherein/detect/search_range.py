"""Which poses are searched, and how much effort is spent on a scene."""

from dataclasses import dataclass

from wherein.planes.plane_range import PlaneRange

MAX_UPRIGHT = 5.0
"""Degrees of rotation up to which objects count as upright. A choice: as far as things turn that stand in
their place before a fixed camera."""

USUAL_LOOK_EFFORT, MAX_LOOK_EFFORT = 2, 3
"""The number of the effort with which a template is looked for beside others, where it was not measured, and
the highest. What each means is in `fast.shared_search`; the usual one is a choice between time and recall."""


@dataclass(frozen=True)
class Range:
    """The poses that are searched.

    Attributes:
        rotation: ± degrees; 180 is every rotation.
        scale: lowest and highest scale.
        tilt: out of the picture plane, up to so many degrees; 0: the object is parallel to it.
        polarity: "same", or "any" for objects that may be light on dark as well as dark on light.
    """

    rotation: float = 180.0
    scale: tuple[float, float] = (1.0, 1.0)
    tilt: float = 0.0
    polarity: str = "same"

    def __str__(self) -> str:
        low, high = self.scale
        return (
            f"rotation={self.rotation:g}, scale=({low:g}, {high:g}), tilt={self.tilt:g}, "
            f"polarity={self.polarity!r}"
        )

    @property
    def fixed_scale(self) -> bool:
        """Whether there is one scale only."""
        return self.scale[0] == self.scale[1]

    @property
    def usual_scale(self) -> float:
        """The template's own size, or the nearest that is searched."""
        return min(max(1.0, self.scale[0]), self.scale[1])

    @property
    def upright(self) -> bool:
        """Whether objects are as upright in the scene as in the template, as on screens."""
        return self.rotation <= MAX_UPRIGHT and self.tilt == 0

    @property
    def any_polarity(self) -> bool:
        """Whether light and dark may be exchanged."""
        return self.polarity == "any"

    def of_plane(self, further: float = 0.0) -> PlaneRange:
        """The poses of a piece that may be turned `further` degrees relative to the object."""
        return PlaneRange(min(180.0, self.rotation + further), self.scale, self.tilt)


@dataclass(frozen=True)
class Effort:
    """How much effort is spent on a scene.

    Attributes:
        stop_score: once a hypothesis reaches this score, slower ways to find hypotheses are skipped.
        crowd: factor by which more poses than usual are followed, for scenes with many objects.
        least: the lowest score that is of use: hypotheses that cannot come to it are not followed.
    """

    stop_score: float
    crowd: int = 1
    least: float = 0.0
