"""From coarse to fine: which scales, how many steps, how many poses live on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One stage of a coarse-to-fine fit.

    Arguments:
        scale: the picture is reduced by this factor; 1 is full size.
        steps: Gauss–Newton steps at most; 0 only looks at the cost.
        keep: how many of the poses go on to the next stage.
        pixels: how many of the motif's pixels are compared at most; None: all.
        tolerance: a pose has come to rest where a step moves it by less, in pixels of the stage.
    """

    scale: int
    steps: int
    keep: int = 1
    pixels: int | None = None
    tolerance: float = 1e-2


@dataclass(frozen=True)
class Search:
    """Many poses around the start, thinned out: a wrong one shows after a step or two.

    Arguments:
        thin: the stages.
        turns: by how many degrees the starts are turned from one to the next.
        shapes: whether to begin from other scales and stretches too.
        shifts: to how many places on each side to shift the start, along each axis.
        spacing: by how many pixels: about the width of the basin of attraction at the stages' scale.
    """

    thin: tuple[Stage, ...]
    turns: float = 15.0
    shapes: bool = True
    shifts: int = 0
    spacing: int = 0


@dataclass(frozen=True)
class Plan:
    """How `register` spends its effort: as long as the fit is not good, from one search to the next.

    Attributes:
        alone: the coarsest scale, from the start alone.
        searches: in the order in which they are tried.
        refine: from the coarsest scale to half size.
        finish: at full size: the strongest pixels, then all, where a hundred times finer a tolerance keeps
            the end of the descent out of the error.
    """

    alone: tuple[Stage, ...]
    searches: tuple[Search, ...]
    refine: tuple[Stage, ...]
    finish: tuple[Stage, Stage] = (
        Stage(1, 8, pixels=3000, tolerance=1e-3),
        Stage(1, 60, tolerance=1e-4),
    )


def coarse_to_fine(height: int, width: int, support: float) -> Plan:
    """The plan for a motif of that size, with that many pixels in its support.

    The coarsest scale leaves the motif at least 10 pixels high and wide and 100 pixels in its support: below
    that, poses can no longer be told apart. The second search is at half of it, where thin strokes show that
    the coarsest has lost; the third looks further away, the last closer.
    """
    scale = next((s for s in (8, 4, 2) if min(height, width) / s >= 10 and support / s**2 >= 100), 1)
    searches = (
        Search(_thinned(scale, 8)),
        Search(_thinned(max(scale // 2, 1), 4)),
        Search(_thinned(scale, 8), shapes=False, shifts=2, spacing=3 * scale),
        Search(_thinned(max(scale // 2, 1), 8), turns=7.5, shifts=1, spacing=2 * scale),
    )
    refine = tuple(s for s in (Stage(4, 6, 3, pixels=600), Stage(2, 8, pixels=1200)) if s.scale < scale)
    return Plan((Stage(scale, 8, pixels=600),), searches, refine)


def _thinned(scale: int, keep: int) -> tuple[Stage, ...]:
    return (
        Stage(scale, 0, 64, pixels=150),
        Stage(scale, 3, 16, pixels=250),
        Stage(scale, 6, keep, pixels=500),
    )
