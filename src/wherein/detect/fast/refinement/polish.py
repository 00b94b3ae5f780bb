"""Refined poses of the pieces of hypotheses: each fitted to convergence, and kept if it keeps its joint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.refinement.converged import EVALUATE, FROM_AFAR, POLISH, converged, judged_pieces
from wherein.detect.fast.refinement.refined_piece import PRESENT, in_plane_of, is_limb, refined_piece
from wherein.detect.score import information
from wherein.motion.homography import (
    as_complex,
    local_map,
    mapped,
    similarities,
    tilts,
)
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.pixel_fit import PixelStarts, pixel_poses, pixels_of
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_planes
from wherein.pyramid.levels import Poses, ScenePyramid

_MAX_LOSS = 0.02
"""Maximum loss of ZNCC in refinement: a pose is kept if the ZNCC by which a piece is judged, or that with
little smoothing, falls by no more. A choice: the effect of interpolation. One of the two is enough, since for
limbs with stripes the ZNCC by which they are judged may be 0.1 lower at the right pose than at one 1.5°
off."""

_MAX_LOSS_BY_PIXELS = 0.05
"""Maximum loss of ZNCC by a fit by pixels that replaces one by channels. If the loss is above `_MAX_LOSS`,
the ZNCC stays that of the pose before, as after the last fit by pixels. A choice, below the loss of 0.2 with
little smoothing that this allows. Measured with 49 LEDs: 12 lost 0.02 to 0.05, and a fit by channels and then
by pixels ended at the same pose, within 0.006 px for nine of them and 0.16 px at most. For 960 painted
patches of photographs the errors of the poses did not change."""

_MAX_UPRIGHT_TILT, _TILT_GAIN = 55.0, 0.01
"""Maximum tilt in degrees that is compared with an upright pose, and the ZNCC that a tilt must gain, or its
cost (`TiltCosts`) if that is more. Choices: a true tilt of 15° shortens an object by 3 %, so that an upright
pose loses more than that; a thin object may fit a tilt anywhere in the range."""

TiltCosts = Callable[[Poses], NDArray[np.float64]]
"""From root frames (N, 3, 3) to the information that each must gain by its tilt, (N,)."""

_SIMILARITY, _HOMOGRAPHY = MOTIONS["similarity"], MOTIONS["homography"]


def _no_costs(frames: Poses) -> NDArray[np.float64]:
    return np.zeros(len(frames))


@dataclass(frozen=True)
class Polished(PlaneFits):
    """Refined poses of a piece, with a ZNCC of −1 where they are worse than the poses before.

    Attributes:
        by_pixels: which poses were fitted by the pixels of the piece, (B,).
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

    The body comes first if its tilt or its size may change, since the limbs have the same. All other pieces
    are fitted together, since no fit depends on another: `with_polished` checks later whether a limb keeps
    its joint.

    Arguments:
        scene: the scene to search.
        placement: with all pieces.
        models: the pieces.
        motion: how the body may move; a limb moves in the plane of its parent.
        tilt_costs: the information that root frames must gain by their tilt.
    """
    if motion is EUCLIDEAN:
        return _polished(scene, placement, models, motion)
    limbs, polished = [model for model in models if is_limb(model)], dict[str, Polished]()
    for body in models:
        if not is_limb(body):
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
    """The refined poses of pieces that are fitted together; arguments as of `polish_pieces`.

    A piece is not fitted in hypotheses where it was not found.
    """
    polished = {}
    poses = [placement.frames[model.piece.name] @ model.to_canvas for model in models]
    known = [np.flatnonzero(placement.zncc[model.piece.name] > 0) for model in models]
    # Poses that the pixels determine need no fit by channels.
    clear = _clear_by_pixels(scene, placement, models, motion, known)
    rest = [k[fits.zncc <= -1] for k, fits in zip(known, clear, strict=True)]
    each = list(zip(models, poses, known, clear, rest, strict=True))
    ends = converged(
        scene, [FitJob(model.informative, motion, POLISH[0], own[k]) for model, own, _, _, k in each], models
    )
    for (model, own, rows, by_pixels, k), (sharp, found) in zip(each, ends, strict=True):
        kept = found.zncc >= placement.zncc[model.piece.name][k] - _MAX_LOSS
        # The ZNCC by which the piece is judged fell too far: the pose is kept if it fits as well as before
        # with little smoothing.
        fell = np.flatnonzero(~kept)
        began = fit_planes(scene, model.sharp, motion, EVALUATE, own[k[fell]])
        kept[fell] = sharp.zncc[fell] >= began.zncc - _MAX_LOSS
        ended = _upright(scene, model, found, tilt_costs) if motion is _HOMOGRAPHY else found
        lost, fitted = np.full(len(own), -1.0), np.zeros(len(own), dtype=np.bool_)
        fits = PlaneFits(own, lost, lost).replaced(k[kept], ended[np.flatnonzero(kept)])
        good = np.flatnonzero(by_pixels.zncc > -1)
        fits, fitted[rows[good]] = fits.replaced(rows[good], by_pixels[good]), True
        polished[model.piece.name] = Polished(fits.poses, fits.zncc, fits.visible, fitted)
    return polished


def _clear_by_pixels(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    motion: Motion,
    known: Sequence[NDArray[np.int64]],
) -> list[PlaneFits]:
    """Poses of pieces that are fitted by their pixels instead of channels; a ZNCC of −1 where they are not.

    Only for pictures without an outline, whose last fit is by pixels anyway (`last_fits`), and only where the
    pixels agree with the motif and the channels rate the new pose hardly worse. Not if there may be a tilt,
    which channels determine better, nor for cut-outs, whose outline only channels can see.

    Arguments as of `polish_pieces`; `known`: the hypotheses in which each piece was found.
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
    # A fit by pixels leaves a pose unchanged, to the bit, if the pixels do not agree.
    agree = [
        np.flatnonzero((own != start.poses).any((1, 2))) for own, start in zip(moved, starts, strict=True)
    ]
    fits = [
        replace(before[n][rows], poses=own[rows]) for n, own, rows in zip(able, moved, agree, strict=True)
    ]
    judges = judged_pieces(scene, [models[n] for n in able], [motion] * len(able), fits)
    for n, rows, judged in zip(able, agree, judges, strict=True):
        loss = before[n].zncc[rows] - judged.zncc
        good = np.flatnonzero(loss <= _MAX_LOSS_BY_PIXELS)
        zncc = np.where(loss <= _MAX_LOSS, judged.zncc, before[n].zncc[rows])
        found[n] = found[n].replaced(rows[good], replace(judged, zncc=zncc)[good])
    return found


