"""`FitTrace`: the ZNCC of a fit round by round, from the coarsest resolution to the finest."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TraceStage:
    """The fit at one resolution.

    Attributes:
        scale: the factor by which the motif is reduced; 1 is full size.
        zncc: ZNCC of the channels before the first round and after each round; at the finest resolution also
            after each stage of the fit to convergence.
    """

    scale: float
    zncc: tuple[float, ...]


@dataclass(frozen=True)
class FitTrace:
    """How the fit of a piece converged.

    Attributes:
        stages: from the coarsest resolution to the finest, at which the fit is scored.
        zncc: the final ZNCC.
        from_search: whether a start of the search leads to the detected pose. If none does, because it was
            found by other pieces or from another turn, the trace starts at the detected pose.
    """

    stages: tuple[TraceStage, ...]
    zncc: float
    from_search: bool


FitTraces = Mapping[str, FitTrace]
"""The traces of a detection, by the name of the fitted leaf."""
