"""From hypotheses to detections: the matrix, score and outline of every part of the tree.

A piece is fitted by its leaf with the most texture; its other leaves are static relative to that one. There
is only one place where each of them can be, and one evaluation there gives its ZNCC. How often chance alone
fits as well is estimated on the scene itself, by the same evaluation at n other places: if the leaf is
missing, its own place is one like all the others, and the best of the n + 1 with probability 1/(n + 1).
Nothing was searched for, so no other chance comes in. In addition a static leaf needs as much evidence as
its piece would.
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
from wherein.template.tree import Matrix, Part, Point, Tree

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

_OTHER_PLACES = 6
"""The other places form a grid of 6 × 6 over the scene. A choice: with 36 of them, a missing leaf is taken
to be there with a probability of less than 3 %."""

_EVALUATE = PlaneStage(rounds=1, steps=0)

_ONLY_TURN_EVIDENCE, _WIDE_TURN = 1.2, 90.0
"""Weighted evidence from which a limb counts as found where it fits at one turn only, and ± degrees that it
must be free to turn for that to say much. Choices: a needle in poor light has little evidence, and one turn.
By five templates of a wall thermometer in 188 photographs from which its needle was painted out: nothing
reached 0.72. In other photographs 31 of 55 needles with less than 1.4 that lay right had 1.2 or more, and
none of four that did not."""

_CLEAR_TURN_EVIDENCE, _SOME_TURN = 0.8, 45.0
"""The same where no other turn rates even half as well. Choices: the needle of an ammeter is a thin line, and
clutter is full of these. By 64 needles of drawn instruments that were painted out, in photographs: the
highest had 0.62; of 8 needles of an ammeter, which all lay right, the lowest had 0.85."""

LeafScore = tuple[float, bool]
"""The score of a leaf, and whether it was found. The score is its ZNCC, or for an occluded leaf the ZNCC that
carries the same information; at most 0.98 (`detect.score.MAX_ZNCC`), and 0 where it was not fitted."""


@dataclass(frozen=True, eq=False)
class StaticLeaf:
    """A leaf that is not fitted itself, but moves with the fitted leaf of its piece.

    Attributes:
        piece: the name of the piece.
        leaf: the part.
        motif: its picture at the resolution at which it would be scored if it were fitted.
        footprint: the pixels that it covers.
        weight: of the evidence of its piece.
    """

    piece: str
    leaf: Part
    motif: PlaneMotif
    footprint: Footprint
    weight: float

    def __call__(self, scene: ScenePyramid, frame: Matrix) -> LeafScore:
        """The score of the leaf where the frame of its piece has it; found only if it fits better there than
        at all other places."""
        pose = frame @ self.leaf.rest
        poses = np.concatenate((pose[None], self._other_places(scene, pose)))
        zncc = fit_planes(scene, self.motif, EUCLIDEAN, _EVALUATE, poses).zncc
        best = bool(zncc[0] > zncc[1:].max(initial=0.0))
        evidence = float(information(zncc[:1])[0])
        visible = float(self.footprint.visible(poses[:1], scene.size)[0])
        score, found = _leaf_score(evidence, visible, self.weight)
        return score, found and best

    def _other_places(self, scene: ScenePyramid, pose: Matrix) -> Poses:
        """The pose with its centre on a grid over the scene, without places where it would overlap itself."""
        size, corners = np.array(scene.size), mapped(pose, self.footprint.corners)
        extent = corners.max(0) - corners.min(0)
        # Inside the scene, so that every place has as many pixels to compare.
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

    One that fits nearly as well at another turn (`spreads`, ± degrees by name) was not found: what was found
    may be something else. One that fits at a single one of many turns needs less evidence, and least if no
    other comes near (`clear`).
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
    """In which hypotheses a limb may count as found only if its turn is clear, (H,)."""
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
    """A leaf is found if it fits far better than clutter and enough of it is inside the scene."""
    found = weight * information >= least and visible >= MIN_VISIBLE
    return float(equivalent_zncc(np.array(information))), found


@dataclass(frozen=True, eq=False)
class _PartLayout:
    """What a detection needs to know of a part.

    Attributes:
        name: of the part.
        frame: the name of the part whose frame it has: its own, or that of a part above it.
        rest: its pixels → canvas.
        rings: its outlines in its pixels; none for a group.
        leaves: the names of the leaves below it; itself if it is one.
        leaf: whether it has a picture of its own.
        above: the name of the part whose frame its parent has.
        middle: of its picture, or of the canvas, in its pixels.
        reading: what its turn means.
        pivot: the point that it turns about, in its pixels; None: it does not turn.
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
        template: what was found.
        moving: the names of the parts that have a frame of their own, the root among them; each of the
            others has that of its parent. None: all parts have one.
        projective: whether frames may have perspective. Then all matrices are 3×3, with 1 as the last
            element, even where there is none: all detections of a search are alike.
    """

    def __init__(
        self, template: Template, moving: Collection[str] | None = None, projective: bool = False
    ) -> None:
        tree, frames = template.parts, dict[str, str]()
        for name, part in tree.items():
            own = moving is None or name in moving
            frames[name] = name if own else frames[part.parent or tree.root]
        self._root, self._projective = tree.root, projective
        self._centre, self._name = template.centre, template.name
        self._parts = tuple(
            _PartLayout(
                name,
                frames[name],
                part.rest,
                () if part.motif is None else part.motif.rings,
                tree.leaves_below(name),
                part.motif is not None,
                frames[part.parent or tree.root],
                template.centre if part.motif is None else part.motif.centre,
                part.reading,
                part.pivot if part.moves else None,
            )
            for name, part in tree.items()
            # The root is no part of its own, unless it is all there is: its matrix is the detection's.
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
            # A group is outlined where its leaves are: they may have turned since its rest position.
            own = rings[part.name] or (_hull_of([rings[leaf] for leaf in part.leaves]),)
            mean = float(np.mean([leaves[leaf][0] for leaf in part.leaves]))
            # Where a part is all there is, the object that was found is that part, however small.
            found = len(self._parts) == 1 or any(leaves[leaf][1] for leaf in part.leaves)
            turn = turn_between(frames[part.above], frames[part.frame])
            spread = (spreads or {}).get(part.name)
            parts[part.name] = PartFound(
                matrix, mean, found, own, part.leaf, part.middle, turn, spread, part.reading, part.pivot
            )
        return Detection(score, self._matrix(frames[self._root]), parts, self._centre, self._name)

    def _matrix(self, pose: Matrix) -> Matrix:
        """A pose as it is reported."""
        return pose / pose[2, 2] if self._projective else pose[:2]


def frames_of(tree: Tree, item: Detection) -> dict[str, Matrix]:
    """Canvas → scene of every part of a detection, 3×3, by name."""
    frames = {name: square(part.matrix) @ np.linalg.inv(tree[name].rest) for name, part in item.parts.items()}
    return {**frames, tree.root: square(item.matrix)}


def _hull_of(shapes: Sequence[Rings]) -> Polygon:
    """The convex hull of several shapes."""
    return hull(np.concatenate([ring for rings in shapes for ring in rings]))
