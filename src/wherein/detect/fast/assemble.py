"""From hypotheses to detections: the matrix, score and outline of every part of the tree.

A piece is fitted by its leaf with the most texture; its other leaves are static relative to that leaf. A
static leaf can be at one place only, and one evaluation there gives its ZNCC. How often clutter fits as well
by chance is estimated on the scene itself, by the same evaluation at n other places: if the leaf is missing,
its own place is like all the others, and is the best of the n + 1 with probability 1/(n + 1). This is exact,
because no search has selected the place. In addition a static leaf needs as much evidence as its piece would
need.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import Footprint
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.piece_model import EUCLIDEAN
from wherein.detect.fast.pieces import cover_at_rest, uncovered_motif
from wherein.detect.placed_part import PartFound
from wherein.detect.result import Detection
from wherein.detect.score import MIN_EVIDENCE, equivalent_zncc, information
from wherein.images.polygons import Polygon, Rings, hull
from wherein.motion.homography import mapped, square, turn_between
from wherein.planes.plane_descent import MIN_VISIBLE, PlaneStage
from wherein.planes.plane_fit import finest_stage, fit_planes
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template
from wherein.template.reading import Reading
from wherein.template.tree import Matrix, Part, Point

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

_OTHER_PLACES = 6
"""The other places form a grid of 6 × 6 over the scene. A choice: with 36 of them, a missing leaf counts as
found with a probability of less than 3 %."""

_EVALUATE = PlaneStage(rounds=1, steps=0)

_ONLY_TURN_EVIDENCE, _WIDE_TURN = 1.2, 90.0
"""Minimum weighted evidence of a limb that fits at a single turn, for it to count as found, and the ± degrees
that it must be free to turn: with less freedom, a single turn means little. Choices: a needle in poor light
has little evidence, but fits at one turn only. Measured with five templates of a wall thermometer in 188
photographs from which its needle was painted out: nothing reached 0.72. In other photographs, of needles with
less than 1.4, 31 of 55 at the right turn had 1.2 or more, and none of four at a wrong turn."""

_CLEAR_TURN_EVIDENCE, _SOME_TURN = 0.8, 45.0
"""The same if no other turn rates even half as well. Choices: the needle of an ammeter is a thin line, of
which clutter has many. Measured on drawn instruments in photographs, with 48 needles that were painted out:
the highest had 0.62. Of 8 needles of an ammeter, all at the right turn, the lowest had 0.85."""

LeafScore = tuple[float, bool]
"""The score of a leaf, and whether it was found. The score is its ZNCC, or for an occluded leaf the ZNCC that
carries the same information. It is at most 0.98 (`detect.score.MAX_ZNCC`), and 0 if the leaf was not
fitted."""


@dataclass(frozen=True, eq=False)
class StaticLeaf:
    """A leaf that is not fitted itself, but moves with the fitted leaf of its piece.

    Attributes:
        piece: the name of the piece.
        leaf: the part.
        motif: its picture, at the resolution at which a fitted leaf would be scored.
        footprint: the pixels that it covers.
        weight: of the evidence of its piece.
    """

    piece: str
    leaf: Part
    motif: PlaneMotif
    footprint: Footprint
    weight: float

    def __call__(self, scene: ScenePyramid, frame: Matrix) -> LeafScore:
        """The score of the leaf under the frame of its piece; it is found only if it fits better there than
        at all other places."""
        pose = frame @ self.leaf.rest
        poses = np.concatenate((pose[None], self._other_places(scene, pose)))
        zncc = fit_planes(scene, self.motif, EUCLIDEAN, _EVALUATE, poses).zncc
        # `initial=0`: the ZNCC must be positive as well, and a small scene may have no other place.
        best = bool(zncc[0] > zncc[1:].max(initial=0.0))
        evidence = float(information(zncc[:1])[0])
        visible = float(self.footprint.visible(poses[:1], scene.size)[0])
        score, found = _leaf_score(evidence, visible, self.weight)
        return score, found and best

    def _other_places(self, scene: ScenePyramid, pose: Matrix) -> Poses:
        """The pose shifted to a grid over the scene, without places where the leaf would overlap its own
        place."""
        size, corners = np.array(scene.size), mapped(pose, self.footprint.corners)
        extent = corners.max(0) - corners.min(0)
        # The leaf lies inside the scene at each place, so that equally many pixels are compared everywhere.
        margin = np.minimum(extent, size) / 2
        x, y = np.linspace(margin, size - 1 - margin, _OTHER_PLACES, axis=1)
        spots = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
        shifts = spots - corners.mean(0)
        moves = np.repeat(np.eye(3)[None], len(shifts), axis=0)
        moves[:, :2, 2] = shifts
        return (moves @ pose)[(np.abs(shifts) > extent).any(1)]


def static_leaves(finder: "Finder") -> tuple[StaticLeaf, ...]:
    """The leaves of a template that are not fitted themselves."""
    found = []
    for piece in finder.pieces.pieces:
        for leaf in piece.leaves[1:]:
            motif = uncovered_motif(finder.template, leaf.name)
            finest = finest_stage(
                motif, finder.ranges.any_polarity, cover_at_rest(finder.template, leaf.name)
            )
            found.append(StaticLeaf(piece.name, leaf, finest, Footprint(motif), finder.weights[piece.name]))
    return tuple(found)


def fitted_leaf_scores(
    finder: "Finder",
    hypotheses: Hypotheses,
    index: int,
    spreads: Mapping[str, float],
    clear: Collection[str] = (),
) -> dict[str, LeafScore]:
    """The scores of the fitted leaves under one hypothesis, by name.

    A leaf that fits nearly as well at a distant turn (`spreads`, ± degrees by name) does not count as found:
    the fit may be of something else. A leaf that fits at a single one of many turns needs less evidence, and
    least if no other turn rates half as well (`clear`, the names of such leaves).
    """
    scores = {}
    for piece in finder.pieces.pieces:
        evidence, visible = hypotheses.evidence[piece.name][index], hypotheses.visible[piece.name][index]
        name, weight = piece.fitted_leaf.name, finder.weights[piece.name]
        only_turn = spreads.get(name, 0.0) <= finder.models[piece.name].max_spread
        tells = name in spreads and only_turn and piece.turn >= _WIDE_TURN
        least = _ONLY_TURN_EVIDENCE if tells else MIN_EVIDENCE
        if name in clear and only_turn and piece.turn >= _SOME_TURN:
            least = _CLEAR_TURN_EVIDENCE
        score, found = _leaf_score(float(evidence), float(visible), weight, least)
        scores[name] = score, found and only_turn
    return scores


def needs_clear_turn(finder: "Finder", hypotheses: Hypotheses, name: str) -> NDArray[np.bool_]:
    """In which hypotheses the evidence of a limb counts as found only if its turn is clear, (H,)."""
    evidence = finder.weights[name] * hypotheses.evidence[name]
    return np.asarray((evidence >= _CLEAR_TURN_EVIDENCE) & (evidence < MIN_EVIDENCE))


def static_leaf_scores(
    leaves: tuple[StaticLeaf, ...], scene: ScenePyramid, hypotheses: Hypotheses, index: int
) -> dict[str, LeafScore]:
    """The scores of the static leaves under one hypothesis, by name; 0 where their piece was not found."""
    return {
        static.leaf.name: static(scene, hypotheses.placement.frames[static.piece][index])
        if hypotheses.evidence[static.piece][index] > 0
        else (0.0, False)
        for static in leaves
    }


def _leaf_score(information: float, visible: float, weight: float, least: float = MIN_EVIDENCE) -> LeafScore:
    """The score of a leaf. It is found if its weighted evidence is at least `least`, and enough of it is
    visible."""
    found = weight * information >= least and visible >= MIN_VISIBLE
    return float(equivalent_zncc(np.array(information))), found


@dataclass(frozen=True, eq=False)
class _PartLayout:
    """The data of a part that do not depend on the scene.

    Attributes:
        name: of the part.
        frame: the name of the part with whose frame it moves: itself, or a part above it.
        rest: its pixels → canvas of the frames.
        rings: its outlines in its pixels; none for a group.
        leaves: the names of the leaves below it; itself if it is one.
        leaf: whether it has a picture of its own.
        above: the name of the part with whose frame its parent moves.
        middle: of its picture, or of the canvas, in its pixels.
        reading: what its turn means.
        pivot: the point that it turns about, in its pixels; None if it does not turn.
    """

    name: str
    frame: str
    rest: Matrix
    rings: tuple[Polygon, ...]
    leaves: tuple[str, ...]
    leaf: bool
    above: str
    middle: Point
    reading: Reading | None
    pivot: Point | None


class Assembler:
    """Makes detections of a template from the frames of its parts.

    Arguments:
        template: the template as it was given.
        moving: the names of the parts that have a frame of their own, including the root; each other part
            has the frame of its parent. None: all parts have one.
        projective: whether frames may have perspective. Then all matrices are 3×3, with 1 as the last
            element, even without perspective, so that all detections of a search have the same shape.
        to_frames: canvas of the template → canvas of the frames, 3×3; None: they are the same.
    """

    def __init__(
        self,
        template: Template,
        moving: Collection[str] | None = None,
        projective: bool = False,
        to_frames: Matrix | None = None,
    ) -> None:
        tree, frames = template.parts, dict[str, str]()
        for name, part in tree.items():
            own = moving is None or name in moving
            frames[name] = name if own else frames[part.parent or tree.root]
        self._root, self._projective = tree.root, projective
        self._to_frames = np.eye(3) if to_frames is None else to_frames
        self._centre, self._name = template.centre, template.name
        self._parts = tuple(
            _PartLayout(
                name,
                frames[name],
                self._to_frames @ part.rest,
                () if part.motif is None else part.motif.rings,
                tree.leaves_below(name),
                part.motif is not None,
                frames[part.parent or tree.root],
                template.centre if part.motif is None else part.motif.centre,
                part.reading,
                part.pivot if part.moves else None,
            )
            for name, part in tree.items()
            # A root is a part only if it has a picture, and then it is the only one. Otherwise its matrix is
            # reported as that of the detection.
            if part.parent is not None or part.motif is not None
        )

    def __call__(
        self,
        frames: Mapping[str, Matrix],
        leaves: Mapping[str, LeafScore],
        score: float,
        spreads: Mapping[str, float] | None = None,
    ) -> Detection:
        """A detection.

        Arguments:
            frames: canvas → scene of every moving part, by name.
            leaves: the score of every leaf, and whether it was found, by name.
            score: of the detection.
            spreads: ± degrees within which the turn of a part is known, by name, where that was measured.
        """
        parts = {}
        matrices = {part.name: self._matrix(frames[part.frame] @ part.rest) for part in self._parts}
        rings = {
            part.name: tuple(mapped(matrices[part.name], ring) for ring in part.rings) for part in self._parts
        }
        for part in self._parts:
            matrix = matrices[part.name]
            # The outline of a group is the hull of its leaves as they lie now: they may have turned within
            # it.
            own = rings[part.name] or (_hull_of([rings[leaf] for leaf in part.leaves]),)
            mean = float(np.mean([leaves[leaf][0] for leaf in part.leaves]))
            # If the template has a single part, the detected object is that part, however little is visible.
            found = len(self._parts) == 1 or any(leaves[leaf][1] for leaf in part.leaves)
            turn = turn_between(frames[part.above], frames[part.frame])
            spread = (spreads or {}).get(part.name)
            parts[part.name] = PartFound(
                matrix, mean, found, own, part.leaf, part.middle, turn, spread, part.reading, part.pivot
            )
        return Detection(
            score, self._matrix(frames[self._root] @ self._to_frames), parts, self._centre, self._name
        )

    def _matrix(self, pose: Matrix) -> Matrix:
        """A pose in the form in which it is reported: 3×3 with 1 as the last element, or 2×3."""
        return pose / pose[2, 2] if self._projective else pose[:2]


def frames_of(finder: "Finder", item: Detection) -> dict[str, Matrix]:
    """Canvas of the finder → scene of every part of a detection, 3×3, by name."""
    tree, to_given = finder.given.parts, np.linalg.inv(finder.from_given)
    frames = {
        name: square(part.matrix) @ np.linalg.inv(tree[name].rest) @ to_given
        for name, part in item.parts.items()
    }
    return {**frames, tree.root: square(item.matrix) @ to_given}


def _hull_of(shapes: Sequence[Rings]) -> Polygon:
    """The convex hull of several shapes."""
    return hull(np.concatenate([ring for rings in shapes for ring in rings]))
