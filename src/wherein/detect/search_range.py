"""The range of poses that is searched, and the effort that is spent on a scene."""

from dataclasses import dataclass

from wherein.planes.plane_range import PlaneRange

MAX_UPRIGHT = 5.0
"""Maximum rotation, in degrees, of objects that count as upright. A choice: objects that stand in their place
before a fixed camera turn no further."""

USUAL_LOOK_EFFORT, MAX_LOOK_EFFORT = 2, 3
"""Indices into `fast.shared_search.EFFORTS`, the effort for a template of a library in the look that all
templates share: the one that is used where none was measured, and the highest. The usual one is a choice, a
compromise of time and recall."""


@dataclass(frozen=True)
class Range:
    """The poses that are searched.

    Attributes:
        rotation: maximum rotation to either side in degrees; 180 is every rotation.
        scale: lowest and highest scale.
        tilt: maximum tilt out of the picture plane in degrees; 0: the object is parallel to it.
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
        """Whether only one scale is searched."""
        return self.scale[0] == self.scale[1]

    @property
    def usual_scale(self) -> float:
        """The scale 1, or the nearest scale that is searched."""
        return min(max(1.0, self.scale[0]), self.scale[1])

    @property
    def upright(self) -> bool:
        """Whether objects are as upright in the scene as in the template, for example on a screen."""
        return self.rotation <= MAX_UPRIGHT and self.tilt == 0

    @property
    def any_polarity(self) -> bool:
        """Whether light and dark may be exchanged (`polarity="any"`)."""
        return self.polarity == "any"

    def of_plane(self, further: float = 0.0) -> PlaneRange:
        """The range of a piece that may turn up to `further` degrees relative to the object."""
        return PlaneRange(min(180.0, self.rotation + further), self.scale, self.tilt)


@dataclass(frozen=True)
class Effort:
    """How much effort is spent on a scene.

    Attributes:
        stop_score: once a hypothesis reaches this score, slower ways to find hypotheses are skipped.
        crowd: factor by which more poses than usual are followed, for scenes with many objects.
        least: the minimum useful score: hypotheses that cannot reach it are not followed.
    """

    stop_score: float
    crowd: int = 1
    least: float = 0.0
