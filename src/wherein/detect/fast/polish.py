"""The last stage: each piece to convergence at its finest resolution. A piece keeps to its joint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import TIGHT, in_plane_of, keeps_joint
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.score import information
from wherein.motion.homography import (
    as_complex,
    local_map,
    mapped,
    similarities,
    tilts,
)
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.cover import fit_uncovered
from wherein.planes.own_resolution import JudgeJob, judge_each
from wherein.planes.pixel_fit import PixelJob, PixelStarts, fit_pixels, pixel_poses, pixels_of
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each, fit_planes
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.levels import Poses, ScenePyramid

POLISH = (
    PlaneStage(rounds=1, steps=6, tolerance=0.03),
    PlaneStage(rounds=4, steps=1, tolerance=0.005, settles=True),
)
"""A fit to convergence. The numbers are choices; few poses need all of the rounds. With a second round of the
first stage, and half the tolerance, the errors of a robot and a crab in videos were the same to about a
thousandth of a pixel. LEDs and crabs in plain view were at most 0.02 px off what they converge to after three
rounds; without extrapolation up to 0.15 px after four."""

_FROM_AFAR = PlaneStage(rounds=2, steps=6, tolerance=0.01)
"""The first stage from a pose that may be some pixels off. A choice."""

_EVALUATE = PlaneStage(rounds=1, steps=0)

_CLEAR = 0.75
"""ZNCC with little smoothing below which a pose is also fitted with more of it, and whichever agrees better
with little stands. By 630 limbs in painted scenes, a half of them blurred by 1 to 2 px: places were 0.072 px
off in the median and 0.54 in the worst 5 %, with little smoothing alone 0.073 and 0.56, and where more of it
stood whenever ZNCC was below this 0.072 and 0.89, since long edges that are blurred slide along
themselves."""

_UNCLEAR = 0.5
"""ZNCC with little smoothing below which it says nothing: the fit that is judged better stands. A choice, of
things that are only similar: coins with other faces score 0.01 more in the median, and 650 painted limbs stay
where they were."""

_MAX_LOSS = 0.02
"""ZNCC by which a pose may seem worse after the last rounds: that by which a piece is judged, or that with
little smoothing. A choice: what interpolation costs. Of limbs with stripes the right pose may be judged worse
by 0.1 than one that is 1.5° off."""

_PRESENT, _PLAIN_VIEW = 0.35, 0.9
"""ZNCC from which there is an object at all, and from which hardly anything of it is covered. Choices."""

_MAX_UPRIGHT_TILT, _TILT_GAIN = 55.0, 0.01
"""Degrees up to which a tilt may be none, and ZNCC that it must gain, or what it costs if that is more.
Choices: a true tilt of 15° shortens an object by 3 %, which costs an upright pose more than that; something
thin may seem to be tilted as far as the range goes."""

_FLAT = 1e-3
"""Degrees below which there is no tilt: it was set to none."""

TiltCosts = Callable[[Poses], NDArray[np.float64]]


def _no_costs(frames: Poses) -> NDArray[np.float64]:
    return np.zeros(len(frames))


_SIMILARITY, _HOMOGRAPHY = MOTIONS["similarity"], MOTIONS["homography"]


@dataclass(frozen=True)
class Polished(PlaneFits):
    """Refined poses of a piece, with a ZNCC of −1 where they are worse than they were.

    Attributes:
        by_pixels: which of them were fitted by their pixels, (B,).
    """

    by_pixels: NDArray[np.bool_]


def polish_pieces(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    motion: Motion,
    tilt_costs: TiltCosts = _no_costs,
) -> dict[str, Polished]:
    """The poses of pieces, each fitted to convergence at its finest resolution, by name.

    The body first where its tilt or its size may change, which are those of the limbs. The rest at once,
    since no fit depends on another: whether a limb has kept its joint is asked later (`with_polished`).

    Arguments:
        scene: where the pieces are.
        placement: with all of them.
        models: the pieces.
        motion: how the body may move; a limb moves in the plane of its parent.
        tilt_costs: what root frames must gain by their tilt.
    """
    if motion is EUCLIDEAN:
        return _polished(scene, placement, models, motion)
    limbs, polished = [model for model in models if _is_limb(model)], dict[str, Polished]()
    for body in models:
        if not _is_limb(body):
            polished = _polished(scene, placement, [body], motion, tilt_costs)
            moved = with_polished(placement, body, polished[body.piece.name])
            placement = in_plane_of(moved, body, limbs, placement)
    return polished | _polished(scene, placement, limbs, EUCLIDEAN)


def _polished(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    motion: Motion,
    tilt_costs: TiltCosts = _no_costs,
) -> dict[str, Polished]:
    """The same for pieces that are fitted at once; one that was not found stays as it is."""
    polished = {}
    poses = [placement.frames[model.piece.name] @ model.to_canvas for model in models]
    known = [np.flatnonzero(placement.zncc[model.piece.name] > 0) for model in models]
    clear = _clear_by_pixels(scene, placement, models, motion, known)
    rest = [k[fits.zncc <= -1] for k, fits in zip(known, clear, strict=True)]
    each = list(zip(models, poses, known, clear, rest, strict=True))
    ends = _converged(
        scene, [FitJob(model.informative, motion, POLISH[0], own[k]) for model, own, _, _, k in each], models
    )
    for (model, own, rows, by_pixels, k), (sharp, found) in zip(each, ends, strict=True):
        kept = found.zncc >= placement.zncc[model.piece.name][k] - _MAX_LOSS
        fell = np.flatnonzero(~kept)
        began = fit_planes(scene, model.sharp, motion, _EVALUATE, own[k[fell]])
        kept[fell] = sharp.zncc[fell] >= began.zncc - _MAX_LOSS
        ended = _upright(scene, model, found, tilt_costs) if motion is _HOMOGRAPHY else found
        lost, told = np.full(len(own), -1.0), np.zeros(len(own), dtype=np.bool_)
        fits = PlaneFits(own, lost, lost).replaced(k[kept], ended[np.flatnonzero(kept)])
        good = np.flatnonzero(by_pixels.zncc > -1)
        fits, told[rows[good]] = fits.replaced(rows[good], by_pixels[good]), True
        polished[model.piece.name] = Polished(fits.poses, fits.zncc, fits.visible, told)
    return polished


def _clear_by_pixels(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    motion: Motion,
    known: Sequence[NDArray[np.int64]],
) -> list[PlaneFits]:
    """The poses of pictures without an outline fitted by their pixels, which has the last word on them
    anyway, where these agree and channels rate them no worse; with a ZNCC of −1 elsewhere.

    Not where there may be a tilt, which is told by channels; and not of cut-outs, since only channels see
    their outline.

    Arguments as of `polish_pieces`; `known`: the rows of each piece.
    """
    before = []
    for model, rows in zip(models, known, strict=True):
        poses = placement.frames[model.piece.name][rows] @ model.to_canvas
        before.append(PlaneFits(poses, placement.zncc[model.piece.name][rows], np.ones(len(rows))))
    able = [number for number, model in enumerate(models) if model.fills and motion is not _HOMOGRAPHY]
    found = [replace(fits, zncc=np.full(len(fits), -1.0)) for fits in before]
    starts = [
        PixelStarts(pixels_of(models[n].piece.motif, len(scene.samples)), motion, before[n].poses)
        for n in able
    ]
    moved = pixel_poses(scene, starts)
    agree = [
        np.flatnonzero((own != start.poses).any((1, 2))) for own, start in zip(moved, starts, strict=True)
    ]
    fits = [
        replace(before[n][rows], poses=own[rows]) for n, own, rows in zip(able, moved, agree, strict=True)
    ]
    judges = _judged(scene, [models[n] for n in able], [motion] * len(able), fits)
    for n, rows, judged in zip(able, agree, judges, strict=True):
        good = np.flatnonzero(judged.zncc >= before[n].zncc[rows] - _MAX_LOSS)
        found[n] = found[n].replaced(rows[good], judged[good])
    return found


def with_polished(placement: Placement, model: PieceModel, found: Polished) -> Placement:
    """The placement with the refined poses of one piece, in the hypotheses where they are not worse.

    Arguments:
        placement: with the piece and its parent.
        model: the piece.
        found: its poses after `polish_pieces`.
    """
    zncc = placement.zncc[model.piece.name]
    return _refined(placement, model, found, (found.zncc > 0) & (zncc > 0), found.by_pixels)


def _is_limb(model: PieceModel) -> bool:
    return model.piece.parent != model.piece.name


def end_pieces(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], motion: Motion
) -> Placement:
    """The placement with pieces that are partly covered fitted by the rest, and then by their pixels where
    these agree, unless they were already. The body first; the ZNCC of pieces remain.

    Arguments as of `polish_pieces`, of a placement that is polished.
    """
    limbs = [model for model in models if _is_limb(model)]
    for group in ([model for model in models if not _is_limb(model)], limbs):
        for model in group:
            placement = _uncovered(scene, placement, model, motion)
        placement = _by_pixels(scene, placement, group, motion)
        for model in group:
            if not _is_limb(model):
                placement = in_plane_of(placement, model, limbs, placement)
    return placement


def _uncovered(scene: ScenePyramid, placement: Placement, model: PieceModel, motion: Motion) -> Placement:
    """The placement with one piece fitted without what covers it, in the hypotheses where it may be
    covered."""
    piece, zncc = model.piece, placement.zncc[model.piece.name]
    partly = np.flatnonzero((zncc >= _PRESENT) & (zncc < _PLAIN_VIEW) & ~placement.told_by_pixels(piece.name))
    if not len(partly):
        return placement
    moves = EUCLIDEAN if _is_limb(model) else motion
    found = PlaneFits(placement.frames[piece.name] @ model.to_canvas, zncc, np.ones(len(zncc)))
    found = found.replaced(partly, fit_uncovered(scene, model.judges, model.exact, moves, found[partly]))
    return _refined(placement, model, found, found.zncc > 0, placement.told_by_pixels(piece.name))


def _by_pixels(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], motion: Motion
) -> Placement:
    """The placement with pieces fitted by their pixels, in the hypotheses where these agree."""
    known = {
        name: np.flatnonzero((placement.zncc[name] >= _PRESENT) & ~placement.told_by_pixels(name))
        for name in (model.piece.name for model in models)
    }
    models = [model for model in models if len(known[model.piece.name])]
    jobs = list[tuple[str, NDArray[np.int64], PixelJob]]()
    fits = dict[str, PlaneFits]()
    for model in models:
        name = model.piece.name
        poses, zncc, rows = placement.frames[name] @ model.to_canvas, placement.zncc[name], known[name]
        found = fits[name] = PlaneFits(poses / poses[:, 2:, 2:], zncc, np.ones(len(zncc)))
        pixels = pixels_of(model.piece.motif, len(scene.samples))
        tilted = tilts(found.poses[rows], model.middle) >= _FLAT
        flat = _SIMILARITY if motion is _HOMOGRAPHY else motion
        for some, own in ((rows[~tilted], flat), (rows[tilted], motion)):
            if len(some):
                move = EUCLIDEAN if _is_limb(model) else own
                jobs.append((name, some, PixelJob(pixels, model.sharp, move, found[some])))
    for (name, some, _), ended in zip(jobs, fit_pixels(scene, [job for *_, job in jobs]), strict=True):
        fits[name] = fits[name].replaced(some, ended)
    for model in models:
        name = model.piece.name
        told = placement.told_by_pixels(name)
        placement = _refined(placement, model, fits[name], placement.zncc[name] >= _PRESENT, told)
    return placement


def _refined(
    placement: Placement,
    model: PieceModel,
    found: PlaneFits,
    good: NDArray[np.bool_],
    by_pixels: NDArray[np.bool_],
) -> Placement:
    """The placement with new poses of a piece where they are good and keep its joint; `by_pixels`: which of
    them were fitted by pixels."""
    piece, before = model.piece, placement.frames[model.piece.name]
    frames = found.poses @ model.from_canvas
    frames = frames / frames[:, 2:, 2:]
    if _is_limb(model):
        # The fit is free to shift the limb: one that has left its joint fits something else.
        good = good & keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    zncc = np.where(good, found.zncc, placement.zncc[piece.name])
    return placement.with_piece(piece.name, frames, zncc, good & by_pixels)


def _converged(
    scene: ScenePyramid, starts: Sequence[FitJob], models: Sequence[PieceModel]
) -> list[tuple[PlaneFits, PlaneFits]]:
    """The poses of pieces, fitted to convergence at their finest resolution: with their ZNCC with little
    smoothing, and with that by which pieces are judged.

    Arguments:
        scene: where the pieces are.
        starts: the first fit of each piece.
        models: the pieces.
    """
    moves, rough = [job.motion for job in starts], fit_each(scene, starts)

    def fitted(
        motifs: Sequence[PlaneMotif], stage: PlaneStage, before: Sequence[PlaneFits]
    ) -> list[PlaneFits]:
        jobs = zip(motifs, moves, before, strict=True)
        return fit_each(scene, [FitJob(motif, move, stage, fits.poses) for motif, move, fits in jobs])

    motifs = [model.sharp for model in models]
    sharp = fitted(motifs, POLISH[1], rough)
    # In a scene that is blurred, channels with little smoothing differ from the motif's.
    blurred = [np.flatnonzero(fits.zncc < _CLEAR) for fits in sharp]
    again = [fits[rows] for fits, rows in zip(rough, blurred, strict=True)]
    smooth = fitted([model.informative for model in models], POLISH[1], again)
    ends = fitted(motifs, _EVALUATE, smooth)
    judged, seems = (_judged(scene, models, moves, some) for some in (sharp, smooth))
    for k, (rows, fits) in enumerate(zip(blurred, ends, strict=True)):
        zncc = sharp[k].zncc[rows]
        # Of things that are only similar neither agrees with little smoothing: what pieces are judged by
        # decides.
        unclear = np.maximum(fits.zncc, zncc) < _UNCLEAR
        better = np.flatnonzero(np.where(unclear, seems[k].zncc >= judged[k].zncc[rows], fits.zncc >= zncc))
        sharp[k] = sharp[k].replaced(rows[better], fits[better])
        judged[k] = judged[k].replaced(rows[better], seems[k][better])
    return list(zip(sharp, judged, strict=True))


def _judged(
    scene: ScenePyramid, models: Sequence[PieceModel], moves: Sequence[Motion], found: Sequence[PlaneFits]
) -> list[PlaneFits]:
    """The poses of pieces with the ZNCC by which they are judged."""
    jobs = [
        JudgeJob(model.judges, motion, fits) for model, motion, fits in zip(models, moves, found, strict=True)
    ]
    return judge_each(scene, jobs)


def _upright(scene: ScenePyramid, model: PieceModel, found: PlaneFits, tilt_costs: TiltCosts) -> PlaneFits:
    """The poses without tilt, where that fits as well.

    The four further parameters of a homography fit noise where there is no tilt, and the smaller the object
    the more of it: they are used where they are needed.
    """
    middle = model.middle
    close = np.flatnonzero(tilts(found.poses, middle) < _MAX_UPRIGHT_TILT)
    linear = local_map(found.poses[close], middle)
    spots = mapped(found.poses[close], [middle])[:, 0]
    turned = (linear[:, 0, 0] + linear[:, 1, 1]) / 2 + 1j * (linear[:, 1, 0] - linear[:, 0, 1]) / 2
    starts = similarities(turned, as_complex(spots), np.array(middle))
    ((_, upright),) = _converged(scene, [FitJob(model.informative, _SIMILARITY, _FROM_AFAR, starts)], [model])
    before = found[close]
    better = upright.zncc >= before.zncc - _TILT_GAIN
    gained = information(before.zncc) - information(upright.zncc)
    better |= (upright.zncc >= _PRESENT) & (gained < tilt_costs(before.poses @ model.from_canvas))
    return found.replaced(close[better], upright[np.flatnonzero(better)])
