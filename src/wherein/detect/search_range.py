"""Which poses are searched, how densely, and how much effort is spent on a scene."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """The poses that are searched.

    Attributes:
        rotation: ± degrees; 180 is every rotation.
        scale: lowest and highest scale.
    """

    rotation: float = 180.0
    scale: tuple[float, float] = (1.0, 1.0)

    @property
    def fixed_scale(self) -> bool:
        """Whether there is one scale only."""
        return self.scale[0] == self.scale[1]


@dataclass(frozen=True)
class Sampling:
    """The distance between neighbouring poses of a piece in the first search.

    The defaults suit most motifs. Calibration measures the basin of attraction of each piece, and the
    distances that follow from it replace them.

    Attributes:
        turn: degrees between neighbouring rotations.
        ratio: factor between neighbouring scales.
    """

    turn: float = 10.0
    ratio: float = 1.1


@dataclass(frozen=True)
class Effort:
    """How much effort is spent on a scene.

    Attributes:
        stop_score: once a hypothesis reaches this score, slower ways to find hypotheses are skipped.
        threads: number of threads of the first search.
        crowd: factor by which more poses than usual are followed, for scenes with many objects.
        max_hypotheses: how many hypotheses of each octave are refined at full size; None: all that are likely
            enough.
    """

    stop_score: float
    threads: int = 1
    crowd: int = 1
    max_hypotheses: int | None = None
