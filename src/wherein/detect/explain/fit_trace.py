"""The trace of a fit, as data: ZNCC step by step from the coarsest scale to full size."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class FinalPose(Enum):
    """Which pose was kept at full size; the value says it in words."""

    PLAIN = "plain fit, in which all pixels have the same weight"
    ROBUST = "robust fit, in which pixels that do not match have less weight"
    HINGED = "fit that turns exactly about the joint"
    BEFORE = "pose of the level before full size, which did not improve it"


@dataclass(frozen=True)
class TraceStage:
    """One descent at one scale.

    Attributes:
        scale: by which the picture is reduced; 1 is full size.
        robust: whether pixels that do not fit had less weight.
        zncc: with all pixels weighted the same, before the first step and after each; a rejected step repeats
            the value before it.
    """

    scale: int
    robust: bool
    zncc: tuple[float, ...]


@dataclass(frozen=True)
class FitTrace:
    """How the fit of a piece converged.

    Attributes:
        stages: from the coarsest scale to full size.
        kept: which pose was kept at full size.
        scale: at which the fit is scored.
        zncc: at that scale, in the end.
        from_search: whether one of the search's own starts leads to the detected pose. If none does, because
            other pieces led to it, the trace starts at the detected pose and has full size only.
    """

    stages: tuple[TraceStage, ...]
    kept: FinalPose
    scale: int
    zncc: float
    from_search: bool


FitTraces = Mapping[str, FitTrace]
"""By the name of the leaf that is fitted."""
