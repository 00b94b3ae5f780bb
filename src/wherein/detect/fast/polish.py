"""The last stage: each piece to convergence at its finest resolution, and each root where its limbs have it.

A piece keeps to its joint. The root's frame is that of the body; where there is no body, or it is hidden, the
joints of the limbs determine it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import JOINT_TOLERANCE, TIGHT, as_complex, keeps_joint, similarities
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.score import MIN_EVIDENCE, information
from wherein.motion.homography import local_map, mapped, scales, tilts
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.cover import fit_uncovered
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.pyramid.levels import Poses, ScenePyramid

POLISH = (
    PlaneStage(rounds=2, steps=6, tolerance=0.005),
    PlaneStage(rounds=4, steps=1, tolerance=0.005, unchecked=True),
)
"""A fit to convergence. The numbers are choices; few poses need all of the rounds."""

_EVALUATE = PlaneStage(rounds=1, steps=0)

_CLEAR = 0.75
"""ZNCC with little smoothing from which a pose is fitted so. A choice: half of what is there agrees."""

_MAX_LOSS = 0.02
"""ZNCC by which a pose may seem worse after the last rounds. A choice: what interpolation costs."""

_PRESENT, _PLAIN_VIEW = 0.35, 0.9
"""ZNCC from which there is an object at all, and from which hardly anything of it is covered. Choices."""

_MAX_UPRIGHT_TILT, _TILT_GAIN = 30.0, 0.01
"""Degrees up to which a tilt may be none, and ZNCC that it must gain, or what it costs if that is more.
Choices: a true tilt of 15° shortens an object by 3 %, which costs an upright pose more than that; a bare
outline may seem to be tilted by up to 30°."""

TiltCosts = Callable[[Poses], NDArray[np.float64]]


def _no_costs(frames: Poses) -> NDArray[np.float64]:
    return np.zeros(len(frames))


_SIMILARITY, _HOMOGRAPHY = MOTIONS["similarity"], MOTIONS["homography"]


def polish_piece(
    scene: ScenePyramid,
    placement: Placement,
    model: PieceModel,
    motion: Motion,
    tilt_costs: TiltCosts = _no_costs,
) -> Placement:
    """The placement with one piece refined, in the hypotheses where that is not worse.

    Arguments:
        scene: where the piece is.
        placement: with the piece and its parent.
        model: the piece.
        motion: how the body may move; a limb moves in the plane of its parent.
        tilt_costs: what the tilt of root frames costs.
    """
    piece, before = model.piece, placement.frames[model.piece.name]
    zncc, limb = placement.zncc[piece.name], piece.parent != piece.name
    moves = EUCLIDEAN if limb else motion
    found = _converged(scene, model, moves, before @ model.to_canvas)
    good = (found.zncc >= zncc - _MAX_LOSS) & (zncc > 0)
    if not limb and moves is _HOMOGRAPHY:
        found = _upright(scene, model, found, tilt_costs)
    return _refined(placement, model, found, good)


def uncover_piece(scene: ScenePyramid, placement: Placement, model: PieceModel, motion: Motion) -> Placement:
    """The placement with one piece fitted without what covers it, in the hypotheses where it may be covered.

    Arguments as of `polish_piece`, of a placement that is polished.
    """
    piece, zncc = model.piece, placement.zncc[model.piece.name]
    partly = np.flatnonzero((zncc >= _PRESENT) & (zncc < _PLAIN_VIEW))
    if not len(partly):
        return placement
    moves = EUCLIDEAN if piece.parent != piece.name else motion
    found = PlaneFits(placement.frames[piece.name] @ model.to_canvas, zncc, np.ones(len(zncc)))
    found = found.replaced(partly, fit_uncovered(scene, model.stages[-1], moves, found[partly]))
    return _refined(placement, model, found, found.zncc > 0)


def _refined(placement: Placement, model: PieceModel, found: PlaneFits, good: NDArray[np.bool_]) -> Placement:
    """The placement with new poses of a piece where they are good and keep its joint."""
    piece, before = model.piece, placement.frames[model.piece.name]
    frames = found.poses @ model.from_canvas
    frames = frames / frames[:, 2:, 2:]
    if piece.parent != piece.name:
        # The fit is free to shift the limb: one that has left its joint fits something else.
        good = good & keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    return placement.with_piece(piece.name, frames, np.where(good, found.zncc, placement.zncc[piece.name]))


def _converged(scene: ScenePyramid, model: PieceModel, motion: Motion, poses: Poses) -> PlaneFits:
    """The poses of a piece, fitted to convergence at its finest resolution."""
    rough, fine = POLISH
    found = fit_planes(scene, model.informative, motion, rough, poses)
    sharp = fit_planes(scene, model.sharp, motion, fine, found.poses)
    # In a scene that is blurred, channels with little smoothing differ from the motif's.
    blurred = np.flatnonzero(sharp.zncc < _CLEAR)
    smooth = fit_planes(scene, model.informative, motion, fine, found.poses[blurred])
    return fit_planes(scene, model.stages[-1], motion, _EVALUATE, sharp.replaced(blurred, smooth).poses)


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
    upright = _converged(scene, model, _SIMILARITY, starts)
    before = found[close]
    better = upright.zncc >= before.zncc - _TILT_GAIN
    gained = information(before.zncc) - information(upright.zncc)
    better |= (upright.zncc >= _PRESENT) & (gained < tilt_costs(before.poses @ model.from_canvas))
    return found.replaced(close[better], upright[np.flatnonzero(better)])


def root_from_joints(
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]],
    pieces: Sequence[Piece],
    roots: Poses,
    sizes: NDArray[np.float64],
) -> Poses:
    """Root frames that fit the joints of all limbs that were found, by weighted least squares, (H, 3, 3).

    min Σ_k w_k |s R q_k + b − F_k q_k|² over rotation R and shift b, with the scale s given. A root stays
    as it is where fewer than two joints are known. For a limb in a group, q_k is the joint as the group has
    turned it.

    Arguments:
        frames: canvas → scene, (H, 3, 3) by name, also of the groups that limbs are attached to.
        trust: w, (H,) by name.
        pieces: the limbs attached to the root.
        roots: the root frames so far, (H, 3, 3).
        sizes: s, (H,). It is given, since two joints that are close together determine it badly.
    """
    ends = np.stack([as_complex(mapped(frames[p.name], p.joint)) for p in pieces], 1)
    inverse = np.linalg.inv(roots)
    at = np.stack([as_complex(mapped(inverse @ frames.get(p.parent, roots), p.joint)) for p in pieces], 1)
    w = np.stack([trust[p.name] for p in pieces], 1)
    known = (w > 0).sum(1) > 1
    total = np.maximum(w.sum(1), 1e-12)
    mean_at, mean_end = (w * at).sum(1) / total, (w * ends).sum(1) / total
    off_at, off_end = at - mean_at[:, None], ends - mean_end[:, None]
    spread = (w * np.abs(off_at) ** 2).sum(1)
    # Joints that nearly coincide determine no direction.
    known &= spread / total > JOINT_TOLERANCE**2
    linear = (w * off_end * off_at.conj()).sum(1) / np.maximum(spread, 1e-12)
    size = np.abs(linear)
    linear = np.where(size > 0, linear / np.where(size > 0, size, 1), 1.0) * sizes
    fitted = similarities(linear, mean_end - linear * mean_at, np.zeros(2))
    return np.where(known[:, None, None], fitted, roots)


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
