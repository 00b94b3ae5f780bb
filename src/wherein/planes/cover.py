"""Occlusion: which parts of a motif are covered in the scene, and a fit without them.

If something in front of an object covers a part of it, the fit is biased, since the cover is compared with
the motif as well. At a pose that is nearly right, the cover can be detected: there, small cells of the motif
agree far less with the scene than most cells do. These are left out, and the rest is fitted again; and so on,
until the covered cells do not change any more. Reflections are treated in the same way.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS
from wherein.motion.homography import mapped
from wherein.motion.models import Motion
from wherein.native import plane_calls, structs
from wherein.planes.description import MARGIN
from wherein.planes.own_resolution import JudgeJob, judge_each
from wherein.planes.plane_descent import Patch, PlaneStage, patch_of
from wherein.planes.plane_fit import (
    PARAMETERS_OF,
    PlaneFits,
    finest_levels,
    fit_planes,
    levels_in_c,
    plane_rules,
    shares_of,
)
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rectify import scene_levels
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_CELL = 6
"""Width of a cell in pixels of the motif's resolution. A choice: a few times the smoothing of the
channels."""

_AGREES = 0.85
"""A cell is covered if its agreement is below this fraction of the median of all cells. A choice."""

_MIN_COVER, _MAX_COVER = 0.1, 0.6
"""Minimum and maximum covered fraction of the motif for a fit of the rest. Choices: a few cells differ by
chance; and if most of the motif seems covered, it is unknown which part is the cover."""

_CONNECTED = 0.4
"""Minimum covered share of the 3 × 3 cells around a covered cell. A choice: at the corner of a cover it is
four of nine, and scattered cells have less."""

_ROUNDS = 4
"""Maximum number of times the cover is detected and the rest fitted. A choice: the first time, the pose is
still off."""

_FIT = PlaneStage(rounds=1, steps=4, tolerance=0.01)
"""The fit of the rest. A choice: few steps, since the cover is detected again after it."""

_COVER = structs.CoverRules(
    agrees=_AGREES, connected=_CONNECTED, least=_MIN_COVER, most=_MAX_COVER, cell=_CELL, rounds=_ROUNDS
)
"""The constants above, for C."""

_MAX_MOVE = 0.1
"""Maximum move of the corners, as a fraction of the object's size. A choice: the pose was nearly right."""


def fit_uncovered(
    scene: ScenePyramid, stages: Sequence[PlaneMotif], exact: PlaneMotif, motion: Motion, found: PlaneFits
) -> PlaneFits:
    """The poses fitted without the covered parts of the motif; unchanged where nothing is covered.

    Their ZNCC remains that of the whole motif, since hidden parts are no evidence for the object.

    Arguments:
        scene: the scene. stages: the motif from coarse to fine, for the ZNCC of the new poses. exact: the
        motif with the settings for exact poses, by which the cover is detected and the rest fitted. motion:
        how the poses may move. found: poses that are nearly right.
    """
    # Thinned: cells need only a few points each, and the rest is fitted in each round.
    poses = _uncovered(scene, exact.sparse, motion, found.poses)
    moved = np.flatnonzero((poses != found.poses).any((1, 2)) & _close(stages[-1], poses, found.poses))
    there = PlaneFits(poses[moved], found.zncc[moved], found.visible[moved])
    return found.replaced(moved, judge_each(scene, [JudgeJob(stages, motion, there)])[0])


def _uncovered(scene: ScenePyramid, motif: PlaneMotif, motion: Motion, poses: Poses) -> Poses:
    """The poses fitted without covered parts, in C if possible; to the byte the same if none is covered."""
    starts, levels = poses @ motif.to_full, scene_levels(scene)
    finest = finest_levels(motif, motion, starts, len(levels))
    in_c = levels_in_c(scene, levels, int(finest.min(initial=len(levels) - 1)))
    if in_c is None:
        return _uncovered_in_torch(scene, motif, motion, poses)
    rules, arrays = plane_rules(motif, _FIT, PARAMETERS_OF[type(motion)], len(levels)), motif.in_c

    def fit(own: NDArray[np.int64]) -> Poses:
        return plane_calls.uncover(in_c, arrays, rules, _COVER, starts[own], finest[own])

    shares = shares_of(np.arange(len(poses), dtype=np.int64), scene.threads)
    ended = np.concatenate([starts[:0], *shared_out(fit, shares, scene.threads)])
    # Unmoved poses are not converted back, which would change their last bits.
    moved, found = np.flatnonzero((ended != starts).any((1, 2))), poses.copy()
    there = ended[moved] @ motif.from_full
    found[moved] = there / there[:, 2:, 2:]
    return found


def _uncovered_in_torch(scene: ScenePyramid, motif: PlaneMotif, motion: Motion, poses: Poses) -> Poses:
    """The same in torch: the reference implementation for C."""
    levels = scene_levels(scene)

    def uncovered(pose: NDArray[np.float64]) -> NDArray[np.float64]:
        known, here = None, pose
        for _ in range(_ROUNDS):
            patch = patch_of(levels, motif, here @ motif.to_full)
            covered = None if patch is None else covered_points(motif, patch)
            # The same cover as before would give the same fit: the rounds have converged.
            if covered is None or (known is not None and torch.equal(known, covered)):
                break
            known = covered
            rest = fit_planes(scene, motif.without(covered), motion, _FIT, here[None])
            # If the rest has no fit, the next round starts again from the given pose.
            here = rest.poses[0] if rest.zncc[0] > -1 else pose
        return here

    return np.stack([uncovered(pose) for pose in poses]) if len(poses) else poses


