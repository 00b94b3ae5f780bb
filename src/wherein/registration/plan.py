"""From coarse to fine: which scales, how many steps, how many poses live on."""

from dataclasses import dataclass

from wherein.motion.models import Motion
from wherein.pyramid.descent import Stage
from wherein.pyramid.levels import coarsest_scale

_DEEPEST = 7
"""Halvings at most."""


@dataclass(frozen=True)
class Search:
    """Many poses around the start, thinned out: a wrong one shows after a step or two.

    Arguments:
        thin: the stages.
        refine: then from their scale to half size.
        turns: by how many degrees the starts are turned from one to the next.
        shapes: whether to begin from other scales and stretches too.
        shifts: to how many places on each side to shift the start, along each axis.
        spacing: by how many pixels: less than the basin of attraction is wide at the stages' scale. A look at
            one more start costs next to nothing; one that is half a basin away looks no better than clutter.
        size: of the motif in the scene, about which the other scales lie, against the start's.
        anywhere: begin from the best places of the whole scene, and not from around the start; where somebody
            chose that, this is left out.
        near: take the place of `anywhere` then.
    """

    thin: tuple[Stage, ...]
    refine: tuple[Stage, ...]
    turns: float = 15.0
    shapes: bool = True
    shifts: int = 0
    spacing: int = 0
    size: float = 1.0
    anywhere: bool = False
    near: bool = False


@dataclass(frozen=True)
class Plan:
    """How `register` spends its effort: as long as the fit is not good, from one search to the next.

    Attributes:
        alone: from the start alone: from the coarsest scale to half size.
        searches: in the order in which they are tried.
        finish: at full size: the strongest pixels, then all, where a hundred times finer a tolerance keeps
            the end of the descent out of the error.
    """

    alone: tuple[Stage, ...]
    searches: tuple[Search, ...]
    finish: tuple[Stage, Stage] = (
        Stage(1, 8, pixels=3000, tolerance=1e-3),
        Stage(1, 60, tolerance=1e-4),
    )

    def searches_for(self, motion: Motion, everywhere: bool) -> tuple[Search, ...]:
        """Those for a motion: none changes the motif's size where the motion does not.

        Arguments:
            motion: how the motif may move.
            everywhere: whether nobody has said where to begin.
        """
        return tuple(
            search
            for search in self.searches
            if (search.size == 1.0 or motion.scales) and not (search.near if everywhere else search.anywhere)
        )

    @property
    def judge(self) -> Stage:
        """Where poses that came different ways are compared."""
        return self.alone[-1]


def coarse_to_fine(height: int, width: int, support: int) -> Plan:
    """The plan for a motif of that size, with that many pixels in its support.

    The second search is at half of the coarsest scale, where thin strokes show that the coarsest has lost;
    the third looks for the motif at half its size, the fourth everywhere or, about a start that somebody
    chose, further away, the next one closer; the last three at half, at twice and at a quarter of its size,
    further away too.
    """
    scale = _coarsest(min(height, width), support)
    half = max(scale // 2, 1)
    searches = (
        Search(_thinned(scale, 8), _refining(scale)),
        Search(_thinned(half, 4), _refining(half)),
        Search(_thinned(scale, 8, finer=2), _refining(scale, finer=2), size=0.5),
        Search(_thinned(scale, 8)[1:], _refining(scale), anywhere=True),
        Search(
            _thinned(scale, 8), _refining(scale), shapes=False, shifts=4, spacing=3 * scale // 2, near=True
        ),
        Search(_thinned(half, 8), _refining(half), turns=7.5, shifts=1, spacing=2 * scale),
        _sized(scale, 0.5, finer=2, shifts=4),
        _sized(scale, 1.7, finer=1, shifts=3),
        _sized(scale, 0.28, finer=4, shifts=5),
    )
    return Plan((Stage(scale, 8, pixels=600), *_refining(scale)), searches)


def _sized(scale: int, size: float, finer: int, shifts: int) -> Search:
    """Of the motif at another size, at every place near by."""
    spacing = max(2 * scale // finer, 1)
    thin, refine = _thinned(scale, 8, finer), _refining(scale, finer)
    return Search(thin, refine, shifts=shifts, spacing=spacing, size=size)


def _coarsest(size: int, support: int) -> int:
    """The scale that leaves a motif at least 10 pixels high and wide and 100 in its support.

    Below that, poses can no longer be told apart. Beyond 8 it leaves twice as many: what is lost is fine
    texture, and the price of a pixel there is small.
    """

    def enough(scale: int) -> bool:
        room = 1 if scale <= 8 else 2
        return size / scale >= 10 * room and support / scale**2 >= 100 * room**2

    return coarsest_scale(enough, 2**_DEEPEST)


def _thinned(scale: int, keep: int, finer: int = 1) -> tuple[Stage, ...]:
    return (
        Stage(scale, 0, 64, pixels=150, finer=finer),
        Stage(scale, 3, 16, pixels=250, finer=finer),
        Stage(scale, 6, keep, pixels=500, finer=finer),
    )


def _refining(scale: int, finer: int = 1) -> tuple[Stage, ...]:
    """From the next scale to half size."""
    scales = [2**k for k in reversed(range(1, scale.bit_length() - 1))]
    few = [Stage(s, 6, 3, pixels=600, finer=finer) for s in scales[:-1]]
    return (*few, *(Stage(s, 8, pixels=1200, finer=finer) for s in scales[-1:]))
