"""Automatic calibration: measures weights and a threshold from a template and backgrounds.

1. The template is searched for in scenes without the object. The threshold is a score that clutter reaches in
   one of a hundred to ten thousand scenes.
2. The object is painted into the same backgrounds, in random poses, under the conditions of photographs and
   with some limbs missing. The scores of these scenes show how reliably it is found, and decide which of the
   false-alarm rates the threshold has.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.chances import measure_chances, random_root
from wherein.detect.calibration.conditions import photographed
from wherein.detect.calibration.false_alarms import choose_threshold, rare_clutter_score, suspect_scenes
from wherein.detect.calibration.lookalikes import similar_parts
from wherein.detect.calibration.model import STORE, Calibration
from wherein.detect.calibration.pages import is_drawn
from wherein.detect.calibration.reach import measure_reach
from wherein.detect.calibration.store import Progress, no_progress
from wherein.detect.fast.exclusion import exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.score import evidence_weight
from wherein.detect.search_range import Effort, Range
from wherein.images.pool import pool
from wherein.planes.look.crowd_floor import CrowdFloor
from wherein.pyramid.levels import ScenePyramid
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.reduced import reduced_template
from wherein.template.render import render
from wherein.threads import allowed_threads, one_thread

SCENE_SIZE = (512, 384)
"""Width and height of the test scenes, unless the template needs larger ones. A choice: the size of a small
photograph; larger scenes take longer."""

_MAX_OBJECT_SIZE, _ROOM = 400.0, 1.3
"""The largest side of an object in a test scene, in pixels: a larger template is reduced by a power of 2. And
the least ratio of a scene's side to the object's. Choices: in smaller scenes, most of a rotated object would
lie outside."""

_CHANCE_SCENES, _EMPTY_SCENES, _PRESENT_SCENES = 8, 20, 24
"""Number of scenes in which pieces are searched for one by one, of scenes without the object, and of scenes
with it. Choices: more would make calibration longer than the half minute that it takes."""

_MAX_POLISHED = 4
"""Maximum number of hypotheses of a scene that are refined at full size. A choice: only the best score
counts, and its hypothesis is nearly always among the best four before refinement."""

MAX_BACKGROUNDS = max(_CHANCE_SCENES, _EMPTY_SCENES, _PRESENT_SCENES)
"""Maximum number of backgrounds that are used."""


def calibrate(
    template: Template,
    ranges: Range,
    backgrounds: Sequence[Float[Tensor, "3 H W"]] = (),
    seed: int = 0,
    progress: Progress = no_progress,
) -> Calibration:
    """A new calibration; the same for the same arguments.

    Arguments:
        template: of the object.
        ranges: the poses that will be searched.
        backgrounds: pictures like those that will be searched, but without the object; if there are none, the
            photographs of the package and synthetic clutter.
        seed: of poses, light and clutter.
        progress: is called with the fraction that is done, and what is being done.
    """
    with workers() as executor:
        return _measured(template, ranges, backgrounds, seed, progress, executor)


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
    executor: ThreadPoolExecutor,
) -> Calibration:
    """All measurements, one after the other.

    Arguments as of `calibrate`, and `executor`, whose threads search the scenes.
    """
    # The fingerprint is that of the template as given: below, the template may be reduced.
    fingerprint, (factor, size) = template.fingerprint, scene_size(template, ranges)
    with_pages = ranges.upright or is_drawn(template)
    if factor > 1:
        # Scenes with room for a large template would take too long to search, and the template scores about
        # the same at half its size.
        template, backgrounds = reduced_template(template, factor), [pool(one, factor) for one in backgrounds]
    scenes = Backgrounds(backgrounds, seed, size, with_pages)
    rng = np.random.default_rng((seed, 1))
    known = measure_chances(
        Finder(template, ranges, {}),
        scenes,
        _CHANCE_SCENES,
        rng,
        lambda share, what: progress(0.3 * share, what),
    )
    weights = {name: evidence_weight(q) for name, q in known.zncc.items()}
    # The minimum evidence of a pair of limbs is 0 here, so that every pair is followed, however weak: the
    # highest score of clutter is measured, whichever search finds it.
    crowd_from = CrowdFloor(known.crowd_from)
    finder = Finder(template, ranges, weights, known.tilt_cost, 0.0, known.size_power, crowd_from)
    pair_from = _clutter_pair(finder, scenes)
    search = SceneSearch(finder, threshold=0.5, calibrated_threshold=0.5, usual_clutter=0.5, threads=1)
    progress(0.3, "scenes without the object")
    empty, present = [], []
    # No score reaches 0.99, since `MAX_ZNCC` is 0.98. So no slower way of finding hypotheses is skipped: all
    # of them count for the highest score of clutter.
    for score in executor.map(lambda k: _best_score(search, scenes(k), 0.99), range(_EMPTY_SCENES)):
        empty.append(score)
        progress(0.3 + 0.4 * len(empty) / _EMPTY_SCENES, "scenes without the object")
    rare = rare_clutter_score(empty)
    # All scenes are painted here, in one thread: they draw from one random generator, so their order must not
    # depend on threads. The search stops as early as a detector with this threshold would.
    painted = [painted_scene(search.finder, scenes(k), rng) for k in range(_PRESENT_SCENES)]
    for score in executor.map(lambda scene: _best_score(search, scene, rare), painted):
        present.append(score)
        progress(0.7 + 0.3 * len(present) / _PRESENT_SCENES, "scenes with the object")
    suspects = [index for index in suspect_scenes(empty, present) if scenes.may_show_object(index)]
    if backgrounds:
        # Scenes use the backgrounds in turn. Their scores stay: the user is warned, and decides.
        suspects = sorted({index % len(backgrounds) for index in suspects})
    else:
        # The template may have been cut from a photograph of the package, which is then not clutter. Its
        # score is dropped without a warning, because the user cannot remove it.
        empty, suspects = [score for index, score in enumerate(empty) if index not in suspects], []
    empty, present = sorted(empty), sorted(present)
    threshold = choose_threshold(empty, present)

    def is_found(degrees: float, scale: float) -> bool:
        """Whether the object is found in two scenes, in the middle and with its joints at rest."""
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        where = matrices(template.parts, placed(degrees, scale, middle, template.centre), {})
        pictures = [render(scenes(k), template, where) for k in range(2)]
        # With a stop score of 0, any hypothesis from the body ends the search, which is faster.
        return all(executor.map(lambda picture: _best_score(search, picture, 0.0) >= threshold, pictures))

    return Calibration(
        fingerprint=fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        tilt=ranges.tilt,
        polarity=ranges.polarity,
        chance=known.zncc,
        tilt_cost=known.tilt_cost,
        size_power=known.size_power,
        crowd_from=known.crowd_from,
        pair_from=pair_from,
        threshold=threshold,
        clutter=empty,
        present=present,
        confused=similar_parts(template),
        limits=measure_reach(ranges, is_found),
        megapixels=math.prod(size) * factor**2 / 1e6,
        suspects=tuple(suspects),
    )


def _clutter_pair(finder: Finder, scenes: Backgrounds) -> float:
    """The highest weighted evidence of two limbs whose joints agree, in a few scenes without the object.

    0 if the template has no body, or cannot be told from clutter by its limbs alone: then it is not needed.
    """
    if finder.body_search is None or not finder.limb_search.suffices:
        return 0.0
    return max(finder.limb_search.best_pair(ScenePyramid(scenes(k))) for k in range(_CHANCE_SCENES))


@contextmanager
def workers() -> Iterator[ThreadPoolExecutor]:
    """Threads that each search one scene, as many as torch would use.

    After an exception no further scene is started.
    """
    # One thread for each scene, and not all threads for one scene, which has little work to divide.
    executor = ThreadPoolExecutor(allowed_threads())
    try:
        with one_thread():
            yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def scene_size(template: Template, ranges: Range) -> tuple[int, tuple[int, int]]:
    """The factor by which the template is reduced, and width and height of scenes with room for it."""
    # Room for the object at scale 1, or at the nearest scale of the range. Larger scales do not need larger
    # scenes: `random_root` limits the scale to what the scene has room for.
    size, factor = min(max(1.0, ranges.scale[0]), ranges.scale[1]), 1
    while max(template.size) * size / factor > _MAX_OBJECT_SIZE:
        factor *= 2
    width, height = (math.ceil(_ROOM * side * size / factor) for side in template.size)
    return factor, (max(width, SCENE_SIZE[0]), max(height, SCENE_SIZE[1]))


@torch.no_grad()  # here, because the setting belongs to a thread, and this runs in the executor's threads
def _best_score(search: SceneSearch, picture: Float[Tensor, "3 H W"], stop_score: float) -> float:
    """The highest score in a scene; 0 if there is no hypothesis.

    Arguments:
        search: of the template.
        picture: the scene.
        stop_score: see `Effort`.
    """
    scene = search.levels(picture)
    found = search.polished(scene, search.finder(scene, Effort(stop_score)), 0.0, _MAX_POLISHED)
    best = exclusive(search.finder, found, 0.0, 1)
    return float(best.scores[0]) if len(best.scores) else 0.0


def painted_scene(
    finder: Finder, background: Float[Tensor, "3 H W"], rng: np.random.Generator
) -> Float[Tensor, "3 H W"]:
    """A background with the object in a random pose and up to a third of its limbs missing, under the
    conditions of a photograph."""
    return painted_object(finder, background, rng)[0]


def painted_object(
    finder: Finder, background: Float[Tensor, "3 H W"], rng: np.random.Generator
) -> tuple[Float[Tensor, "3 H W"], NDArray[np.float64]]:
    """A scene as of `painted_scene`, and the true frame of the root in it, (3, 3)."""
    template, tree, limbs = finder.template, finder.pieces.tree, finder.pieces.limbs
    turns = {name: rng.uniform(-part.turn, part.turn) for name, part in tree.items() if part.moves}
    missing = rng.choice(len(limbs), rng.integers(len(limbs) // 3 + 1), replace=False) if limbs else ()
    hidden = {leaf.name for k in missing for leaf in limbs[k].leaves}
    height, width = background.shape[-2:]
    root = random_root(template, finder.ranges, (width, height), rng)
    where = matrices(tree, root, turns)
    return photographed(render(background, template, where, hidden), rng), root
