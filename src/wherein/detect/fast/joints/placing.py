"""The placement of one piece about its joint."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import LOOSE, TIGHT, group_frames, keeps_joint
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Joint
from wherein.motion.homography import mapped
from wherein.motion.parallax import raised_starts
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rating import best_turns
from wherein.pyramid.levels import Poses, ScenePyramid

_MAX_REFINED, _MAX_STARTS, _MAX_FOLLOWED = 8, 4, 4
"""Maximum number of turns of a piece that are refined, that are used as starts of fits, and that are kept for
the next finer resolution. Choices."""

_REFINE, _FIT = PlaneStage(rounds=1, steps=4), PlaneStage()

_MIN_SHARE = 0.5
"""Minimum ZNCC of a pose that is fitted further, as a fraction of the best. Measured on 563 limbs of the
crab, the robot and the gauge: for limbs with a final ZNCC of 0.6 or more, the start that won had at least
0.55 of the best before the first fit; for limbs with 0.4 or more, at least 0.39."""

_SAME = 0.5
"""Pixels of the motif's resolution within which two poses count as one. A choice: most starts that remain
after the refinement have converged to the same pose."""


def place(
    scene: ScenePyramid,
    placement: Placement,
    model: PieceModel,
    tolerance: float = TIGHT,
    with_group: bool = False,
    taken: Callable[[Poses], NDArray[np.bool_]] | None = None,
) -> Placement:
    """The placement with one more piece: the best fit about its joint, from starts a basin of attraction
    apart.

    Arguments:
        scene: the scene to search.
        placement: with the frames of the piece's parent.
        model: the piece.
        tolerance: how far the joint may be off after the last fit, in canvas pixels; `LOOSE` before that.
        with_group: also try every turn of the group that the piece is attached to; the placement then needs
            the frames of the group's parent.
        taken: whether the piece must not be at each of the frames (N, 3, 3), for instance because another
            limb is there; only for a single hypothesis. None: every frame is allowed.
    """
    piece, group = model.piece, model.group if with_group else None
    assert group is not None or not with_group, "a piece that is attached to a group"
    parents = placement.frames[(group or piece).parent]
    if not len(parents):
        return placement.with_piece(piece.name, parents, np.zeros(0))
    at_rest = model.group_starts if group else model.starts
    # Where the plane is tilted, `raised_starts` adds the parallax of a limb above it.
    starts = [
        raised_starts(parent, piece.joint, at_rest, piece.height, model.basin) @ model.to_canvas
        for parent in parents
    ]
    if taken is not None:
        free = ~taken(parents[0] @ starts[0] @ model.from_canvas)
        # At least one start remains, so that all arrays keep one row per hypothesis; `_at_joint`
        # rejects it if its fit ends where it must not be.
        starts = [starts[0][free if free.any() else slice(1)]]
    # All turns are rated, and the best are refined, before any is fitted: both cost a fraction of a fit.
    found = best_turns(scene, model.stages[0], EUCLIDEAN, _REFINE, parents, starts, _MAX_REFINED)
    found = _at_joint(model, group, parents, found, LOOSE, _MAX_STARTS, taken)
    for motif in model.stages:
        last = motif is model.stages[-1]
        hopeful = _hopeful(motif, found, len(parents))
        fits = fit_planes(scene, motif, EUCLIDEAN, _FIT, found.poses[hopeful])
        found = replace(found, zncc=np.full(len(found), -1.0)).replaced(np.flatnonzero(hopeful), fits)
        found = _at_joint(
            model, group, parents, found, tolerance if last else LOOSE, 1 if last else _MAX_FOLLOWED, taken
        )
    # A piece that was not found gets its rest position, so that the pieces attached to it have a frame.
    frames = np.where((found.zncc > 0)[:, None, None], found.poses @ model.from_canvas, parents)
    return placement.with_piece(piece.name, frames, found.zncc)


def _hopeful(motif: PlaneMotif, found: PlaneFits, groups: int) -> NDArray[np.bool_]:
    """Which poses are worth a fit, (B,): those whose ZNCC is not far below the best of their group, and that
    do not repeat a better pose. The best pose of each group comes first."""
    zncc = found.zncc.reshape(groups, -1)
    # The centre and one point at the motif's radius fix a Euclidean pose in the plane. Where both lie within
    # half a pixel of those of another pose, the poses are the same.
    (x, y), radius = motif.centre, motif.radius
    middle, edge = np.moveaxis(mapped(found.poses @ motif.to_full, [(x, y), (x + radius, y)]), 1, 0)
    pixel = (np.linalg.norm(edge - middle, axis=1) / radius).reshape(groups, -1)
    ends = np.concatenate((middle, edge), 1).reshape(groups, -1, 1, 4)
    apart = np.abs(ends - ends.swapaxes(1, 2)).max(-1)
    # The lower triangle without the diagonal compares each pose only with the better ones before it.
    same = np.tril(apart < _SAME * pixel[:, :, None], -1).any(2)
    return ((zncc > -1) & (zncc >= _MIN_SHARE * zncc[:, :1]) & ~same).ravel()


def _at_joint(
    model: PieceModel,
    group: Joint | None,
    parents: Poses,
    found: PlaneFits,
    tolerance: float,
    count: int,
    taken: Callable[[Poses], NDArray[np.bool_]] | None = None,
) -> PlaneFits:
    """The best `count` poses about each parent. Poses that have left their joint have a ZNCC of −1."""
    frames = found.poses @ model.from_canvas
    repeated = np.repeat(parents, len(found.poses) // len(parents), axis=0)
    if group:
        repeated = group_frames(group, repeated, [model.piece], {model.piece.name: frames})
    # The fit may shift the piece. A piece that has left its joint fits something else in the scene.
    fits = keeps_joint(model.piece, repeated, frames, tolerance)
    fits = fits if taken is None else fits & ~taken(frames)
    return best_of_each(replace(found, zncc=np.where(fits, found.zncc, -1.0)), len(parents), count)


def best_of_each(found: PlaneFits, groups: int, count: int = 1) -> PlaneFits:
    """The best `count` poses of each group; `found` holds the same number of poses for each group, in
    turn."""
    zncc = found.zncc.reshape(groups, -1)
    # A stable sort, here and elsewhere: the order of equal scores must not depend on the sorting algorithm.
    chosen = np.argsort(-zncc, axis=1, kind="stable")[:, :count]
    return found[(chosen + np.arange(groups)[:, None] * zncc.shape[1]).ravel()]
