"""The trace of a fit, as data: ZNCC round by round from the coarsest resolution to the finest."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TraceStage:
    """The fit at one resolution.

    Attributes:
        scale: by which the motif is reduced; 1 is full size.
        zncc: of the channels, before the first round and after each; at the finest resolution also after the
            fit to convergence.
    """

    scale: float
    zncc: tuple[float, ...]


@dataclass(frozen=True)
class FitTrace:
    """How the fit of a piece converged.

    Attributes:
        stages: from the coarsest resolution to the finest, at which the fit is scored.
        zncc: in the end.
        from_search: whether one of the search's own starts leads to the detected pose. If none does, because
            other pieces or another turn led to it, the trace starts at the detected pose.
    """

    stages: tuple[TraceStage, ...]
    zncc: float
    from_search: bool


FitTraces = Mapping[str, FitTrace]
"""By the name of the leaf that is fitted."""
