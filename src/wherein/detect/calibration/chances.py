"""Measures chance matches: how well the pieces of a template fit scenes without the object.

Three further measurements use the same scenes: how much better the body fits if it may be tilted, how much
better it fits if it is small, and how well it fits at the third best place of a scene.
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
"""Numbers for the search of a limb in clutter: random roots, starts at most (up to twice as many, since
every k-th is taken), and poses that are refined. Choices."""

USUAL_SIZE_POWER, _USUAL_SCENES = 0.6, 8
"""The usual `size_power` p of a template: the information that clutter reaches is proportional to size⁻ᵖ. As
a prior, it weighs as much as this number of scenes, because the measured power is uncertain. It was 0.2 to
0.6 for three stamps, and 0.8 to 1.7 for five patches of photographs (four scenes, sizes from 0.5 to 2)."""

_CAMERA = 3.0
"""Distance of the camera from a tilted object, in units of the object's size. A choice: that of a hand-held
phone."""


@dataclass(frozen=True)
class Chances:
    """What a template reaches in clutter.

    Attributes:
        zncc: the highest ZNCC of each piece in a scene, by name; the median over scenes.
        tilt_cost, size_power, crowd_from: see `Calibration`.
    """

    zncc: dict[str, float]
    tilt_cost: float
    size_power: float
    crowd_from: float


def measure_chances(
    finder: Finder, scenes: Backgrounds, count: int, rng: np.random.Generator, progress: Progress
) -> Chances:
    """What the pieces of a template reach in the first `count` scenes, none of which shows the object.

    The body is searched for in the whole scene, and each limb from about 200 starts. The fits may leave the
    joints, since that a piece is found where its joint allows is evidence in itself.

    Arguments:
        finder: of the template, for the whole range, with no weights yet.
        scenes: backgrounds without the object.
        count: how many of them are used.
        rng: of the roots from which limbs start.
        progress: is called before each scene.
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
    # The median, because one scene that happens to resemble the piece must not set its weight. Clipped,
    # because the weight is 1 / −ln(1 − q²): else one piece could have nearly all of the weight, or none.
    chance = {name: float(np.clip(np.median(zncc), 0.1, 0.9)) for name, zncc in reached.items()}
    return Chances(
        chance,
        searches.tilt_cost(of_body),
        searches.size_power(of_body),
        # The maximum, because scenes of clutter that look like a crowd cost much time.
        max((one.third for one in of_body), default=0.0),
    )


@dataclass(frozen=True)
class BodyChance:
    """What the body reaches in one scene of clutter, as ZNCC.

    Attributes:
        small, large: the highest without tilt, in the smaller and the larger half of the range of sizes.
        tilted: the highest over the whole range; 0 if the range has no tilt.
        third: that of the third best place before the fits.
    """

    small: float
    large: float
    tilted: float
    third: float


