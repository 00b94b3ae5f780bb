"""The coarse-to-fine plan of `register`: the scales, the numbers of steps, and how many poses are kept."""

from dataclasses import dataclass
from functools import cache

from wherein.motion.models import Motion
from wherein.pyramid.descent import Stage
from wherein.pyramid.levels import coarsest_scale

_MAX_HALVINGS = 7
"""Maximum number of halvings of the motif, a factor of 128. A choice: only motifs with sides of 5120 pixels
and more could be reduced further."""

_MIN_SIZE, _MIN_SUPPORT = 10, 100
"""Minimum height and width of the motif at the coarsest scale, and minimum number of pixels in its support. A
choice: with fewer pixels, poses can no longer be distinguished."""


_ALL, _MOST = 2**17, 2**16
"""In the last stage, all pixels of a support of up to _ALL pixels are compared, of a larger one the _MOST
with the strongest gradient. By measurement: the error of 40 sub-pixel problems is 0.00144 px RMS with all of
90,000 pixels, 0.00146 with the 65,536 of strongest gradient, and 0.00159 with half of these."""


@dataclass(frozen=True)
class MultiStart:
    """A search from many starts around a pose; most of them are dropped after a few steps.

    Arguments:
        thin: the first stages, which keep fewer and fewer poses.
        refine: the later stages, from the next finer scale to half size.
        turns: degrees between the rotations of neighbouring starts.
        shapes: whether to start from other scales and proportions, too.
        shifts: the number of shifted starts on each side, along each axis.
        spacing: pixels between shifted starts: less than the width of the basin of attraction at the scale of
            the stages. An additional start costs very little, but at half a basin's width from its pose the
            motif fits no better than clutter.
        size: of the motif in the scene relative to the start; the scales of `shapes` are relative to it.
        anywhere: start from the best places of the whole scene instead of around the start. Used only if the
            caller gave no start.
        near: used only if the caller gave a start; it replaces the search `anywhere`.
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

    def thin_for(self, count: int) -> tuple[Stage, ...]:
        """The first stages for `count` starts, without those that would neither move nor drop any start."""
        return tuple(stage for stage in self.thin if stage.steps or count > stage.keep)


@dataclass(frozen=True)
class Plan:
    """The plan of `register`: one search after the other until the fit is good.

    Attributes:
        alone: the stages for the start alone, from the coarsest scale to half size.
        searches: in the order in which they are tried.
        finish: two stages at full size: with few pixels, for candidates that are not good yet; then with all
            or most. The tolerance of the second is so small that stopping early does not contribute to the
            error, since each step is a small fraction of the previous one.
    """

    alone: tuple[Stage, ...]
    searches: tuple[MultiStart, ...]
    finish: tuple[Stage, Stage]

    def searches_for(self, motion: Motion, everywhere: bool) -> tuple[MultiStart, ...]:
        """The searches for a motion, without those at another size if the motion has no scale.

        Arguments:
            motion: how the motif may move.
            everywhere: whether the caller gave no start.
        """
        return tuple(
            search
            for search in self.searches
            if (search.size == 1.0 or motion.scales) and not (search.near if everywhere else search.anywhere)
        )

    @property
    def comparison(self) -> Stage:
        """The stage in which the results of different searches are compared."""
        return self.alone[-1]


@cache
def coarse_to_fine(height: int, width: int, support: int) -> Plan:
    """The plan for a motif of this size with this many pixels in its support.

    The searches, in the order in which they are tried:

    1. at the start, turned and scaled, at the coarsest scale;
    2. the same at half of that scale, which still shows thin strokes that the coarsest has lost;
    3. the same for the motif at half its size;
    4. in the whole scene, or, if the caller gave a start,
    5. further away from it;
    6. at the start and eight shifts of it, with rotations closer together;
    7. to 9. further away, for the motif at half, 1.7 times and a quarter of its size.
    """
    scale = _coarsest(min(height, width), support)
    half = max(scale // 2, 1)
    searches = (
        MultiStart(_thinned(scale, 8), _refining(scale)),
        MultiStart(_thinned(half, 4), _refining(half)),
        MultiStart(_thinned(scale, 8, finer=2), _refining(scale, finer=2), size=0.5),
        # Without the first stage, which only ranks the starts: `anywhere` has ranked them already.
        MultiStart(_thinned(scale, 8)[1:], _refining(scale), anywhere=True),
        MultiStart(
            _thinned(scale, 8), _refining(scale), shapes=False, shifts=4, spacing=3 * scale // 2, near=True
        ),
        MultiStart(_thinned(half, 8), _refining(half), turns=7.5, shifts=1, spacing=2 * scale),
        _resized(scale, 0.5, finer=2, shifts=4),
        _resized(scale, 1.7, finer=1, shifts=3),
        _resized(scale, 0.28, finer=4, shifts=5),
    )
    finish = (
        Stage(1, 8, pixels=3000, tolerance=1e-3),
        Stage(1, 60, pixels=support if support <= _ALL else _MOST, tolerance=1e-3),
    )
    return Plan((Stage(scale, 8, pixels=600), *_refining(scale)), searches, finish)


def _resized(scale: int, size: float, finer: int, shifts: int) -> MultiStart:
    """A search for the motif at another size, at shifted starts."""
    spacing = max(2 * scale // finer, 1)
    thin, refine = _thinned(scale, 8, finer), _refining(scale, finer)
    return MultiStart(thin, refine, shifts=shifts, spacing=spacing, size=size)


def _coarsest(size: int, support: int) -> int:
    """The coarsest scale for a motif whose shorter side is `size`: see `_MIN_SIZE`.

    Beyond a factor of 8 the minimum size is twice as large: such a scale loses fine texture, and at these
    sizes more pixels cost little.
    """

    def enough(scale: int) -> bool:
        factor = 1 if scale <= 8 else 2
        return size / scale >= _MIN_SIZE * factor and support / scale**2 >= _MIN_SUPPORT * factor**2

    return coarsest_scale(enough, 2**_MAX_HALVINGS)


def _thinned(scale: int, keep: int, finer: int = 1) -> tuple[Stage, ...]:
    """Three stages at one scale that keep the best 64, 16 and `keep` poses; the first only evaluates them."""
    return (
        Stage(scale, 0, 64, pixels=150, finer=finer),
        Stage(scale, 3, 16, pixels=250, finer=finer),
        Stage(scale, 6, keep, pixels=500, finer=finer),
    )


def _refining(scale: int, finer: int = 1) -> tuple[Stage, ...]:
    """The stages from the next finer scale to half size; the last keeps one pose."""
    scales = [2**k for k in reversed(range(1, scale.bit_length() - 1))]
    few = [Stage(s, 6, 3, pixels=600, finer=finer) for s in scales[:-1]]
    return (*few, *(Stage(s, 8, pixels=1200, finer=finer) for s in scales[-1:]))