def with_polished(placement: Placement, model: PieceModel, found: Polished) -> Placement:
    """The placement with the refined poses of one piece, in the hypotheses where they are no worse.

    Arguments:
        placement: with the piece and its parent.
        model: the piece.
        found: its poses after `polish_pieces`.
    """
    zncc = placement.zncc[model.piece.name]
    return refined_piece(placement, model, found, (found.zncc > 0) & (zncc > 0), found.by_pixels)


def _upright(scene: ScenePyramid, model: PieceModel, found: PlaneFits, tilt_costs: TiltCosts) -> PlaneFits:
    """The poses, upright where an upright pose fits as well.

    A homography has four parameters more than a similarity. If there is no tilt, these fit noise, the more so
    the smaller the object is. So a tilt is reported only where it is needed.
    """
    middle = model.middle
    close = np.flatnonzero(tilts(found.poses, middle) < _MAX_UPRIGHT_TILT)
    linear = local_map(found.poses[close], middle)
    spots = mapped(found.poses[close], [middle])[:, 0]
    # The similarity closest to a 2×2 matrix A in the least-squares sense, as a complex number:
    # (a11 + a22)/2 + i (a21 − a12)/2.
    turned = (linear[:, 0, 0] + linear[:, 1, 1]) / 2 + 1j * (linear[:, 1, 0] - linear[:, 0, 1]) / 2
    starts = similarities(turned, as_complex(spots), np.array(middle))
    ((_, upright),) = converged(scene, [FitJob(model.informative, _SIMILARITY, FROM_AFAR, starts)], [model])
    before = found[close]
    # Upright poses win if they lose little ZNCC, or less information than a tilt gives to clutter.
    better = upright.zncc >= before.zncc - _TILT_GAIN
    gained = information(before.zncc) - information(upright.zncc)
    better |= (upright.zncc >= PRESENT) & (gained < tilt_costs(before.poses @ model.from_canvas))
    return found.replaced(close[better], upright[np.flatnonzero(better)])
