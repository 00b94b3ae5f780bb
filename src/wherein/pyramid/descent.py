"""The descent of many poses at one scale: the step that `register` and the detector repeat from coarse to fine."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.formulations.correlation import CorrelationObjective
from wherein.motion.models import Motion
from wherein.pyramid.alignment import align
from wherein.pyramid.levels import Level, MotifPyramid, Poses, ScenePyramid
from wherein.solve.gauss_newton import Damping
from wherein.solve.solution import Solution

MAX_PIXELS = 2**18
"""Pixels of a motif that are compared at most, those where it changes most. A choice: more make a pose no more exact,
only slower and larger in memory."""


@dataclass(frozen=True)
class Stage:
    """One stage of a coarse-to-fine fit.

    Arguments:
        scale: the motif is reduced by this factor; 1 is full size.
        steps: maximum number of Gauss–Newton steps; 0 evaluates the cost only.
        keep: how many of the poses go on to the next stage.
        pixels: maximum number of the motif's pixels that are compared.
        tolerance: a pose has converged where a step moves it by less, in pixels of the stage.
        finer: the scene is reduced by this factor less, for a motif that the scene shows smaller.
    """

    scale: int
    steps: int
    keep: int = 1
    pixels: int = MAX_PIXELS
    tolerance: float = 1e-2
    finer: int = 1

    @property
    def scene_scale(self) -> int:
        """The factor by which the scene is reduced."""
        return max(self.scale // self.finer, 1)

    @property
    def damping(self) -> Damping:
        """At full size the pose is nearly right, and the first steps may be bolder than at a coarse scale."""
        return Damping(1e-3 if self.scale == 1 else 1e-2)


def solve_stage(level: Level, stage: Stage, poses: Poses) -> tuple[Poses, Solution]:
    """Full-size poses after a stage, in the order in which they were given, and how each of them ended."""
    ended = align(level.objective, level.enter(poses), stage.steps, stage.damping, stage.tolerance)
    return level.leave(ended.variables), ended


@dataclass(frozen=True)
class Fits:
    """Poses at full size after a stage, and the ZNCC of each; −1 where there is none."""

    poses: Poses
    zncc: NDArray[np.float64]

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Fits":
        return Fits(self.poses[chosen], self.zncc[chosen])


def descend(
    scene: ScenePyramid, motif: MotifPyramid, motion: Motion, stage: Stage, poses: Poses, robust: bool = False
) -> Fits:
    """Refine poses at one scale, each by itself.

    Arguments:
        scene, motif: at every scale.
        motion: how the poses may move.
        stage: which scale, how many steps and pixels.
        poses: motif pixels → scene pixels, full size.
        robust: give less weight to pixels that do not fit. The ZNCC that is returned weighs all pixels alike.
    """
    surface = scene.surface(stage.scale)
    if not len(poses) or not surface.scene.numel():  # of a small scene no pixel may be left
        return Fits(poses, np.full(len(poses), -1.0))
    side = motif.side(stage.scale, motion, stage.pixels)
    level = Level(CorrelationObjective(surface, side, motion), stage.scale, stage.scale)
    at, steps = level.enter(poses), stage.steps
    if robust:
        trimmed = CorrelationObjective(surface, side, motion, robust=True)
        at, steps = align(trimmed, at, stage.steps, stage.damping, stage.tolerance).variables, 0
    ended = align(level.objective, at, steps, stage.damping, stage.tolerance)
    cost = ended.cost.double().numpy()
    return Fits(level.leave(ended.variables), np.where(np.isfinite(cost), 1 - cost, -1.0))
