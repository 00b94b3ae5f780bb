"""The last stage: each piece to convergence at its finest resolution, and each root where its limbs have it.

A piece keeps to its joint. The root's frame is that of the body; where there is no body, or it is hidden, the
joints of the limbs determine it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import TIGHT, in_plane_of, keeps_joint
from wherein.detect.fast.limbs.roots import root_from_joints
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.score import MIN_EVIDENCE, information
from wherein.motion.homography import (
    as_complex,
    local_map,
    mapped,
    scales,
    similarities,
    tilts,
)
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.cover import fit_uncovered
from wherein.planes.own_resolution import JudgeJob, judge_each
from wherein.planes.pixel_fit import PixelJob, fit_pixels, pixels_of
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


def polish_pieces(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    motion: Motion,
    tilt_costs: TiltCosts = _no_costs,
) -> dict[str, PlaneFits]:
    """The poses of pieces, each fitted to convergence at its finest resolution, by name; with a ZNCC of −1
    where they are worse than they were.

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
    limbs, polished = [model for model in models if _is_limb(model)], dict[str, PlaneFits]()
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
) -> dict[str, PlaneFits]:
    """The same for pieces that are fitted at once; one that was not found stays as it is."""
    polished = {}
    poses = [placement.frames[model.piece.name] @ model.to_canvas for model in models]
    known = [np.flatnonzero(placement.zncc[model.piece.name] > 0) for model in models]
    each = list(zip(models, poses, known, strict=True))
    ends = _converged(
        scene, [FitJob(model.informative, motion, POLISH[0], own[k]) for model, own, k in each], models
    )
    for (model, own, k), (sharp, found) in zip(each, ends, strict=True):
        kept = found.zncc >= placement.zncc[model.piece.name][k] - _MAX_LOSS
        fell = np.flatnonzero(~kept)
        began = fit_planes(scene, model.sharp, motion, _EVALUATE, own[k[fell]])
        kept[fell] = sharp.zncc[fell] >= began.zncc - _MAX_LOSS
        ended = _upright(scene, model, found, tilt_costs) if motion is _HOMOGRAPHY else found
        lost = np.full(len(own), -1.0)
        polished[model.piece.name] = PlaneFits(own, lost, lost).replaced(k[kept], ended[np.flatnonzero(kept)])
    return polished


def with_polished(placement: Placement, model: PieceModel, found: PlaneFits) -> Placement:
    """The placement with the refined poses of one piece, in the hypotheses where they are not worse.

    Arguments:
        placement: with the piece and its parent.
        model: the piece.
        found: its poses after `polish_pieces`.
    """
    zncc = placement.zncc[model.piece.name]
    return _refined(placement, model, found, (found.zncc > 0) & (zncc > 0))


def _is_limb(model: PieceModel) -> bool:
    return model.piece.parent != model.piece.name