class BodySearches:
    """Searches for the body in clutter: without tilt in each half of the range of sizes, and in all of it.

    Arguments:
        finder: of a template, for the whole range.
    """

    def __init__(self, finder: Finder) -> None:
        ranges, self._finder = finder.ranges, finder
        low, high = ranges.scale
        # Halves on a logarithmic scale, [low, √(low·high)] and [√(low·high), high]. Their middles (geometric
        # means) are then as far apart as their ends.
        middle = math.sqrt(low * high)
        self._ratio = middle / low
        halves = ((low, middle), (middle, high)) if high > low else ((low, high),)
        # Without tilt: a score subtracts the cost of tilt separately, so the chance must not include it.
        self._halves = [Finder(finder.template, replace(ranges, tilt=0.0, scale=half), {}) for half in halves]

    def __call__(self, scene: ScenePyramid) -> BodyChance:
        """What the body reaches in a scene of clutter."""
        reached = [_best_body(half, scene) for half in self._halves]
        tilted = _best_body(self._finder, scene) if self._finder.ranges.tilt > 0 else 0.0
        assert self._finder.body_search is not None, "a template with a body"
        return BodyChance(reached[0], reached[-1], tilted, self._finder.body_search.third_best(scene))

    def tilt_cost(self, reached: Sequence[BodyChance]) -> float:
        """The information that clutter gains if the body may be tilted: a median over scenes, at least 0."""
        if not reached or not self._finder.ranges.tilt:
            return 0.0
        # The difference is taken within each scene, because scenes differ far more than tilts do.
        upright = information(np.array([max(one.small, one.large) for one in reached]))
        return max(0.0, float(np.median(information(np.array([one.tilted for one in reached])) - upright)))

    def size_power(self, reached: Sequence[BodyChance]) -> float:
        """The power p, from 0 to 1: the information that clutter reaches is proportional to size⁻ᵖ."""
        if not reached or len(self._halves) == 1:
            return 0.0
        # From ℓ_small / ℓ_large = ratio^p follows p = ln(ℓ_small / ℓ_large) / ln(ratio). Each scene gives one
        # value, because scenes differ far more than sizes do; values are averaged with the usual power.
        small, large = (
            information(np.array(half)) for half in zip(*((c.small, c.large) for c in reached), strict=True)
        )
        known = (small > 0) & (large > 0)
        powers = np.log(small[known] / large[known]) / math.log(self._ratio)
        total = powers.sum() + USUAL_SIZE_POWER * _USUAL_SCENES
        return float(np.clip(total / (len(powers) + _USUAL_SCENES), 0.0, 1.0))


def _best_body(finder: Finder, scene: ScenePyramid) -> float:
    """The highest ZNCC of the body in a scene, reduced where the body is partly outside, as in a score."""
    assert finder.body_search is not None, "a template with a body"
    found, model = finder.body_search(scene)[-1], finder.models[finder.pieces.tree.root]
    inside = model.visible(found.poses, scene.size)
    return float(equivalent_zncc(shown(information(found.zncc), inside)).max(initial=0.0))


def _limb_chance(model: PieceModel, scene: ScenePyramid, roots: Poses) -> float:
    """The highest ZNCC of a limb in a scene, from random frames of the root."""
    # Every turn of every joint at every root; every k-th of these starts is tried, which keeps all roots.
    starts = (roots[:, None] @ model.starts @ model.to_canvas).reshape(-1, 3, 3)
    starts = starts[:: max(1, len(starts) // _MAX_CHANCE_STARTS)]
    # The first call has 0 steps: it only evaluates the starts. The best of them go on to the fits.
    fits = fit_planes(scene, model.stages[0], EUCLIDEAN, PlaneStage(1, 0), starts)
    fits = best_of_each(fits, 1, _CHANCE_KEPT)
    for motif in model.stages:
        fits = fit_planes(scene, motif, EUCLIDEAN, PlaneStage(), fits.poses)
    return float(fits.zncc.max(initial=0.0))


def random_root(
    template: Template, ranges: Range, size: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """A random frame of the root within the range, with the object's centre in the middle half of a scene.

    Arguments:
        template: whose canvas the frame maps to the scene.
        ranges: of rotation, scale and tilt.
        size: width and height of the scene.
        rng: of all random numbers.

    Returns:
        (3, 3) matrix, canvas → scene.
    """
    low, high = ranges.scale
    # An object larger than the scene would lie partly outside of it. Uniform in the logarithm of the scale,
    # because scales are ratios: half and double size are equally likely.
    high = max(low, min(high, min(size) / max(template.size)))
    scale = math.exp(rng.uniform(math.log(low), math.log(high)))
    # Away from the border: calibration does not measure how objects score that the border cuts.
    at = rng.uniform(0.25, 0.75) * size[0], rng.uniform(0.25, 0.75) * size[1]
    root = placed(rng.uniform(-ranges.rotation, ranges.rotation), scale, at, template.centre)
    if ranges.tilt:
        axis, distance = rng.uniform(0, 180), _CAMERA * max(template.size)
        root = root @ tilted(rng.uniform(0, ranges.tilt), axis, distance, template.centre)
    return root
