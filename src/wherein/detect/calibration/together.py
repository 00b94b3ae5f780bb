"""Calibrates many templates together: all of them in the same scenes, with one look for all in each.

The calibration of one template takes half a minute, mostly for searches of scenes without the object. These
scenes do not depend on the template. So with many templates, one look at each scene serves all of them
(`SharedSearch`), and then the best places of each template are followed, as in the search of a library. It is
less thorough than that for one template, and clutter scores lower, so these calibrations are stored apart.

The effort that each template needs in the shared look is measured first (`look_effort`).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.chances import USUAL_SIZE_POWER
from wherein.detect.calibration.false_alarms import choose_threshold, suspect_scenes
from wherein.detect.calibration.look_effort import is_near, least_sufficient
from wherein.detect.calibration.lookalikes import similar_parts
from wherein.detect.calibration.measure import SCENE_SIZE, painted_object, painted_scene, scene_size, workers
from wherein.detect.calibration.model import STORE, VERSION, Calibration
from wherein.detect.calibration.reach import Reach
from wherein.detect.calibration.store import CalibrationStore, Progress, no_progress
from wherein.detect.fast.exclusion import exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.pieces import Pieces
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.fast.shared_search import EFFORTS, SharedSearch
from wherein.detect.score import MAX_ZNCC, evidence_weight, information
from wherein.detect.search_range import Effort, Range
from wherein.planes.plane_fit import PlaneFits
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template

_CHANCE_SCENES, _EMPTY_SCENES, _PRESENT_SCENES = 8, 20, 8
"""Number of scenes for chance matches of the bodies, of scenes without the objects, and of scenes with each.
Choices: scenes without objects are shared, so as many as for one template; the others are not, so fewer."""

_LOOK_SCENES = 8
"""Number of scenes with the object in which the effort is measured. A choice: with 8, an effort that misses
the object in a third of all scenes is accepted with a probability of one in five."""

_AS_WELL = 0.9
"""The body is found if a surviving pose has at least this share of the ZNCC of the true pose after the same
steps. A choice: a true place that fits poorly is no better than others that do."""

_FOLLOWED, _POLISHED = 4, 2
"""Number of poses of each template that are followed in a scene, and that are refined at full size. Choices:
only the best score counts. With fewer poses it would vary more from scene to scene, and the threshold is
extrapolated from this variation."""

_BEYOND = 2.0
"""A scene with this many times the information of rare clutter is left out, since it may show the object
(`suspect_scenes`). A choice, by measurement with 200 cut-outs and patches: photographs that patches were cut
from had 2.9 and 7 times that information. Clutter that resembles a thin object, and must count as clutter,
had 1.2 times."""

TOGETHER = CalibrationStore(Calibration, VERSION, "library.json")


@dataclass(frozen=True)
class _Chance:
    """What a body reaches in clutter: its ZNCC without tilt, and the information that a tilt gains."""

    zncc: float
    tilt_cost: float


def suits(template: Template, ranges: Range) -> bool:
    """Whether a template can be calibrated with others: it has no limbs, and fits in scenes of usual size."""
    pieces = Pieces.of(template)
    return pieces.body is not None and not pieces.limbs and scene_size(template, ranges) == (1, SCENE_SIZE)


def calibrations_together(
    templates: Sequence[Template], ranges: Range, progress: Progress = no_progress
) -> dict[str, Calibration]:
    """The calibrations of templates by name: the stored ones, and new ones, which are then stored.

    A template without a stored calibration that cannot be calibrated together (`suits`) is left out.

    Arguments:
        templates: with different names.
        ranges: the poses that are searched.
        progress: is called during a new calibration.
    """
    found: dict[str, Calibration] = {}
    for template in templates:
        stored = STORE.load(template, ranges) or TOGETHER.load(template, ranges)
        if stored is not None:
            found[template.name] = stored[0]
    missing = [one for one in templates if one.name not in found and suits(one, ranges)]
    for template, made in zip(missing, calibrate_together(missing, ranges, progress=progress), strict=True):
        TOGETHER.save(template, made)
        found[template.name] = made
    return found


def calibrate_together(
    templates: Sequence[Template], ranges: Range, seed: int = 0, progress: Progress = no_progress
) -> list[Calibration]:
    """New calibrations of templates for which `suits` is true; the same for the same arguments.

    The other templates matter little: they affect which places are followed. Arguments as of `calibrate`.
    """
    if not templates:
        return []
    scenes = Backgrounds((), seed, SCENE_SIZE, ranges.upright)
    with workers() as pool:
        efforts = _efforts(templates, ranges, scenes, seed, pool, progress)
        chances = _chances(templates, ranges, efforts, scenes, pool, progress)
        searches = [
            _search(template, ranges, known) for template, known in zip(templates, chances, strict=True)
        ]
        empty = _empty_scores(searches, efforts, scenes, pool, progress)
        present = _present_scores(searches, efforts, scenes, seed, pool, progress)
    return [
        _calibration(*each, ranges)
        for each in zip(templates, efforts, chances, np.array(empty).T.tolist(), present, strict=True)
    ]


def _search(template: Template, ranges: Range, known: _Chance) -> SceneSearch:
    root = Pieces.of(template).tree.root
    weights = {root: evidence_weight(known.zncc)}
    finder = Finder(template, ranges, weights, known.tilt_cost, size_power=_size_power(ranges))
    return SceneSearch(finder, threshold=0.5, calibrated_threshold=0.5, usual_clutter=0.5, threads=1)


def _size_power(ranges: Range) -> float:
    """The `size_power` of the calibrations; not measured here, since one prior serves all templates."""
    return 0.0 if ranges.fixed_scale else USUAL_SIZE_POWER


def _efforts(
    templates: Sequence[Template],
    ranges: Range,
    scenes: Backgrounds,
    seed: int,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[int]:
    """The index in `EFFORTS` of the effort that each template needs in the shared look."""

    @torch.no_grad()  # here and below: the setting belongs to a thread
    def needed(template: Template) -> int:
        # A generator for each template: its scenes depend neither on threads nor on other templates.
        finder, rng = Finder(template, ranges, {}), np.random.default_rng((seed, 3))
        return needed_effort(finder, [painted_object(finder, scenes(k), rng) for k in range(_LOOK_SCENES)])

    made = []
    for one in pool.map(needed, templates):
        made.append(one)
        progress(0.3 * len(made) / len(templates), "how thoroughly to look")
    return made


def needed_effort(
    finder: Finder, painted: Sequence[tuple[Float[Tensor, "3 H W"], NDArray[np.float64]]]
) -> int:
    """The index in `EFFORTS` of the least effort that suffices (`least_sufficient`), or else of the best.

    Arguments:
        finder: of the template.
        painted: scenes with the object, and the true frame of the root in each.
    """
    body = finder.body_search
    if body is None:
        return 0
    # All places near the threshold survive any effort. With the highest threshold there are almost none.
    search = SceneSearch(finder, MAX_ZNCC, MAX_ZNCC, MAX_ZNCC, threads=1)
    model = finder.models[finder.pieces.tree.root]
    scenes = [search.levels(picture) for picture, _ in painted]
    roots = [root for _, root in painted]
    # Relative to the true pose, since light, blur and noise limit the ZNCC in each scene.
    least = [
        _AS_WELL * float(body.refined(levels, (root @ model.to_canvas)[None]).zncc[0])
        for levels, root in zip(scenes, roots, strict=True)
    ]

    def missed(number: int) -> int:
        shared = SharedSearch([search], [EFFORTS[number]])
        found = [shared.refined(levels)[0] for levels in scenes]
        return sum(
            not (is_near(finder, one.poses @ model.from_canvas, root) & (one.zncc >= fits)).any()
            for one, root, fits in zip(found, roots, least, strict=True)
        )

    return least_sufficient(missed)


def _chances(
    templates: Sequence[Template],
    ranges: Range,
    efforts: Sequence[int],
    scenes: Backgrounds,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[_Chance]:
    """The chance of each body: the highest ZNCC in a scene and the gain by tilt, medians over scenes."""
    tilted = _shared([_search(one, ranges, _Chance(0.5, 0.0)) for one in templates], efforts)
    flat = replace(ranges, tilt=0.0)
    upright = [_search(one, flat, _Chance(0.5, 0.0)) for one in templates]

    @torch.no_grad()
    def reached(index: int) -> list[tuple[float, float]]:
        levels = tilted.searches[0].levels(scenes(index))
        starts = tilted.starts(levels, _FOLLOWED)
        found = []
        for number, poses in enumerate(starts):
            without = _best_fit(upright[number], levels, poses)
            tilt = _best_fit(tilted.searches[number], levels, poses) if ranges.tilt > 0 else without
            found.append((without, tilt))
        return found

    values = []
    for one in pool.map(reached, range(_CHANCE_SCENES)):
        values.append(one)
        progress(0.3 + 0.1 * len(values) / _CHANCE_SCENES, "chance matches in clutter")
    table = np.array(values)
    # (scene, template, without or with tilt). Differences within a scene, because scenes differ far more.
    gained = np.median(information(table[..., 1]) - information(table[..., 0]), 0)
    chance = np.clip(np.median(table[..., 0], 0), 0.1, 0.9)
    return [_Chance(float(q), max(0.0, float(cost))) for q, cost in zip(chance, gained, strict=True)]


def _best_fit(search: SceneSearch, levels: ScenePyramid, starts: Poses) -> float:
    """The highest ZNCC of the body after fits from the given starts; 0 if no fit survives."""
    body = search.finder.body_search
    assert body is not None, "a template with a body"
    return float(body.followed(levels, _best(body.refined(levels, starts)))[-1].zncc.max(initial=0.0))


def _best(refined: PlaneFits) -> PlaneFits:
    return refined[np.argsort(-refined.zncc, kind="stable")[:_FOLLOWED]]


def _empty_scores(
    searches: Sequence[SceneSearch],
    efforts: Sequence[int],
    scenes: Backgrounds,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[list[float]]:
    """The highest score of each template in scenes without the objects: a list of them for each scene."""
    shared = _shared(searches, efforts)

    @torch.no_grad()
    def scores(index: int) -> list[float]:
        levels = searches[0].levels(scenes(index))
        refined = shared.refined(levels, _FOLLOWED)
        return [_best_score(one, levels, found) for one, found in zip(searches, refined, strict=True)]

    made = []
    for one in pool.map(scores, range(_EMPTY_SCENES)):
        made.append(one)
        progress(0.4 + 0.3 * len(made) / _EMPTY_SCENES, "scenes without the objects")
    return made


def _present_scores(
    searches: Sequence[SceneSearch],
    efforts: Sequence[int],
    scenes: Backgrounds,
    seed: int,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[list[float]]:
    """The highest scores in scenes with the object: a list of them for each template."""

    @torch.no_grad()
    def scores(number: int) -> list[float]:
        search, rng = searches[number], np.random.default_rng((seed, 2))
        alone = _shared([search], efforts[number : number + 1])

        def score(picture: Float[Tensor, "3 H W"]) -> float:
            levels = search.levels(picture)
            return _best_score(search, levels, alone.refined(levels)[0])

        return [score(painted_scene(search.finder, scenes(k), rng)) for k in range(_PRESENT_SCENES)]

    made = []
    for one in pool.map(scores, range(len(searches))):
        made.append(one)
        progress(0.7 + 0.3 * len(made) / len(searches), "scenes with the objects")
    return made


def _shared(searches: Sequence[SceneSearch], efforts: Sequence[int]) -> SharedSearch:
    return SharedSearch(searches, [EFFORTS[number] for number in efforts])


def _best_score(search: SceneSearch, levels: ScenePyramid, refined: PlaneFits) -> float:
    """The highest score in a scene, followed from refined poses of the body; 0 if there is no hypothesis."""
    found = search.finder.from_body(levels, Effort(1.0), _best(refined))
    best = exclusive(search.finder, search.polished(levels, found, 0.0, _POLISHED), 0.0, 1)
    return float(best.scores[0]) if len(best.scores) else 0.0


def _calibration(
    template: Template,
    effort: int,
    chance: _Chance,
    empty: list[float],
    present: list[float],
    ranges: Range,
) -> Calibration:
    # The template may have been cut from a photograph of the package. Synthetic suspects cannot show it, but
    # to count them as clutter brought one more miss in 251 and three more false alarms in 100 scenes.
    suspects = suspect_scenes(empty, present, _BEYOND)
    clutter = sorted(score for index, score in enumerate(empty) if index not in suspects)
    present = sorted(present)
    return Calibration(
        fingerprint=template.fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        tilt=ranges.tilt,
        polarity=ranges.polarity,
        chance={Pieces.of(template).tree.root: chance.zncc},
        tilt_cost=chance.tilt_cost,
        size_power=_size_power(ranges),
        look_effort=effort,
        threshold=choose_threshold(clutter, present),
        clutter=clutter,
        present=present,
        confused=similar_parts(template),
        limits=Reach(rotation=ranges.rotation, scale=ranges.scale),  # not measured beyond the range
        megapixels=SCENE_SIZE[0] * SCENE_SIZE[1] / 1e6,
    )