def _close(motif: PlaneMotif, poses: Poses, others: Poses) -> NDArray[np.bool_]:
    """Whether poses lie close to others, (B,). A pose that has moved far now fits something else."""
    right, bottom = motif.size[0] - 1, motif.size[1] - 1
    to_full = np.linalg.inv(motif.from_full).astype(np.float64)
    corners = mapped(to_full, [(0, 0), (right, 0), (right, bottom), (0, bottom)])
    here, there = mapped(poses, corners), mapped(others, corners)
    sizes = np.linalg.norm(there[:, 0] - there[:, 2], axis=1)
    return np.asarray(np.abs(here - there).max((1, 2)) <= _MAX_MOVE * sizes)


def covered_points(motif: PlaneMotif, patch: Patch) -> Bool[Tensor, " N"] | None:
    """Which points of a motif are covered in a rectified scene; None: too few or too many.

    The agreement of a cell is Σ w t·y / √(Σ w t² Σ w y²) over its points and channels.
    """
    (columns, rows), t = (torch.from_numpy(motif.places).round().long() + MARGIN).unbind(1), motif.target
    y, w = _compared(motif, patch)
    if not float(w.sum()) > 0:
        return None
    shape, cell = _cells(rows, columns)
    ty, tt, yy = (
        torch.bincount(cell, (w * (a * b).sum(1)).double(), shape[0] * shape[1])
        for a, b in ((t, y), (t, t), (y, y))
    )
    # The median is weighted by the energy of the motif, since flat cells agree with nothing.
    agreement, known = ty / (tt * yy).sqrt().clamp_min(1e-12), tt > 0
    covered = known & (agreement < _AGREES * _weighted_median(agreement[known], tt[known]))
    covered = _connected(covered.view(shape), known.view(shape)).flatten()
    share = float(tt[covered].sum() / tt.sum())
    return covered[cell] if _MIN_COVER <= share <= _MAX_COVER else None


def _connected(covered: Bool[Tensor, "h w"], known: Bool[Tensor, "h w"]) -> Bool[Tensor, "h w"]:
    """The covered cells of which enough neighbours are covered, too.

    Something in front of an object covers adjacent cells. Cells that differ by chance, or because one
    specimen differs from another, are scattered: a fit without them costs time and gains nothing.
    """
    # Both averages count cells beyond the border as 0, so their ratio is over the cells that there are.
    around, all_around = (F.avg_pool2d(part[None].float(), 3, 1, 1)[0] for part in (covered, known))
    return covered & (around >= _CONNECTED * all_around)


def point_evidence(
    scene: ScenePyramid, motif: PlaneMotif, pose: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions in a scene of a motif's points at a pose, (N, 2), and how strongly each agrees, (N,).

    Arguments:
        scene: the scene.
        motif: at one resolution; some of its points suffice.
        pose: motif pixels → scene pixels at full size, 3×3.
    """
    to_scene = pose @ np.linalg.inv(motif.from_full)
    spots, patch = mapped(to_scene, motif.places), patch_of(scene_levels(scene), motif, to_scene)
    if patch is None:
        return spots, np.zeros(len(spots))
    # Only agreement counts as evidence: a point that contradicts the motif has none, instead of less.
    y, w = _compared(motif, patch)
    return spots, (w * (motif.target * y).sum(1)).clamp_min(0).double().numpy()


def _compared(motif: PlaneMotif, patch: Patch) -> tuple[Float[Tensor, "N 8"], Float[Tensor, " N"]]:
    """The scene's channels at the points of a motif, with mean 0; and the weights, 0 outside the scene."""
    columns, rows = (torch.from_numpy(motif.places).round().long() + MARGIN).unbind(1)
    scene = patch.channels.movedim(0, -1)[rows, columns]  # as they lie in memory
    both = (scene + scene.roll(DIRECTIONS // 2, 1)) / 2
    y = torch.where(motif.unsigned[:, None], both, scene)
    w = torch.where(patch.inside[rows, columns], motif.weights, 0.0)
    return y - (w[:, None] * y).sum() / (DIRECTIONS * w.sum()).clamp_min(1e-9), w


def _cells(rows: Tensor, columns: Tensor) -> tuple[tuple[int, int], Tensor]:
    """The number of cells down and across, and the cell of each point."""
    down, across = int(rows.max()) // _CELL + 1, int(columns.max()) // _CELL + 1
    return (down, across), rows // _CELL * across + columns // _CELL


def _weighted_median(values: Float[Tensor, " K"], weights: Float[Tensor, " K"]) -> float:
    """The first value, in ascending order, with which the weights reach half of their sum."""
    order = values.argsort()
    share = weights[order].cumsum(0)
    return float(values[order][int((share < share[-1] / 2).sum())])
