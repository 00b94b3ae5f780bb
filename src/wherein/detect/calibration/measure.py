"""Calibration without a person: from a template and backgrounds to weights and a threshold.

What clutter reaches by chance is measured by searching for the template where it is not: the threshold is a
score that clutter reaches in one of a hundred to ten thousand scenes. What an object reaches is measured by
painting it into the same backgrounds, in other poses, under the conditions of photographs, and with limbs
missing: that says how surely it is found, and which of these rates is meant.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.conditions import photographed
from wherein.detect.calibration.false_alarms import choose_threshold, rare_clutter_score, suspect_scenes
from wherein.detect.calibration.lookalikes import similar_parts
from wherein.detect.calibration.model import STORE, Calibration
from wherein.detect.calibration.reach import measure_reach
from wherein.detect.calibration.store import Progress, no_progress
from wherein.detect.fast.exclusion import exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.joints import best_of_each
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.score import equivalent_zncc, evidence_weight, information
from wherein.detect.search_range import Effort, Range
from wherein.images.pool import pool
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import fit_planes
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed, tilted
from wherein.template.reduced import reduced_template
from wherein.template.render import render
from wherein.threads import one_thread

SCENE_SIZE = (512, 384)
"""Width and height of the test scenes, unless the template needs larger ones. A choice: that of a small
photograph; larger scenes take longer."""

_MAX_OBJECT_SIZE, _ROOM = 400.0, 1.3
"""Pixels. A template that is larger than this is calibrated at half its size, or a quarter; and test scenes
are at least so many times its size. Choices: with less room, most of it would lie outside."""

_CHANCE_SCENES, _EMPTY_SCENES, _PRESENT_SCENES = 8, 20, 24
"""Number of scenes in which the pieces are searched for one by one, of scenes without the template, and of
scenes with it. Choices: more would make calibration longer than the half minute that it takes."""

_MAX_POLISHED = 4
"""How many hypotheses of a scene are refined at full size. A choice: only the best score counts, and the
best at full size is nearly always among these."""

MAX_BACKGROUNDS = max(_CHANCE_SCENES, _EMPTY_SCENES, _PRESENT_SCENES)
"""How many backgrounds are used at most."""

_CHANCE_ROOTS, _MAX_CHANCE_STARTS, _CHANCE_KEPT = 16, 200, 16
"""Number of random roots about which limbs are searched for in clutter, of starts with all turns of a joint,
and of poses that are then refined. Choices."""

_USUAL_SIZE_POWER = 0.35
"""Of the size, by which the information that clutter reaches falls, for templates in general. It counts for
as much as what is measured, which is uncertain with so few scenes. Over seven templates (two coins and five
stamps, eight scenes, sizes from 0.5 to 2) it was 0.18 to 0.65."""

_CAMERA = 3.0
"""Distance of the camera from a tilted object, in units of its size. A choice: that of a hand-held phone."""


def calibrate(
    template: Template,
    ranges: Range,
    backgrounds: Sequence[Float[Tensor, "3 H W"]] = (),
    seed: int = 0,
    progress: Progress = no_progress,
) -> Calibration:
    """A new calibration; the same for the same arguments.

    Arguments:
        template: what is to be found.
        ranges: the poses in which it is to be found.
        backgrounds: pictures like those that will be searched, but without the template; synthetic clutter
            where there are none.
        seed: of poses, light and clutter.
        progress: is called with the fraction that is done, and what is being done.
    """
    with workers() as pool:
        return _measured(template, ranges, backgrounds, seed, progress, pool)


def calibration_for(template: Template, ranges: Range, progress: Progress = no_progress) -> Calibration:
    """The stored calibration of a template for a range of poses, or a new one, which is then stored.

    Arguments:
        template: loaded from a folder or a .zip, or made in memory.
        ranges: the poses that are searched.
        progress: is called during a new calibration.
    """
    return STORE.load_or_measure(template, ranges, lambda: calibrate(template, ranges, progress=progress))


def _measured(
    template: Template,
    ranges: Range,
    backgrounds: Sequence[Float[Tensor, "3 H W"]],
    seed: int,
    progress: Progress,
    workers: ThreadPoolExecutor,
) -> Calibration:
    """All measurements, one after the other; arguments as of `calibrate`, and threads that search scenes."""
    fingerprint, (factor, size) = template.fingerprint, scene_size(template, ranges)
    if factor > 1:
        # Scenes with room for a large template would take too long, and at half its size it scores about
        # the same.
        template, backgrounds = reduced_template(template, factor), [pool(one, factor) for one in backgrounds]
    scenes = Backgrounds(backgrounds, seed, size)
    rng = np.random.default_rng((seed, 1))
    chance, tilt_cost, size_power = _chances(Finder(template, ranges, {}), scenes, rng, progress)
    weights = {name: evidence_weight(q) for name, q in chance.items()}
    # Every pair of limbs is followed, however weak: it is the scores of clutter that are to be known.
    finder = Finder(template, ranges, weights, tilt_cost, min_pair_evidence=0.0, size_power=size_power)
    search = SceneSearch(finder, threshold=0.5, calibrated_threshold=0.5, usual_clutter=0.5, threads=1)
    progress(0.3, "searching scenes without the object")
    empty, present = [], []
    # No score reaches 0.99, so nothing is skipped: the highest score of clutter is wanted, however it is
    # found.
    for score in workers.map(lambda k: _best_score(search, scenes(k), 0.99), range(_EMPTY_SCENES)):
        empty.append(score)
        progress(0.3 + 0.4 * len(empty) / _EMPTY_SCENES, "searching scenes without the object")
    rare = rare_clutter_score(empty)
    # Here the search stops as early as a detector's would.
    painted = [painted_scene(search.finder, scenes(k), rng) for k in range(_PRESENT_SCENES)]
    for score in workers.map(lambda scene: _best_score(search, scene, rare), painted):
        present.append(score)
        progress(0.7 + 0.3 * len(present) / _PRESENT_SCENES, "searching scenes with the object")
    suspects = suspect_scenes(empty, present)
    if backgrounds:
        # Scenes use them in turn.
        suspects = sorted({index % len(backgrounds) for index in suspects})
    else:
        # A photograph of the package may be the one that the template was cut from: it is no clutter then,
        # and there is nobody to warn.
        empty, suspects = [score for index, score in enumerate(empty) if index not in suspects], []
    empty, present = sorted(empty), sorted(present)
    threshold = choose_threshold(empty, present)

    def is_found(degrees: float, scale: float) -> bool:
        """Whether it is found at rest in the middle of two backgrounds, by its body if it has one."""
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        where = matrices(template.parts, placed(degrees, scale, middle, template.centre), {})
        pictures = [render(scenes(k), template, where) for k in range(2)]
        return all(workers.map(lambda picture: _best_score(search, picture, 0.0) >= threshold, pictures))

    return Calibration(
        fingerprint=fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        tilt=ranges.tilt,
        polarity=ranges.polarity,
        chance=chance,
        tilt_cost=tilt_cost,
        size_power=size_power,
        threshold=threshold,
        clutter=empty,
        present=present,
        confused=similar_parts(template),
        limits=measure_reach(ranges, is_found),
        megapixels=math.prod(size) * factor**2 / 1e6,
        suspects=tuple(suspects),
    )


@contextmanager
def workers() -> Iterator[ThreadPoolExecutor]:
    """Threads that each search a scene, as many as torch would use: a single scene has little to share out.

    After an exception no further scene is begun.
    """
    workers = ThreadPoolExecutor(torch.get_num_threads())
    try:
        with one_thread():
            yield workers
    finally:
        workers.shutdown(cancel_futures=True)


def scene_size(template: Template, ranges: Range) -> tuple[int, tuple[int, int]]:
    """The factor by which the template is reduced, and width and height of scenes in which it has room."""
    # At its own size, or the nearest that is searched: a larger range of sizes does not ask for larger
    # scenes.
    size, factor = min(max(1.0, ranges.scale[0]), ranges.scale[1]), 1
    while max(template.size) * size / factor > _MAX_OBJECT_SIZE:
        factor *= 2
    width, height = (math.ceil(_ROOM * side * size / factor) for side in template.size)
    return factor, (max(width, SCENE_SIZE[0]), max(height, SCENE_SIZE[1]))


def _chances(
    finder: Finder, scenes: Backgrounds, rng: np.random.Generator, progress: Progress
) -> tuple[dict[str, float], float, float]:
    """The best ZNCC of each piece in clutter, by name, the median over scenes; the cost of a tilt; and the
    power of the size.

    The body is searched for everywhere, limbs from some 200 starts. Their joints are not enforced: that a
    piece was found where its joint allows is evidence in itself.
    """
    reached: dict[str, list[float]] = {piece.name: [] for piece in finder.pieces.limbs}
    of_body = list[_BodyChance]()
    searches = _BodySearches(finder)
    for k in range(_CHANCE_SCENES):
        progress(0.3 * k / _CHANCE_SCENES, "measuring chance matches in clutter")
        scene = ScenePyramid(scenes(k))
        if finder.body_search is not None:
            of_body.append(searches(scene))
        roots = np.stack(
            [_random_root(finder.template, finder.ranges, scenes.size, rng) for _ in range(_CHANCE_ROOTS)]
        )
        for piece in finder.pieces.limbs:
            reached[piece.name].append(_limb_chance(finder.models[piece.name], scene, roots))
    if of_body:
        reached[finder.pieces.tree.root] = [max(one.small, one.large) for one in of_body]
    # Clipped, so that no piece has all of the weight, or none.
    chance = {name: float(np.clip(np.median(zncc), 0.1, 0.9)) for name, zncc in reached.items()}
    return chance, searches.tilt_cost(of_body), searches.size_power(of_body)


@dataclass(frozen=True)
class _BodyChance:
    """The best ZNCC of the body in a scene: upright, in the smaller and the larger half of the sizes, and
    with all tilts."""

    small: float
    large: float
    tilted: float


class _BodySearches:
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

    def __call__(self, scene: ScenePyramid) -> _BodyChance:
        """What the body reaches in a scene."""
        reached = [_best_body(half, scene) for half in self._halves]
        tilted = _best_body(self._finder, scene) if self._finder.ranges.tilt > 0 else 0.0
        return _BodyChance(reached[0], reached[-1], tilted)

    def tilt_cost(self, reached: Sequence[_BodyChance]) -> float:
        """The information that clutter gains by tilts, at least 0."""
        if not reached or not self._finder.ranges.tilt:
            return 0.0
        upright = information(np.array([max(one.small, one.large) for one in reached]))
        return max(0.0, float(np.median(information(np.array([one.tilted for one in reached])) - upright)))

    def size_power(self, reached: Sequence[_BodyChance]) -> float:
        """The power of the size by which the information that clutter reaches falls, from 0 to 1."""
        if not reached or len(self._halves) == 1:
            return 0.0
        # Scene by scene, since scenes differ far more than sizes do.
        small, large = (
            information(np.array(half)) for half in zip(*((c.small, c.large) for c in reached), strict=True)
        )
        known = (small > 0) & (large > 0)
        powers = np.log(small[known] / large[known]) / math.log(self._ratio)
        total = powers.sum() + _USUAL_SIZE_POWER * _CHANCE_SCENES
        return float(np.clip(total / (len(powers) + _CHANCE_SCENES), 0.0, 1.0))


def _best_body(finder: Finder, scene: ScenePyramid) -> float:
    """The best ZNCC of the body in a scene, less where it lies partly outside, as in a score."""
    assert finder.body_search is not None, "a template with a body"
    found, footprint = finder.body_search(scene)[-1], finder.models[finder.pieces.tree.root].footprint
    inside = footprint.visible(found.poses, scene.size)
    return float(equivalent_zncc(information(found.zncc) * inside).max(initial=0.0))


def _limb_chance(model: PieceModel, scene: ScenePyramid, roots: Poses) -> float:
    """The best ZNCC of a limb about random roots."""
    starts = (roots[:, None] @ model.starts @ model.to_canvas).reshape(-1, 3, 3)
    starts = starts[:: max(1, len(starts) // _MAX_CHANCE_STARTS)]
    near = fit_planes(scene, model.stages[0], EUCLIDEAN, PlaneStage(1, 0), starts)
    near = best_of_each(near, 1, _CHANCE_KEPT)
    for motif in model.stages:
        near = fit_planes(scene, motif, EUCLIDEAN, PlaneStage(), near.poses)
    return float(near.zncc.max(initial=0.0))


@torch.no_grad()  # the setting belongs to a thread, and this runs in workers
def _best_score(search: SceneSearch, picture: Float[Tensor, "3 H W"], stop_score: float) -> float:
    """The highest score in a scene, 0 where there is no hypothesis."""
    scene = search.levels(picture)
    found = search.polished(scene, search.finder(scene, Effort(stop_score)), 0.0, _MAX_POLISHED)
    best = exclusive(search.finder, found, 0.0, 1)
    return float(best.scores[0]) if len(best.scores) else 0.0


def _random_root(
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


def painted_scene(
    finder: Finder, background: Float[Tensor, "3 H W"], rng: np.random.Generator
) -> Float[Tensor, "3 H W"]:
    """A background with the template in a random pose, with up to a third of its limbs missing, as a
    photograph."""
    template, tree, limbs = finder.template, finder.pieces.tree, finder.pieces.limbs
    turns = {name: rng.uniform(-part.turn, part.turn) for name, part in tree.items() if part.moves}
    missing = rng.choice(len(limbs), rng.integers(len(limbs) // 3 + 1), replace=False) if limbs else ()
    hidden = {leaf.name for k in missing for leaf in limbs[k].leaves}
    height, width = background.shape[-2:]
    where = matrices(tree, _random_root(template, finder.ranges, (width, height), rng), turns)
    return photographed(render(background, template, where, hidden), rng)
