"""Which poses of a search are different objects, and which of them are worth following."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion.homography import local_map, mapped, scales
from wherein.native import kernel, plane_calls
from wherein.planes.plane_range import PlaneRange
from wherein.pyramid.levels import Poses

if TYPE_CHECKING:
    # For the annotations alone: it does not matter where the poses come from.
    from wherein.planes.plane_fit import PlaneFits

_BEYOND, _BEYOND_SIZE = 15.0, 1.25
"""Degrees of tilt, and factor of the size, by which a pose may leave the range during the search. Choices: a
coarse fit is off by more than the exact one that follows it."""

_HOPELESS = 0.4
"""Poses with a ZNCC below this fraction of the best are dropped, unless there is a crowd. A choice: where the
best is an object in plain view, the others are clutter; where the best has a low ZNCC, all are kept."""

_SAME_PLACE = 0.08
"""Two poses are the same if all their corners are closer than this fraction of the object's size. A
choice."""

_SAME_MIDDLE, WORSE = 0.15, 0.8
"""A pose is another fit of the same object if its middle is closer to that of a better pose than this
fraction of the object's size, and its ZNCC is below this share of the better one. Choices: fits that got
stuck in another tilt or size lie within the object, and have a far lower ZNCC."""


class PoseFilter:
    """Compares the poses of a motif with each other and with the range that is searched.

    Arguments:
        motif: at full size.
        ranges: the poses that are searched.
    """

    def __init__(self, motif: Motif, ranges: PlaneRange) -> None:
        right, bottom = motif.width - 1, motif.height - 1
        self.corners = np.array(((0, 0), (right, 0), (right, bottom), (0, bottom)), dtype=np.float64)
        self._ranges, self._middle = ranges, motif.centre
        self._diagonal = math.hypot(motif.width, motif.height)

    def best(self, fits: "PlaneFits", count: int | None) -> "PlaneFits":
        """The best `count` distinct poses; None: all.

        Drops poses that are far worse than the best, far out of the range, or worse fits of the same object.
        """
        likely = self.in_reach(fits.poses) & (fits.zncc >= _HOPELESS * fits.zncc.max(initial=0.0))
        fits = fits[np.flatnonzero(likely)]
        return fits[self.distinct(fits, count, WORSE)]

    def in_reach(self, poses: Poses) -> NDArray[np.bool_]:
        """Whether the size and tilt of each pose are in the range, or little beyond it, (B,)."""
        # Clutter fits best where the pose may be distorted most. Such poses would take the places of others.
        # The singular values of the local linear map are its largest and smallest magnification. Their ratio
        # is the foreshortening, the cosine of the tilt.
        values = np.linalg.svd(np.nan_to_num(local_map(poses, self._middle)), compute_uv=False)
        # At most 85°: beyond it the cosine approaches 0, and then turns negative.
        (low, high), tilt = self._ranges.scale, min(85.0, self._ranges.tilt + _BEYOND)
        sized = (values[:, 0] > low / _BEYOND_SIZE) & (values[:, 1] < high * _BEYOND_SIZE)
        return np.asarray(sized & (values[:, 1] >= math.cos(math.radians(tilt)) * values[:, 0]))

    def distinct(self, fits: "PlaneFits", count: int | None = None, worse: float = 0.0) -> NDArray[np.int64]:
        """The indices of distinct poses, the best first; poses without a fit are left out.

        Greedy non-maximum suppression: the best pose is kept, its duplicates are dropped, and so on.

        Arguments:
            fits: the poses.
            count: maximum number of them; None: all.
            worse: a pose with less than this share of the ZNCC of a better one is left out too if it has the
                same middle: it is a worse fit of the same object.
        """
        ends = mapped(fits.poses, self.corners)
        possible = (fits.zncc > -1) & np.isfinite(ends).all((1, 2))
        middles, sizes = ends.mean(1), np.linalg.norm(ends[:, 0] - ends[:, 2], axis=1)
        # Stable, so that of equal ZNCC the first is kept, whatever the sorting algorithm.
        order = np.argsort(-fits.zncc, kind="stable")
        order = order[possible[order]]
        zncc = np.ascontiguousarray(fits.zncc[order], dtype=np.float64)
        known, most = (
            (ends[order], middles[order], sizes[order], zncc),
            len(order) if count is None else count,
        )
        suppress = plane_calls.distinct if kernel.accepts() else _suppressed
        kept = suppress(*known, most, (_SAME_PLACE, _SAME_MIDDLE, worse))
        return np.asarray(order[kept], dtype=np.int64)

    def elsewhere(self, poses: Poses, found: "PlaneFits") -> NDArray[np.bool_]:
        """Which poses have their middle away from those of all poses in `found`, (B,)."""
        middles, others = (mapped(some, [self._middle])[:, 0] for some in (poses, found.poses))
        sizes = scales(found.poses, self._middle) * self._diagonal
        off = np.linalg.norm(middles[:, None] - others, axis=2)
        return np.asarray((off >= _SAME_MIDDLE * sizes).all(1))


def _suppressed(
    ends: NDArray[np.float64],
    middles: NDArray[np.float64],
    sizes: NDArray[np.float64],
    zncc: NDArray[np.float64],
    most: int,
    thresholds: tuple[float, float, float],
) -> NDArray[np.int32]:
    """`plane_calls.distinct` in numpy: the reference implementation for C."""
    same_place, same_middle, worse = thresholds
    order, kept = np.arange(len(zncc), dtype=np.int32), list[int]()
    while len(order) and len(kept) < most:
        best = int(order[0])
        kept.append(best)
        same = np.abs(ends[order] - ends[best]).max((1, 2)) <= same_place * sizes[order]
        near = np.abs(middles[order] - middles[best]).max(1) < same_middle * sizes[best]
        order = order[~(same | (near & (zncc[order] < worse * zncc[best])) | (order == best))]
    return np.array(kept, dtype=np.int32)
