"""How the fit of each piece of a detection converged, round by round.

The search keeps no record of its steps: that would slow it down. But it is deterministic, and each pose is
fitted on its own. So the fit of a piece is repeated: from the start of the search that leads to the detected
pose, resolution by resolution. The trace of a fit of k rounds is made by fits of 1, …, k rounds from the same
start: they are the same fit, stopped later and later.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wherein.detect.explain.fit_trace import FitTrace, FitTraces, TraceStage
from wherein.detect.fast.assemble import frames_of
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.refinement.converged import POLISH
from wherein.detect.result import Detection
from wherein.motion.homography import mapped
from wherein.motion.models import Motion
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.pyramid.levels import Poses, ScenePyramid

_SAME_END = 0.03
"""Fraction of a motif's diagonal by which two poses may differ and still count as the same. A choice."""

_ROUNDS = PlaneStage().rounds


def fit_traces(finder: Finder, scene: ScenePyramid, found: Sequence[Detection]) -> tuple[FitTraces, ...]:
    """For each detection the traces of the pieces that were found.

    Arguments:
        finder: that made the hypotheses.
        scene: where they are.
        found: the detections.
    """
    body = finder.body_search
    starts = body.best_starts(scene) if body is not None and found else np.zeros((0, 3, 3))
    return tuple(_traces(finder, scene, frames_of(finder.pieces.tree, item), item, starts) for item in found)


def _traces(
    finder: Finder,
    scene: ScenePyramid,
    frames: Mapping[str, NDArray[np.float64]],
    item: Detection,
    starts: Poses,
) -> FitTraces:
    traces = {}
    for piece in finder.pieces.pieces:
        leaf = piece.fitted_leaf.name
        if not item.parts[leaf].found:
            continue
        model, body = finder.models[piece.name], finder.body_search
        pose = frames[piece.name] @ model.to_canvas
        if piece is finder.pieces.body and body is not None:
            traces[leaf] = _trace(scene, model, body.ranges.motion, starts, pose)
        else:
            parent = frames[piece.parent] if piece.parent in frames else frames[finder.pieces.tree.root]
            turned = parent @ model.starts @ model.to_canvas
            traces[leaf] = _trace(scene, model, EUCLIDEAN, turned, pose)
    return traces


def _trace(
    scene: ScenePyramid,
    model: PieceModel,
    motion: Motion,
    starts: Poses,
    pose: NDArray[np.float64],
) -> FitTrace:
    """The trace from that start whose fit comes nearest to the detected pose."""
    first = model.stages[0]
    ended = fit_planes(scene, first, motion, PlaneStage(), starts)
    off = _distance(model, ended.poses, pose)
    from_search = bool(len(off) and off.min() <= 4 * _SAME_END)
    here = starts[[int(off.argmin())]] if from_search else pose[None]
    stages = []
    for motif in model.stages:
        values, fits = [float(fit_planes(scene, motif, motion, PlaneStage(1, 0), here).zncc[0])], None
        for rounds in range(1, _ROUNDS + 1):
            fits = fit_planes(scene, motif, motion, PlaneStage(rounds), here)
            values.append(float(fits.zncc[0]))
        assert isinstance(fits, PlaneFits)
        here = fits.poses
        if motif is model.stages[-1]:
            for stage in POLISH:
                fits = fit_planes(scene, motif, motion, stage, here)
                values.append(float(fits.zncc[0]))
                here = fits.poses
        reduction = round(1 / float(np.sqrt(motif.from_full[0, 0] * motif.from_full[1, 1])), 2)
        stages.append(TraceStage(reduction, tuple(values)))
    return FitTrace(tuple(stages), stages[-1].zncc[-1], from_search)


def _distance(model: PieceModel, poses: Poses, pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest distance of the motif's corners from a pose, in units of its diagonal, (N,)."""
    corners = model.footprint.corners
    there = mapped(pose, corners)
    size = max(float(np.linalg.norm(there[0] - there[2])), 1e-9)
    return np.asarray(np.linalg.norm(mapped(poses, corners) - there, axis=2).max(1) / size)
