"""What clutter reaches by chance: how well the pieces of a template fit where it is not.

How much more the body reaches where it may be tilted and where it is small, and how well it fits at several
places of a scene, is measured in the same scenes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.store import Progress
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.joints.placing import best_of_each
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.score import equivalent_zncc, information, shown
from wherein.detect.search_range import Range
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import fit_planes
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template
from wherein.template.pose import placed, tilted

_CHANCE_ROOTS, _MAX_CHANCE_STARTS, _CHANCE_KEPT = 16, 200, 16
"""Number of random roots about which limbs are searched for in clutter, of starts with all turns of a joint,
and of poses that are then refined. Choices."""

USUAL_SIZE_POWER, _USUAL_SCENES = 0.6, 8
"""Of the size, by which the information that clutter reaches falls, for templates in general. It counts for
as much as so many scenes: what is measured is uncertain. Over three stamps and five patches of photographs
(four scenes, sizes from 0.5 to 2) it was 0.2 to 0.6 and 0.8 to 1.7."""

_CAMERA = 3.0
"""Distance of the camera from a tilted object, in units of its size. A choice: that of a hand-held phone."""


@dataclass(frozen=True)
class Chances:
    """What a template reaches in clutter.

    Attributes:
        zncc: the best of each piece, by name, the median over scenes.
        tilt_cost, size_power, crowd_from: as of `Calibration`.
    """

    zncc: dict[str, float]
    tilt_cost: float
    size_power: float
    crowd_from: float


def measure_chances(
    finder: Finder, scenes: Backgrounds, count: int, rng: np.random.Generator, progress: Progress
) -> Chances:
    """What the pieces of a template reach in the first `count` scenes without it.

    The body is searched for everywhere, limbs from some 200 starts. Their joints are not enforced: that a
    piece was found where its joint allows is evidence in itself.
    """
    reached: dict[str, list[float]] = {piece.name: [] for piece in finder.pieces.limbs}
    of_body = list[BodyChance]()
    searches = BodySearches(finder)
    for k in range(count):
        progress(k / count, "chance matches in clutter")
        scene = ScenePyramid(scenes(k))
        if finder.body_search is not None:
            of_body.append(searches(scene))
        roots = np.stack(
            [random_root(finder.template, finder.ranges, scenes.size, rng) for _ in range(_CHANCE_ROOTS)]
        )
        for piece in finder.pieces.limbs:
            reached[piece.name].append(_limb_chance(finder.models[piece.name], scene, roots))
    if of_body:
        reached[finder.pieces.tree.root] = [max(one.small, one.large) for one in of_body]
    # Clipped, so that no piece has all of the weight, or none.
    chance = {name: float(np.clip(np.median(zncc), 0.1, 0.9)) for name, zncc in reached.items()}
    return Chances(
        chance,
        searches.tilt_cost(of_body),
        searches.size_power(of_body),
        max((one.third for one in of_body), default=0.0),
    )


@dataclass(frozen=True)
class BodyChance:
    """The best ZNCC of the body in a scene: upright, in the smaller and the larger half of the sizes, and
    with all tilts; and that of the third best place before the fits."""

    small: float
    large: float
    tilted: float
    third: float


class BodySearches:
    """Searches for the body in clutter: upright in each half of its sizes, and as the finder does.

    Arguments:
        finder: of a template, for the whole range.
    """

    def __init__(self, finder: Finder) -> None:
        ranges, self._finder = finder.ranges, finder
        low, high = ranges.scale
        middle = math.sqrt(low * high)
        self._ratio = middle / low  # between the middles of the two halves
        halves = ((low, middle), (middle, high)) if high > low else ((low, high),)
        # The cost of a tilt is taken off, so that the body's chance is the one without any.
        self._halves = [Finder(finder.template, replace(ranges, tilt=0.0, scale=half), {}) for half in halves]

    def __call__(self, scene: ScenePyramid) -> BodyChance:
        """What the body reaches in a scene."""
        reached = [_best_body(half, scene) for half in self._halves]
        tilted = _best_body(self._finder, scene) if self._finder.ranges.tilt > 0 else 0.0
        assert self._finder.body_search is not None, "a template with a body"
        return BodyChance(reached[0], reached[-1], tilted, self._finder.body_search.third_best(scene))

    def tilt_cost(self, reached: Sequence[BodyChance]) -> float:
        """The information that clutter gains by tilts, at least 0."""
        if not reached or not self._finder.ranges.tilt:
            return 0.0
        upright = information(np.array([max(one.small, one.large) for one in reached]))
        return max(0.0, float(np.median(information(np.array([one.tilted for one in reached])) - upright)))

    def size_power(self, reached: Sequence[BodyChance]) -> float:
        """The power of the size by which the information that clutter reaches falls, from 0 to 1."""
        if not reached or len(self._halves) == 1:
            return 0.0
        # Scene by scene, since scenes differ far more than sizes do.
        small, large = (
            information(np.array(half)) for half in zip(*((c.small, c.large) for c in reached), strict=True)
        )
        known = (small > 0) & (large > 0)
        powers = np.log(small[known] / large[known]) / math.log(self._ratio)
        total = powers.sum() + USUAL_SIZE_POWER * _USUAL_SCENES
        return float(np.clip(total / (len(powers) + _USUAL_SCENES), 0.0, 1.0))


def _best_body(finder: Finder, scene: ScenePyramid) -> float:
    """The best ZNCC of the body in a scene, less where it lies partly outside, as in a score."""
    assert finder.body_search is not None, "a template with a body"
    found, model = finder.body_search(scene)[-1], finder.models[finder.pieces.tree.root]
    inside = model.visible(found.poses, scene.size)
    return float(equivalent_zncc(shown(information(found.zncc), inside)).max(initial=0.0))


def _limb_chance(model: PieceModel, scene: ScenePyramid, roots: Poses) -> float:
    """The best ZNCC of a limb about random roots."""
    starts = (roots[:, None] @ model.starts @ model.to_canvas).reshape(-1, 3, 3)
    starts = starts[:: max(1, len(starts) // _MAX_CHANCE_STARTS)]
    near = fit_planes(scene, model.stages[0], EUCLIDEAN, PlaneStage(1, 0), starts)
    near = best_of_each(near, 1, _CHANCE_KEPT)
    for motif in model.stages:
        near = fit_planes(scene, motif, EUCLIDEAN, PlaneStage(), near.poses)
    return float(near.zncc.max(initial=0.0))


def random_root(
    template: Template, ranges: Range, size: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """A random frame of the root within the range, with its centre in the middle half of a scene."""
    low, high = ranges.scale
    high = max(low, min(high, min(size) / max(template.size)))  # so that it has room
    scale = math.exp(rng.uniform(math.log(low), math.log(high)))
    # Not near the border: how objects score that are partly outside is not to be measured.
    at = rng.uniform(0.25, 0.75) * size[0], rng.uniform(0.25, 0.75) * size[1]
    root = placed(rng.uniform(-ranges.rotation, ranges.rotation), scale, at, template.centre)
    if ranges.tilt:
        axis, distance = rng.uniform(0, 180), _CAMERA * max(template.size)
        root = root @ tilted(rng.uniform(0, ranges.tilt), axis, distance, template.centre)
    return root
