"""The last fits of detections: without the pixels that something covers, then by the pixels themselves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.refinement.refined_piece import PRESENT, in_plane_of, is_limb, refined_piece
from wherein.motion.homography import (
    tilts,
)
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.cover import fit_uncovered
from wherein.planes.pixel_fit import PixelJob, fit_pixels, pixels_of
from wherein.planes.plane_fit import PlaneFits
from wherein.pyramid.levels import ScenePyramid

_PLAIN_VIEW = 0.9
"""ZNCC from which a piece is taken to be uncovered. A choice."""

_FLAT = 1e-3
"""Degrees. A pose with less tilt than this is upright: its tilt was set to 0, up to rounding."""

_SIMILARITY, _HOMOGRAPHY = MOTIONS["similarity"], MOTIONS["homography"]


def end_pieces(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], motion: Motion
) -> Placement:
    """The placement with every piece of the detections fitted once more.

    A piece that is partly covered is fitted by its other pixels. Then all pieces are fitted by the pixels
    themselves, where these agree with the motif, unless they were before. The body comes first, since limbs
    move in its plane. The ZNCC of pieces does not change.

    Arguments as of `polish_pieces`; the placement is refined already.
    """
    limbs = [model for model in models if is_limb(model)]
    for group in ([model for model in models if not is_limb(model)], limbs):
        # Without the covered pixels first, so that the fit by pixels starts from a better pose.
        for model in group:
            placement = _uncovered(scene, placement, model, motion)
        placement = _by_pixels(scene, placement, group, motion)
        for model in group:
            if not is_limb(model):
                placement = in_plane_of(placement, model, limbs, placement)
    return placement


def _uncovered(scene: ScenePyramid, placement: Placement, model: PieceModel, motion: Motion) -> Placement:
    """The placement with one piece fitted without the pixels that something covers, in the hypotheses where
    its ZNCC says that it is present, but not in plain view."""
    piece, zncc = model.piece, placement.zncc[model.piece.name]
    partly = np.flatnonzero(
        (zncc >= PRESENT) & (zncc < _PLAIN_VIEW) & ~placement.fitted_by_pixels(piece.name)
    )
    if not len(partly):
        return placement
    moves = EUCLIDEAN if is_limb(model) else motion
    found = PlaneFits(placement.frames[piece.name] @ model.to_canvas, zncc, np.ones(len(zncc)))
    found = found.replaced(partly, fit_uncovered(scene, model.judges, model.exact, moves, found[partly]))
    return refined_piece(placement, model, found, found.zncc > 0, placement.fitted_by_pixels(piece.name))


def _by_pixels(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], motion: Motion
) -> Placement:
    """The placement with pieces fitted by their pixels, in the hypotheses where these agree with the
    motif."""
    known = {
        name: np.flatnonzero((placement.zncc[name] >= PRESENT) & ~placement.fitted_by_pixels(name))
        for name in (model.piece.name for model in models)
    }
    models = [model for model in models if len(known[model.piece.name])]
    jobs = list[tuple[str, NDArray[np.int64], PixelJob]]()
    # All pieces in one call, which shares their fits out among threads; no fit depends on another.
    fits = dict[str, PlaneFits]()
    for model in models:
        name = model.piece.name
        poses, zncc, rows = placement.frames[name] @ model.to_canvas, placement.zncc[name], known[name]
        found = fits[name] = PlaneFits(poses / poses[:, 2:, 2:], zncc, np.ones(len(zncc)))
        pixels = pixels_of(model.piece.motif, len(scene.samples))
        tilted = tilts(found.poses[rows], model.middle) >= _FLAT
        flat = _SIMILARITY if motion is _HOMOGRAPHY else motion
        # A pose that was found upright stays upright: a homography would fit noise by its other parameters.
        for some, own in ((rows[~tilted], flat), (rows[tilted], motion)):
            if len(some):
                move = EUCLIDEAN if is_limb(model) else own
                jobs.append((name, some, PixelJob(pixels, model.sharp, move, found[some])))
    for (name, some, _), ended in zip(jobs, fit_pixels(scene, [job for *_, job in jobs]), strict=True):
        fits[name] = fits[name].replaced(some, ended)
    for model in models:
        name = model.piece.name
        by_pixels = placement.fitted_by_pixels(name)
        placement = refined_piece(placement, model, fits[name], placement.zncc[name] >= PRESENT, by_pixels)
    return placement
