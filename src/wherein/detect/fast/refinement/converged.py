"""Fits of pieces to convergence at their finest resolution, and the ZNCC by which pieces are judged."""

from collections.abc import Sequence

import numpy as np

from wherein.detect.fast.piece_model import PieceModel
from wherein.motion.models import Motion
from wherein.planes.own_resolution import JudgeJob, judge_each
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.levels import ScenePyramid

POLISH = (
    PlaneStage(rounds=1, steps=6, tolerance=0.03),
    PlaneStage(rounds=4, steps=1, tolerance=0.005, settles=True),
)
"""A fit to convergence: one stage with the usual smoothing of the channels, then one with little smoothing.
The numbers are choices; few poses need all rounds. With a second round of the first stage, and half the
tolerance, the errors of a robot and a crab in videos were the same to about a thousandth of a pixel. LEDs and
crabs in plain view were at most 0.02 px from their limit after three rounds; without extrapolation, up to
0.15 px after four."""

FROM_AFAR = PlaneStage(rounds=2, steps=6, tolerance=0.01)
"""The first stage if the start may be some pixels off. A choice."""

EVALUATE = PlaneStage(rounds=1, steps=0)
"""No step: the ZNCC of poses as they are."""

_CLEAR = 0.75
"""If the ZNCC with little smoothing is below this, a pose is also fitted with the usual smoothing, and the
fit with the higher ZNCC (with little smoothing) is kept. Measured on 630 limbs in painted scenes, half of
them blurred by 1 to 2 px: positions were 0.072 px off in the median, and 0.54 in the worst 5 %. With little
smoothing alone they were 0.073 and 0.56 off; if the smoother fit was always kept below this ZNCC, 0.072 and
0.89, since a fit may slide along long blurred edges."""

_UNCLEAR = 0.5
"""If the ZNCC with little smoothing is below this for both fits, it does not tell which one is better: the
ZNCC by which pieces are judged decides instead. A choice, for objects that only resemble the motif: coins
with other faces score 0.01 more in the median, and the poses of 650 painted limbs are unchanged."""


def converged(
    scene: ScenePyramid, starts: Sequence[FitJob], models: Sequence[PieceModel]
) -> list[tuple[PlaneFits, PlaneFits]]:
    """The poses of pieces, fitted to convergence at their finest resolution.

    For each piece the same poses twice: with their ZNCC with little smoothing, and with the ZNCC by which
    pieces are judged.

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
    # In a blurred scene, channels with little smoothing differ from those of the motif, so that a fit by them
    # may fail. A fit with more smoothing does not need the detail that blur removes.
    blurred = [np.flatnonzero(fits.zncc < _CLEAR) for fits in sharp]
    again = [fits[rows] for fits, rows in zip(rough, blurred, strict=True)]
    smooth = fitted([model.informative for model in models], POLISH[1], again)
    ends = fitted(motifs, EVALUATE, smooth)
    judged, seems = (judged_pieces(scene, models, moves, some) for some in (sharp, smooth))
    for k, (rows, fits) in enumerate(zip(blurred, ends, strict=True)):
        zncc = sharp[k].zncc[rows]
        # An object that only resembles the motif differs in detail, and neither fit agrees with little
        # smoothing. Then the ZNCC by which pieces are judged decides.
        unclear = np.maximum(fits.zncc, zncc) < _UNCLEAR
        better = np.flatnonzero(np.where(unclear, seems[k].zncc >= judged[k].zncc[rows], fits.zncc >= zncc))
        sharp[k] = sharp[k].replaced(rows[better], fits[better])
        judged[k] = judged[k].replaced(rows[better], seems[k][better])
    return list(zip(sharp, judged, strict=True))


def judged_pieces(
    scene: ScenePyramid, models: Sequence[PieceModel], moves: Sequence[Motion], found: Sequence[PlaneFits]
) -> list[PlaneFits]:
    """The poses of pieces with the ZNCC by which they are judged (`PieceModel.judges`)."""
    jobs = [
        JudgeJob(model.judges, motion, fits) for model, motion, fits in zip(models, moves, found, strict=True)
    ]
    return judge_each(scene, jobs)