def end_pieces(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], motion: Motion
) -> Placement:
    """The placement with pieces that are partly covered fitted by the rest, and then by their pixels where
    these agree. The body first; the ZNCC of pieces remain.

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
    partly = np.flatnonzero((zncc >= _PRESENT) & (zncc < _PLAIN_VIEW))
    if not len(partly):
        return placement
    moves = EUCLIDEAN if _is_limb(model) else motion
    found = PlaneFits(placement.frames[piece.name] @ model.to_canvas, zncc, np.ones(len(zncc)))
    found = found.replaced(partly, fit_uncovered(scene, model.judges, model.exact, moves, found[partly]))
    return _refined(placement, model, found, found.zncc > 0)


def _by_pixels(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], motion: Motion
) -> Placement:
    """The placement with pieces fitted by their pixels, in the hypotheses where these agree."""
    known = {
        model.piece.name: np.flatnonzero(placement.zncc[model.piece.name] >= _PRESENT) for model in models
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
        placement = _refined(placement, model, fits[name], placement.zncc[name] >= _PRESENT)
    return placement


def _refined(placement: Placement, model: PieceModel, found: PlaneFits, good: NDArray[np.bool_]) -> Placement:
    """The placement with new poses of a piece where they are good and keep its joint."""
    piece, before = model.piece, placement.frames[model.piece.name]
    frames = found.poses @ model.from_canvas
    frames = frames / frames[:, 2:, 2:]
    if _is_limb(model):
        # The fit is free to shift the limb: one that has left its joint fits something else.
        good = good & keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    return placement.with_piece(piece.name, frames, np.where(good, found.zncc, placement.zncc[piece.name]))


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
    others = [fits[rows] for fits, rows in zip(sharp, blurred, strict=True)]
    # Of things that are only similar neither agrees with little smoothing: what pieces are judged by decides.
    both = _judged(scene, models, moves, others), _judged(scene, models, moves, smooth)
    for k, (rows, fits) in enumerate(zip(blurred, ends, strict=True)):
        unclear = np.maximum(fits.zncc, others[k].zncc) < _UNCLEAR
        seems = both[1][k].zncc >= both[0][k].zncc
        better = np.flatnonzero(np.where(unclear, seems, fits.zncc >= others[k].zncc))
        sharp[k] = sharp[k].replaced(rows[better], fits[better])
    return list(zip(sharp, _judged(scene, models, moves, sharp), strict=True))


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


def settle_roots(placement: Placement, pieces: Pieces, weights: Mapping[str, float]) -> Placement:
    """The placement with each root at the joints of its limbs, unless the body was found.

    Groups whose turn nothing determines are put at rest, if the limbs that were found still fit then.

    Arguments:
        placement: with every piece.
        pieces: of the template.
        weights: of the evidence of a piece, by name.
    """
    limbs, groups = pieces.root_limbs, pieces.groups
    if not limbs:
        return placement
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in limbs}
    # Limbs that fit no better than clutter would pull the root aside.
    trust = {name: np.where(weight >= MIN_EVIDENCE, weight, 0.0) for name, weight in evidence.items()}
    free = _at_joints(placement, pieces, trust)
    if not groups:
        return free
    rested = _at_joints(_groups_at_rest(placement, groups, limbs, trust), pieces, trust)
    rested = _groups_at_rest(rested, groups, limbs, trust)  # relative to the root where it is now
    # Of the hypotheses that fit equally, the one with fewer turned joints.
    simpler = np.flatnonzero(_joints_kept(rested, limbs, trust) & ~_body_found(placement, pieces))
    return free.replaced(simpler, rested[simpler])


def _at_joints(placement: Placement, pieces: Pieces, trust: Mapping[str, NDArray[np.float64]]) -> Placement:
    """The placement with each root at the joints of its limbs, unless the body was found."""
    limbs, root = pieces.root_limbs, pieces.tree.root
    before = placement.frames[root]
    roots = root_from_joints(placement.frames, trust, limbs, before, scales(before, (0.0, 0.0)))
    if len(limbs) == 1 and pieces.body is None:
        # The turn of the only limb cannot be told from the root's. Take the limb to be at rest.
        roots = placement.frames[limbs[0].name]
    roots = np.where(_body_found(placement, pieces)[:, None, None], before, roots)
    return replace(placement, frames={**placement.frames, root: roots})


def _body_found(placement: Placement, pieces: Pieces) -> NDArray[np.bool_]:
    """In which hypotheses the body was found, (H,)."""
    return placement.zncc.get(pieces.tree.root, np.full(len(placement), -1.0)) > 0


def _groups_at_rest(
    placement: Placement,
    groups: Sequence[Joint],
    pieces: Sequence[Piece],
    trust: Mapping[str, NDArray[np.float64]],
) -> Placement:
    """The placement with those groups at rest whose turn cannot be told from the root's.

    That is the case if at most one limb of the group was found, or no limb outside of it.
    """
    found = {piece.name: (trust[piece.name] > 0).astype(int) for piece in pieces}
    for group in groups:
        inside = [found[piece.name] for piece in pieces if piece.parent == group.name]
        outside = [found[piece.name] for piece in pieces if piece.parent != group.name]
        none = np.zeros(len(placement), dtype=int)
        unknown = (sum(inside, none) <= 1) | (sum(outside, none) == 0)
        frames = np.where(
            unknown[:, None, None], placement.frames[group.parent], placement.frames[group.name]
        )
        placement = placement.with_frames(group.name, frames)
    return placement


def _joints_kept(
    placement: Placement, pieces: Sequence[Piece], trust: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.bool_]:
    """In which hypotheses all limbs that were found keep their joints, (H,)."""
    kept = np.ones(len(placement), dtype=np.bool_)
    for piece in pieces:
        fits = keeps_joint(piece, placement.frames[piece.parent], placement.frames[piece.name], TIGHT)
        kept &= fits | (trust[piece.name] <= 0)
    return kept
