"""Calibration of many templates together: the same scenes for all of them, and one look for all in each.

A calibration of one template takes half a minute, most of it for searches of scenes without the object. The
scenes do not depend on the template. So with many templates each scene is looked at once (`SharedSearch`),
and of each template the best places are followed. That is also how a library is searched; with it clutter
reaches less than in the thorough search for one template, so these calibrations are kept apart from those.

How much effort a template needs in the look for all is measured first. Most are found at a quarter of the
usual resolution, by few features. What is thin or plain, or has its texture in few pixels, is not: what tells
it from clutter is lost there.
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
from wherein.motion.homography import mapped
from wherein.planes.plane_fit import PlaneFits
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template

_CHANCE_SCENES, _EMPTY_SCENES, _PRESENT_SCENES = 8, 20, 8
"""Number of scenes in which the bodies alone are searched for, of scenes without the templates, and of scenes
with each. Choices: scenes without are shared, and as many as for one template; those with it are not."""

_LOOK_SCENES = 8
"""In how many scenes with the template the effort is measured. A choice: a template that is missed in a third
of all scenes passes in one of five."""

_MAX_MISSED, _AS_WELL, _NEAR = 1, 0.9, 0.1
"""In so many of the scenes the body may be missed; and it counts as found if one of the poses that go on has
this share of the ZNCC that the true pose has after the same steps, and its middle within this share of the
object's diagonal. Choices: one scene may be too hard; what fits poorly where it is, fits as well elsewhere;
and round things have many poses."""

_FOLLOWED, _POLISHED = 4, 2
"""How many poses of each template are followed in a scene, and refined at full size. Choices: the best score
counts. Of fewer poses it would differ more from scene to scene, and a threshold is extrapolated from that."""

_BEYOND = 2.0
"""How many times the information of rare clutter a scene must have that is left out since it may show the
template (`suspect_scenes`). A choice, by 200 cut-outs and patches: of photographs that patches were cut from
it was 2.9 and 7 times that, and of clutter that resembles a thin thing, which has to count, 1.2."""

TOGETHER = CalibrationStore(Calibration, VERSION, "library.json")


@dataclass(frozen=True)
class _Chance:
    """What a body reaches by chance: its ZNCC without tilt, and the cost of a tilt."""

    zncc: float
    tilt_cost: float


def suits(template: Template, ranges: Range) -> bool:
    """Whether a template can be calibrated with others: one that does not move, in scenes of the usual
    size."""
    pieces = Pieces.of(template)
    return pieces.body is not None and not pieces.limbs and scene_size(template, ranges) == (1, SCENE_SIZE)


def calibrations_together(
    templates: Sequence[Template], ranges: Range, progress: Progress = no_progress
) -> dict[str, Calibration]:
    """The stored calibrations of templates by their names, and new ones, which are then stored one by one.

    Templates that do not suit (`suits`) and have none are left out.

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
    """New calibrations of templates that suit; the same for the same arguments, and of each template the same
    whatever the others are, nearly: which places are followed depends on all of them.

    Arguments as of `measure.calibrate`.
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
    """The power of the size by which the information that clutter reaches falls; not measured here."""
    return 0.0 if ranges.fixed_scale else USUAL_SIZE_POWER


def _efforts(
    templates: Sequence[Template],
    ranges: Range,
    scenes: Backgrounds,
    seed: int,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[int]:
    """The number of the effort that each template needs in the look for all."""

    @torch.no_grad()
    def needed(template: Template) -> int:
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
    """The number in `EFFORTS` of the least effort with which the body is found, or else of the best.

    Arguments:
        finder: of the template.
        painted: scenes with it, and the frame of the root in each.
    """
    body = finder.body_search
    if body is None:
        return 0
    # The highest threshold there is: hardly more places go on than the effort says.
    search = SceneSearch(finder, MAX_ZNCC, MAX_ZNCC, MAX_ZNCC, threads=1)
    model = finder.models[finder.pieces.tree.root]
    scenes = [search.levels(picture) for picture, _ in painted]
    roots = [root for _, root in painted]
    least = [
        _AS_WELL * float(body.refined(levels, (root @ model.to_canvas)[None]).zncc[0])
        for levels, root in zip(scenes, roots, strict=True)
    ]
    missed = []
    for number, effort in enumerate(EFFORTS):
        shared = SharedSearch([search], [effort])
        found = [shared.refined(levels)[0] for levels in scenes]
        missed.append(
            sum(
                not (_near(finder, one.poses @ model.from_canvas, root) & (one.zncc >= fits)).any()
                for one, root, fits in zip(found, roots, least, strict=True)
            )
        )
        if missed[-1] <= _MAX_MISSED:
            return number
    return int(np.argmin(missed))


def _near(finder: Finder, frames: Poses, truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which root frames have the middle of the object where it is."""
    ends = np.concatenate((finder.corners[[0, 2]], [finder.middle]))
    at, there = mapped(frames, ends[2:])[:, 0], mapped(truth, ends)
    far = _NEAR * float(np.linalg.norm(there[0] - there[1]))
    return np.asarray(np.linalg.norm(at - there[2], axis=1) <= far)


def _chances(
    templates: Sequence[Template],
    ranges: Range,
    efforts: Sequence[int],
    scenes: Backgrounds,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> list[_Chance]:
    """The best ZNCC of each body in clutter, the median over scenes, and what a tilt gains."""
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
    gained = np.median(information(table[..., 1]) - information(table[..., 0]), 0)
    chance = np.clip(np.median(table[..., 0], 0), 0.1, 0.9)
    return [_Chance(float(q), max(0.0, float(cost))) for q, cost in zip(chance, gained, strict=True)]


def _best_fit(search: SceneSearch, levels: ScenePyramid, starts: Poses) -> float:
    """The best ZNCC of the body from some starts."""
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
    """The highest score of each template in each scene without them, scene by scene."""
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
    """The scores of each template in scenes with it."""

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
    """The highest score in a scene, 0 where there is no hypothesis."""
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
    # A photograph of the package may be the one that the template was cut from. What was made cannot show it,
    # but to count it as clutter brought one more miss in 251 and three more false alarms in 100 scenes.
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
