"""How the fit of each piece of a detection converged, round by round.

The search keeps no record of its steps, which would slow it down. But fits are deterministic, and each pose
is fitted independently of the others. So the fit of a piece is repeated afterwards, resolution by resolution,
from the start of the search whose fit ends nearest to the detected pose. The trace of a fit of k rounds comes
from fits of 1, …, k rounds from the same start: they are the same fit, stopped after each round in turn. (The
search refines its starts on the scene's channels before it fits them; the trace leaves that out.)
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

_SAME_POSE = 0.03
"""Maximum distance between the corners of a motif at two poses that count as the same, as a fraction of its
diagonal. A choice; after a fit at the coarsest resolution, four times that is allowed."""

_ROUNDS = PlaneStage().rounds
"""Rounds of a fit at one resolution, as in the search."""


def fit_traces(finder: Finder, scene: ScenePyramid, found: Sequence[Detection]) -> tuple[FitTraces, ...]:
    """The traces of all pieces that were found, for each detection.

    Arguments:
        finder: the finder that made the hypotheses.
        scene: the scene in which they were found.
        found: the detections.
    """
    # The starts of the body are the same for all detections: they are found once.
    body = finder.body_search
    starts = body.best_starts(scene) if body is not None and found else np.zeros((0, 3, 3))
    return tuple(_traces(finder, scene, frames_of(finder, item), item, starts) for item in found)


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
        # As in the search: the body is fitted from places all over the scene, with the motion of the range; a
        # limb from the allowed turns about its joint, with a Euclidean motion in the plane of its parent.
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
    """The trace from the start whose fit ends nearest to the detected pose, or else from that pose itself."""
    # The coarsest resolution is enough to tell which start it was: finer fits move a pose only little.
    first = model.stages[0]
    ended = fit_planes(scene, first, motion, PlaneStage(), starts)
    off = _distance(model, ended.poses, pose)
    from_search = bool(len(off) and off.min() <= 4 * _SAME_POSE)
    here = starts[[int(off.argmin())]] if from_search else pose[None]
    stages = []
    for motif in model.stages:
        # One round of no steps evaluates the ZNCC at the start.
        values, fits = [float(fit_planes(scene, motif, motion, PlaneStage(1, 0), here).zncc[0])], None
        for rounds in range(1, _ROUNDS + 1):
            fits = fit_planes(scene, motif, motion, PlaneStage(rounds), here)
            values.append(float(fits.zncc[0]))
        assert isinstance(fits, PlaneFits)
        here = fits.poses  # the start of the next resolution
        if motif is model.stages[-1]:
            for stage in POLISH:
                fits = fit_planes(scene, motif, motion, stage, here)
                values.append(float(fits.zncc[0]))
                here = fits.poses
        reduction = round(1 / float(np.sqrt(motif.from_full[0, 0] * motif.from_full[1, 1])), 2)
        stages.append(TraceStage(reduction, tuple(values)))
    return FitTrace(tuple(stages), stages[-1].zncc[-1], from_search)


def _distance(model: PieceModel, poses: Poses, pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The maximum distance of the motif's corners at each pose from those at `pose`, in diagonals, (N,)."""
    corners = model.footprint.corners
    there = mapped(pose, corners)
    size = max(float(np.linalg.norm(there[0] - there[2])), 1e-9)
    return np.asarray(np.linalg.norm(mapped(poses, corners) - there, axis=2).max(1) / size)
