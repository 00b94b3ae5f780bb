"""Which poses are searched, how densely, and how much effort a scene is worth."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """The poses that are searched: ± degrees, and scales from the lowest to the highest."""

    rotation: float = 180.0
    scale: tuple[float, float] = (1.0, 1.0)

    @property
    def fixed_scale(self) -> bool:
        """Whether there is one scale only."""
        return self.scale[0] == self.scale[1]


@dataclass(frozen=True)
class Sampling:
    """The distance between two poses of a piece in the first search: degrees, and ratio of scale.

    The defaults suit most motifs; calibration measures the basin of attraction of each and replaces them.
    """

    turn: float = 10.0
    ratio: float = 1.1


@dataclass(frozen=True)
class Effort:
    """How much work a scene is worth.

    Attributes:
        enough: the score from which the search stops.
        threads: for the first search.
        crowd: how many times as many poses as usual are followed, for scenes with many objects.
        max_hypotheses: how many hypotheses of an octave go on to full size; None: all that are likely enough.
    """

    enough: float
    threads: int = 1
    crowd: int = 1
    max_hypotheses: int | None = None
