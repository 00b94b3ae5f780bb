"""The search of scenes that are too large for memory: tile by tile, with the same result as in one piece.

Each tile is searched as a scene of its own. A hypothesis counts if all pixels that its fit reads lie in the
tile. An object that is cut off at a border between tiles lies in another tile as a whole (`tiles`). Then the
hypotheses of all tiles exclude each other as those of one scene do, so an object in an overlap is found once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import Supports
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.result import Detection, MethodResult, best_first
from wherein.detect.tiled.overview import new_overview, paste
from wherein.detect.tiled.tiles import (
    ALIGNMENT,
    DEFAULT_MEMORY,
    Box,
    ObjectSize,
    TilePass,
    plan,
    tile_side,
    whole_pixels,
)
from wherein.giant.opened import opened
from wherein.giant.region_source import RegionSource
from wherein.images.load import Source
from wherein.images.picture import Overview, Samples
from wherein.memory import held
from wherein.motion.homography import mapped, scales
from wherein.planes.description import MARGIN
from wherein.pyramid.levels import Poses, ScenePyramid, enlarge, reduce
from wherein.threads import allowed_threads

_SIZE_TOLERANCE = 1.4
"""The factor by which an object may be smaller than the range of a pass. A choice: a tilted object is
foreshortened, and an object that two passes find is merged."""

_MAX_DRIFT = 2
"""The distance by which a fit may move, in pixels of the coarsest resolution, besides `MARGIN`. A choice."""


def giant_source(
    scene: Source, memory: int | None, color: str = "rgb", threads: int | None = None
) -> RegionSource | None:
    """A scene that is read by region, or None if it can be searched in one piece within the allowed memory.

    Arguments:
        scene, color: as for a detector.
        memory: bytes that this process may use; None: only OME-Zarr, and TIFF with more pixels than a loaded
            picture may have, are read by region.
        threads: number of threads of the search.
    """
    pixels = None if memory is None else whole_pixels(memory, held(), threads or allowed_threads())
    return opened(scene, pixels, color)


@dataclass(frozen=True, eq=False)
class _Found:
    """The hypotheses of a template in pixels of the scene, with the detection of each, and the points from
    which its evidence comes."""

    hypotheses: Hypotheses
    detections: tuple[Detection, ...]
    supports: Supports

    def joined(self, other: "_Found") -> "_Found":
        """The hypotheses of both, those of `self` first."""
        count = len(self.detections)
        more = {(name, row + count): values for (name, row), values in other.supports.items()}
        both = self.hypotheses.joined(other.hypotheses)
        return _Found(both, self.detections + other.detections, {**self.supports, **more})


@dataclass(frozen=True)
class _View:
    """A part of a scene that was searched, reduced, for a template that may be reduced too.

    Attributes:
        box: the part, in pixels at full size.
        reduction: reduction of the scene.
        template: reduction of the template.
    """

    box: Box
    reduction: int
    template: int = 1

    def to_scene(self, frames: Poses) -> Poses:
        """Frames canvas → scene at full size, from frames of the reduced template in the view."""
        return enlarge(self.reduction, *self.box[:2]) @ frames @ reduce(self.template)

    def from_scene(self, frames: Poses) -> Poses:
        """The inverse of `to_scene`."""
        return reduce(self.reduction, *self.box[:2]) @ frames @ enlarge(self.template)


@runtime_checkable
class TileSearch(Protocol):
    """The interface of searches in tiles: `FastSearch` or, for several templates, `LibrarySearch`."""

    def at(self, reduction: int) -> "TileSearch":
        """The search in reduced scenes, for templates that are reduced by the same factor."""

    def levels(self, scene: Samples) -> ScenePyramid:
        """The pyramid of the scene, in the form that the search needs."""

    def by_template(self, levels: ScenePyramid, count: int | None) -> dict[str, Hypotheses]:
        """The hypotheses that remain after exclusion, by the name of the template."""

    def of(self, name: str) -> SceneSearch:
        """The search for one template."""

    def between(self, levels: ScenePyramid | None, found: Mapping[str, Hypotheses]) -> dict[str, Hypotheses]:
        """The hypotheses that remain after exclusion between templates."""


class GiantSearch:
    """Searches scenes that are read by region.

    Arguments:
        search: the search for one template, or for several.
        searches: the search for each template, by its name.
    """

    def __init__(self, search: TileSearch, searches: Mapping[str, SceneSearch]) -> None:
        self._search, self._searches = search, searches
        self._made: dict[int, TileSearch] = {}
        some = next(iter(searches.values())).finder.ranges  # the same for all
        self._scale, self._tilted = some.scale, some.tilt > 0
        self._size = ObjectSize.of_all([object_size(one.finder) for one in searches.values()])

    def __call__(
        self, source: RegionSource, box: Box, count: int | None, memory: int | None = None, side: int = 0
    ) -> tuple[MethodResult, Overview]:
        """The best `count` detections in a part of a scene, and a reduced picture of the scene.

        Arguments:
            source: the scene.
            box: the part that is searched.
            count: maximum number of detections; None: all.
            memory: bytes that this process may use; None: `DEFAULT_MEMORY`.
            side: side of a tile in pixels; 0: as memory allows.

        Raises:
            ArgumentError: there is not enough memory for a tile.
            PictureError: a part of the scene cannot be read.
        """
        threads = next(iter(self._searches.values())).threads
        side = side or tile_side(whole_pixels(memory or DEFAULT_MEMORY, held(), threads))
        overview = new_overview(source)
        passes = plan(box, self._size, self._scale, self._tilted, side, overview.reduction)
        found: dict[str, _Found] = {}
        # Every pass reads all of the box: the first one fills the overview.
        for number, one in enumerate(passes):
            for name, more in self._in_tiles(source, one, side, count, None if number else overview):
                found[name] = found[name].joined(more) if name in found else more
        return self._merged(found, count), overview

    def _in_tiles(
        self, source: RegionSource, one: TilePass, side: int, count: int | None, overview: Overview | None
    ) -> Iterator[tuple[str, _Found]]:
        """The hypotheses that each tile of a pass reports, with the name of the template."""
        search = self._at(one.reduction)
        for tile in one.tiles:
            pixels = source.region(tile, one.reduction)
            view = _View(tile, one.reduction, one.reduction)
            if overview is not None:
                paste(overview, pixels, tile[:2], one.reduction)
            levels = search.levels(pixels)
            for name, kept in search.by_template(levels, count).items():
                own = self._own(name, _in_scene(kept, view), tile, one)
                if not len(own):
                    continue
                chosen = kept[own]
                # In a reduced scene, poses are as exact as its pixels: each is refined in the scene itself.
                if one.reduction == 1:
                    yield name, self._reported(name, search.of(name), levels, chosen, view)
                    continue
                for row in range(len(own)):
                    finer = self._refined(source, name, chosen[np.array([row])], view, side)
                    if finer is not None:
                        yield name, finer

    def _at(self, reduction: int) -> TileSearch:
        """The search in a reduced scene; made once."""
        # For all sizes, not only those of the pass: at an object of another size, fits of wrong sizes are
        # then much worse than its own, and are not followed.
        if reduction not in self._made:
            self._made[reduction] = self._search.at(reduction)
        return self._made[reduction]

    def _own(self, name: str, found: Hypotheses, tile: Box, one: TilePass) -> NDArray[np.int64]:
        """The indices of the hypotheses that this tile reports: those that it holds as a whole, or that no
        tile of any pass can hold."""
        finder, here = self._searches[name].finder, one.tiles.index(tile)
        low, high = np.array(one.tiles)[:, :2].min(0), np.array(one.tiles)[:, 2:].max(0)
        sizes = scales(found.placement.frames[finder.pieces.tree.root], finder.middle)
        chosen = []
        for row, (box, size) in enumerate(zip(self._boxes(name, found), sizes, strict=True)):
            # Beyond all tiles there is nothing to read: a fit at the border of the scene is not cut off.
            seen = *np.maximum(box[:2], low), *np.minimum(box[2:], high)
            holding = [_holds(other, seen) for other in one.tiles]
            # An object that no tile of this pass holds is left to the next pass, if there is one.
            cut = not any(holding) and one.scale[1] >= self._scale[1]
            if (holding[here] or cut) and size >= one.scale[0] / _SIZE_TOLERANCE:
                chosen.append(row)
        return np.array(chosen, dtype=np.int64)

    def _boxes(self, name: str, found: Hypotheses) -> NDArray[np.float64]:
        """Left, top, right and bottom of the pixels that the fits of hypotheses read, (H, 4)."""
        finder, frames = self._searches[name].finder, found.placement.frames
        corners = np.concatenate(
            [
                mapped(frames[part] @ model.to_canvas, model.footprint.corners)
                for part, model in finder.models.items()
            ],
            1,
        )
        around = self._size.around * scales(frames[finder.pieces.tree.root], finder.middle)[:, None]
        return np.concatenate((corners.min(1) - around, corners.max(1) + around), 1)

    def _refined(
        self, source: RegionSource, name: str, kept: Hypotheses, view: _View, side: int
    ) -> _Found | None:
        """A hypothesis of a reduced scene, refined in the scene around it; None if it leaves the range.

        The scene around it is read at the highest resolution at which it fits into a tile.
        """
        found = _in_scene(kept, view)
        left, top, right, bottom = self._boxes(name, found)[0]
        room = max(right - left, bottom - top)
        reduction = 1
        while room / reduction > side and reduction < view.reduction:
            reduction *= 2
        # Read more around it if that fits too: static leaves are compared with other places of the scene.
        more = room / 2 if 2 * room / reduction <= side else 0.0
        step = ALIGNMENT * reduction
        first = [int(max(0.0, one - more) // step * step) for one in (left, top)]
        last = [
            int(min(float(limit), one + more) // reduction * reduction)
            for one, limit in zip((right, bottom), source.size, strict=True)
        ]
        near = _View((first[0], first[1], last[0], last[1]), reduction)
        search = self._searches[name]
        levels = search.levels(source.region(near.box, reduction))
        polished = search.finder.polish(levels, _moved(found, near.from_scene))
        # Scored by its size in the scene, not by that in the view, since scores depend on sizes.
        there = _in_scene(polished, near).placement
        scores = search.finder.scoring.score(there, polished.evidence, polished.visible)
        if not len(search.in_range(replace(polished, placement=there)).scores):
            return None
        return self._reported(name, search, levels, replace(polished, scores=scores), near)

    def _reported(
        self, name: str, search: SceneSearch, levels: ScenePyramid, kept: Hypotheses, view: _View
    ) -> _Found:
        """Hypotheses of a view and their detections, in pixels of the scene.

        Detections are made while the pixels of the tile are in memory, even if they are excluded later.
        """
        # The last fit is for detections only. Tiles are merged by the hypotheses before it: in a scene of one
        # piece, too, exclusion comes first.
        shown, sure = kept, np.flatnonzero(kept.scores >= search.threshold)
        if len(sure):
            better = search.finder.uncover(levels, kept[sure])
            shown = replace(kept, placement=kept.placement.replaced(sure, better.placement))
        detections = self._searches[name].assembled(_in_scene(shown, view), search.leaves(levels, shown))
        to_scene = enlarge(view.reduction, *view.box[:2])
        supports = {
            key: (mapped(to_scene, points), evidence)
            for key, (points, evidence) in search.finder.supports(levels, kept).items()
        }
        return _Found(_in_scene(kept, view), detections, supports)

    def _merged(self, found: Mapping[str, _Found], count: int | None) -> MethodResult:
        """The detections and candidates that remain after exclusion among those of all tiles."""
        left = {
            name: self._searches[name].merged(one.hypotheses, one.supports) for name, one in found.items()
        }
        left = self._search.between(None, left)  # None: the pixels of the scene are no longer there
        items, candidates = list[Detection](), list[Detection]()
        for name in (name for name in self._searches if name in left):
            one = left[name]
            root = self._searches[name].finder.pieces.tree.root
            # Scores are capped, so many are equal: of these the best fit comes first, in any order of tiles.
            fits = np.sum(list(one.placement.zncc.values()), axis=0)
            one = one[np.lexsort((-fits, -one.scores))]
            # Exclusion drops hypotheses and changes scores, not frames: their bytes identify the detection.
            known = {
                frame.tobytes(): detection
                for frame, detection in zip(
                    found[name].hypotheses.placement.frames[root], found[name].detections, strict=True
                )
            }
            for frame, score in zip(one.placement.frames[root], one.scores.tolist(), strict=True):
                detection = replace(known[frame.tobytes()], score=score)
                (items if score >= self._searches[name].threshold else candidates).append(detection)
        return MethodResult(best_first(items)[:count], best_first(candidates))


def object_size(finder: Finder) -> ObjectSize:
    """The lengths of an object at scale 1, however its limbs turn.

    A piece reaches as far as its farthest corner from its joint, plus the distances between the joints up to
    the centre of the object and their play, as if all limbs were stretched out in one line.
    """
    joints = {one.name: one for one in (*finder.pieces.groups, *finder.pieces.pieces)}
    root, reach = finder.pieces.tree.root, 0.0
    for name, model in finder.models.items():
        at = np.asarray(finder.middle if name == root else joints[name].joint)
        corners = mapped(model.to_canvas, model.footprint.corners)
        length = float(np.linalg.norm(corners - at, axis=1).max())
        while name != root:
            above = joints[name].parent
            end = finder.middle if above == root else joints[above].joint
            length += float(np.linalg.norm(np.asarray(joints[name].joint) - end)) + joints[name].play
            name = above  # noqa: PLW2901  # up the tree
        reach = max(reach, length)
    pixel = max(1 / model.stages[0].from_full[0, 0] for model in finder.models.values())
    detail = min(piece.motif.extent for piece in finder.pieces.pieces)
    return ObjectSize(2 * reach, float((MARGIN + _MAX_DRIFT) * pixel), detail)


def _in_scene(found: Hypotheses, view: _View) -> Hypotheses:
    return _moved(found, view.to_scene)


def _moved(found: Hypotheses, move: Callable[[Poses], Poses]) -> Hypotheses:
    placement = found.placement
    frames = {name: move(poses) for name, poses in placement.frames.items()}
    return replace(found, placement=replace(placement, frames=frames))


def _holds(tile: Box, box: Sequence[float]) -> bool:
    return bool(tile[0] <= box[0] and tile[1] <= box[1] and tile[2] >= box[2] and tile[3] >= box[3])
