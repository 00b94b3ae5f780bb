"""Calibration without a person: from the template and backgrounds to steps, weights and a threshold.

What clutter reaches by chance is measured by looking for the template where it is not; what an object
reaches, by painting it into the same backgrounds in other poses, light, noise and blur, and with pieces
hidden. The basin of attraction is measured for each motif, and sets how densely poses are sampled.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.basins import Basin, basin_of
from wherein.detect.calibration.lookalikes import alike
from wherein.detect.calibration.model import STORE, Calibration, decision, rare_score, standing_out
from wherein.detect.calibration.reach import limits
from wherein.detect.calibration.store import Progress, quiet
from wherein.detect.fast.evidence import piece_evidence
from wherein.detect.fast.exclusion import exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.octaves import Octaves, reduced
from wherein.detect.fast.piece_search import EUCLIDEAN, PieceModel
from wherein.detect.range import Effort, Range, Sampling
from wherein.detect.score import equivalent_zncc, evidence_weight
from wherein.images.gaussian import blur
from wherein.images.pool import pool
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import ScenePyramid
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.threads import one_thread

SIZE = (512, 384)
"""Of the scenes, unless the template needs larger ones."""

_LARGEST, _ROOM = 450.0, 1.3
"""Pixels across the template at its highest scale, above which it is calibrated at half its size, or a
quarter; and times its size that scenes have at least."""

_CHANCES, _EMPTY, _PRESENT = 8, 20, 24
"""Scenes in which pieces are looked for one by one; scenes without the template, and with it."""

_RIVALS = 4
"""Hypotheses about one scene of which the best may turn out to be the best at full size."""

MOST = max(_CHANCES, _EMPTY, _PRESENT)
"""Backgrounds that are looked at; more are left aside."""


def calibrate(
    template: Template,
    ranges: Range,
    backgrounds: Sequence[Float[Tensor, "3 H W"]] = (),
    seed: int = 0,
    progress: Progress = quiet,
) -> Calibration:
    """Measure everything; the same for the same seed.

    Arguments:
        template: what is to be found.
        ranges: the poses in which it is to be found.
        backgrounds: pictures like those that it will be looked for in, without it; clutter made by rule where
            there are none.
        seed: of poses, light and clutter.
        progress: is told how far it is.
    """
    with _workers() as workers:
        return _measured(template, ranges, backgrounds, seed, progress, workers)


def calibration_for(template: Template, ranges: Range, progress: Progress = quiet) -> Calibration:
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
    fingerprint, (factor, size) = template.fingerprint, _stage(template, ranges)
    if factor > 1:  # scenes that are large enough for it would take too long; half of it tells as much
        template, backgrounds = reduced(template, factor), [pool(one, factor) for one in backgrounds]
    scenes = Backgrounds(backgrounds, seed, size)
    rng = np.random.default_rng((seed, 1))
    progress(0.0, "measuring basins of attraction")
    finder = Finder(template, ranges, {})
    basins = {
        piece.name: basin_of(finder.models[piece.name], scenes(0), rng) for piece in finder.pieces.pieces
    }
    steps = {name: sampling_of(basin, ranges.fixed_scale) for name, basin in basins.items()}
    chance = _chances(Finder(template, ranges, dict.fromkeys(basins, 1.0), steps), scenes, rng, progress)
    weights = {name: evidence_weight(q) for name, q in chance.items()}
    # Here every pair is followed, however little it tells: it is clutter that is to be known.
    octaves = Octaves(template, ranges, weights, steps, reason=0.0)
    progress(0.3, "looking where it is not")
    empty, present = [], []
    for best in workers.map(lambda k: _best(octaves, scenes(k), 0.99), range(_EMPTY)):
        empty.append(best)
        progress(0.3 + 0.4 * len(empty) / _EMPTY, "looking where it is not")
    rare = rare_score(empty)
    spoiled = [_spoiled(octaves.whole, scenes(k), rng) for k in range(_PRESENT)]
    for best in workers.map(lambda scene: _best(octaves, scene, rare), spoiled):
        present.append(best)
        progress(0.7 + 0.3 * len(present) / _PRESENT, "looking where it is")
    suspects = {index % len(backgrounds) for index in standing_out(empty, present)} if backgrounds else ()
    empty, present = sorted(empty), sorted(present)
    threshold = decision(empty, present)

    def found(degrees: float, scale: float) -> bool:
        """At rest in the middle of two backgrounds."""
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        where = matrices(template.parts, placed(degrees, scale, middle, template.centre), {})
        painted = [render(scenes(k), template, where) for k in range(2)]
        return all(workers.map(lambda picture: _best(octaves, picture, threshold) >= threshold, painted))

    return Calibration(
        fingerprint=fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        basins=basins,
        chance=chance,
        threshold=threshold,
        clutter=empty,
        present=present,
        confused=alike(template),
        limits=limits(ranges, found),
        megapixels=math.prod(size) * factor**2 / 1e6,
        suspects=tuple(sorted(suspects)),
    )


@contextmanager
def _workers() -> Iterator[ThreadPoolExecutor]:
    """For scenes side by side, as many as torch would have threads: within one scene there is little to share
    out. Where something goes wrong, nothing more is begun."""
    workers = ThreadPoolExecutor(torch.get_num_threads())
    try:
        with one_thread():
            yield workers
    finally:
        workers.shutdown(cancel_futures=True)


def _stage(template: Template, ranges: Range) -> tuple[int, tuple[int, int]]:
    """By how much the template is reduced, and width and height of scenes in which it has room."""
    high, factor = ranges.scale[1], 1
    while max(template.size) * high / factor > _LARGEST:
        factor *= 2
    width, height = (math.ceil(_ROOM * side * high / factor) for side in template.size)
    return factor, (max(width, SIZE[0]), max(height, SIZE[1]))


def sampling_of(basin: Basin, fixed: bool) -> Sampling:
    """PoseGrid so close that between two of them every pose is well inside a basin: half-way between two turns;
    where there are scales too, half-way between both at once, which is further away."""
    reach = 1.5 if fixed else 1.2
    return Sampling(min(reach * basin.turn, 15.0), min(basin.ratio**reach, 1.2))


def _chances(
    finder: Finder, scenes: Backgrounds, rng: np.random.Generator, progress: Progress
) -> dict[str, float]:
    """The best ZNCC in clutter, the median over scenes: of the body everywhere, of limbs from some 200
    starts.

    What a joint would allow is left aside: that a piece was found where it can be is evidence by itself.
    """
    reached: dict[str, list[float]] = {piece.name: [] for piece in finder.pieces.pieces}
    root = finder.pieces.tree.root
    for k in range(_CHANCES):
        progress(0.1 + 0.2 * k / _CHANCES, "looking at clutter")
        scene = ScenePyramid(scenes(k))
        if finder.body_search is not None:
            found = finder.body_search(scene, 1)
            reached[root].append(_most(scene, finder.body_search.model, found))
        roots = np.stack([_root(finder.template, finder.ranges, scenes.size, rng) for _ in range(16)])
        for piece in finder.pieces.limbs:
            model = finder.models[piece.name]
            starts = (roots[:, None] @ model.starts @ model.to_canvas).reshape(-1, 3, 3)
            near = descend(scene, model.pyramid, EUCLIDEAN, Stage(model.joint_scale, 8), starts)
            best = near.poses[np.argsort(-near.zncc)[:16]]
            ended = descend(scene, model.pyramid, EUCLIDEAN, Stage(model.scoring_scale, 8, pixels=600), best)
            reached[piece.name].append(_most(scene, model, ended))
    return {name: float(np.clip(np.median(zncc), 0.1, 0.9)) for name, zncc in reached.items()}


def _most(scene: ScenePyramid, model: PieceModel, found: Fits) -> float:
    """The ZNCC that tells as much as the best of the poses."""
    return float(equivalent_zncc(np.array(piece_evidence(scene, model, found).max(initial=0.0))))


@torch.no_grad()  # of each thread's own
def _best(octaves: Octaves, picture: Float[Tensor, "3 H W"], enough: float) -> float:
    found = octaves(picture, Effort(enough, max_hypotheses=_RIVALS), polished=0.0)
    best = exclusive(octaves.whole, found, 0.0, 1)
    return float(best.scores[0]) if len(best.scores) else 0.0


def _root(template: Template, ranges: Range, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    scale = math.exp(rng.uniform(math.log(ranges.scale[0]), math.log(ranges.scale[1])))
    at = rng.uniform(0.25, 0.75) * size[0], rng.uniform(0.25, 0.75) * size[1]
    return placed(rng.uniform(-ranges.rotation, ranges.rotation), scale, at, template.centre)


def _spoiled(
    finder: Finder, background: Float[Tensor, "3 H W"], rng: np.random.Generator
) -> Float[Tensor, "3 H W"]:
    """The template in the background, in a random pose, with up to a third of its limbs left out, in
    other light, with noise and blur."""
    template, tree, limbs = finder.template, finder.pieces.tree, finder.pieces.limbs
    turns = {name: rng.uniform(-part.turn, part.turn) for name, part in tree.items() if part.moves}
    left_out = rng.choice(len(limbs), rng.integers(len(limbs) // 3 + 1), replace=False) if limbs else ()
    hidden = {leaf.name for k in left_out for leaf in limbs[k].leaves}
    height, width = background.shape[-2:]
    where = matrices(tree, _root(template, finder.ranges, (width, height), rng), turns)
    scene = render(background, template, where, hidden)
    scene = blur(scene[None], float(rng.uniform(0.3, 1.2)))[0]
    scene = scene * rng.uniform(0.6, 1.0) + rng.uniform(-0.1, 0.1)
    noise = torch.from_numpy(rng.normal(0, rng.uniform(0, 0.06), scene.shape)).float()
    return (scene + noise).clamp(0, 1)
