"""Scenes and motifs at halves of their size, each made once, and the descent of many poses on one of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.motif_side import MotifSide, motif_side
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.models import Motion
from wherein.pyramid.alignment import align
from wherein.pyramid.register_pyramid import Level, Poses
from wherein.registration.plan import Stage
from wherein.solve.gauss_newton import Damping
from wherein.warp import Surface


class SceneLevels:
    """A scene at full size and at halves of it."""

    def __init__(self, scene: Float[Tensor, "C H W"]) -> None:
        self._surfaces = {1: Surface(scene)}

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self._surfaces[1].width, self._surfaces[1].height

    def surface(self, factor: int) -> Surface:
        """The scene, reduced by a power of 2."""
        if factor not in self._surfaces:
            self._surfaces[factor] = Surface(pool(self.surface(factor // 2).scene, 2))
        return self._surfaces[factor]


class MotifLevels:
    """A motif's side of the objective at every scale, motion and number of pixels that was asked for."""

    def __init__(self, motif: Motif) -> None:
        self.motif = motif
        self._reduced = {1: motif}
        self._sides: dict[tuple[int, str, int | None], MotifSide] = {}

    @cached_property
    def some_points(self) -> NDArray[np.float64]:
        """(3, N): every seventh pixel well inside the mask, as (x, y, 1)."""
        rows, columns = np.nonzero(self.motif.mask.numpy() > 0.5)
        return np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)[:, ::7]

    def reduced(self, factor: int) -> Motif:
        """The motif, reduced by a power of 2."""
        if factor not in self._reduced:
            self._reduced[factor] = self.reduced(factor // 2).pooled(2)
        return self._reduced[factor]

    def side(self, factor: int, motion: Motion, limit: int | None) -> MotifSide:
        """Made on first use."""
        key = (factor, motion.name, limit)
        if key not in self._sides:
            self._sides[key] = motif_side(self.reduced(factor), motion, limit)
        return self._sides[key]


@dataclass(frozen=True)
class Descended:
    """Poses at full size after a stage, and the ZNCC of each; −1 where there is none."""

    poses: Poses
    zncc: NDArray[np.float64]

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Descended":
        return Descended(self.poses[chosen], self.zncc[chosen])


def descend(
    scene: SceneLevels, motif: MotifLevels, motion: Motion, stage: Stage, poses: Poses, robust: bool = False
) -> Descended:
    """Bring poses to rest on one scale, each by itself, in the order in which they came.

    Arguments:
        scene, motif: at every scale.
        motion: how the poses may move.
        stage: which scale, how many steps and pixels.
        poses: motif pixels → scene pixels, full size.
        robust: trust pixels less that do not fit; the ZNCC that is told is that of all pixels alike.
    """
    surface = scene.surface(stage.scale)
    if not len(poses) or not surface.scene.numel():  # of a small scene no pixel may be left
        return Descended(poses, np.full(len(poses), -1.0))
    side = motif.side(stage.scale, motion, stage.pixels)
    damping = Damping(1e-3 if stage.scale == 1 else 1e-2)
    level = Level(CorrelationObjective(surface, side, motion), stage.scale, stage.scale, (0.0, 0.0))
    at, steps = level.enter(poses), stage.steps
    if robust:
        trusting = CorrelationObjective(surface, side, motion, robust=True)
        at, steps = align(trusting, at, stage.steps, damping, stage.tolerance).variables, 0
    ended = align(level.objective, at, steps, damping, stage.tolerance)
    cost = ended.cost.double().numpy()
    return Descended(level.leave(ended.variables), np.where(np.isfinite(cost), 1 - cost, -1.0))


def seen(scene: SceneLevels, motif: MotifLevels, poses: Poses) -> NDArray[np.float64]:
    """Which share of the motif lies in the scene, of each pose."""
    x, y, _ = (poses @ motif.some_points).transpose(1, 0, 2)
    width, height = scene.size
    inside: NDArray[np.bool_] = (x >= 0) & (y >= 0) & (x <= width - 1) & (y <= height - 1)
    return inside.mean(1)
