"""The paper's registration of a textured motif: formulation (4), from coarse to fine (appendix A.3).

What the text leaves open is as in the released code: the steps' scaling, that a step which made the cost rise
halves the next ones, and how smooth the background model is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.experiments.judge import Judge
from wherein.experiments.scenes import Observation, as_tensor
from wherein.formulations.background import WithBackground
from wherein.formulations.motion_objective import MotionObjective
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.models import Motion, motion_named
from wherein.solve.proximal import Step, proximal_step


@dataclass(frozen=True)
class Schedule:
    """How the paper descends.

    Attributes:
        sigma: the first smoothing in pixels; each scale has half of the last.
        scales: how many there are at most.
        iterations: at each scale.
        still: the first of these, in which only the background model moves.
        step: of a shift in pixels, over σ.
        linear: of the matrix's entries and of an angle, over that of a shift.
        dilation: of a scale, over that of an angle.
        background: of the background model, over that of a shift.
        spread: C, how much smoother the background model is (variance).
        reach: how many σ around the motif it reaches: three standard deviations of its filter. The text has
            5, the released code the whole picture; with 5, half of the affine poses of Figure 1 are missed.
        longer, shorter: by which a step is multiplied where the cost fell, and where it rose.
        coarse: as long as σ is twice this or more, scene and motif are halved, and σ with them: smoothed by
            so much they are the same to the cost, for a fraction of the work. 0: all scales at full size.
        rest: an item is done with a scale where a step moves it by less, in pixels; 0: after all iterations.
    """

    sigma: float = 5.0
    scales: int = 7
    iterations: int = 50
    still: int = 5
    step: float = 0.005
    linear: float = 0.01
    dilation: float = 0.1
    background: float = 25.0
    spread: float = 25.0
    reach: float = 15.0
    longer: float = 1.01
    shorter: float = 0.5
    coarse: float = 0.0
    rest: float = 0.0

    def reduction(self, sigma: float) -> int:
        """The factor by which scene and motif are reduced at a scale."""
        return 2 ** int(max(0.0, math.log2(sigma / self.coarse))) if self.coarse else 1


@dataclass(frozen=True, eq=False)
class Descended:
    """Where B descents ended, and what they took.

    Attributes:
        matrix: motif pixels → scene pixels.
        zncc: there.
        best: the highest that was seen, start and end included.
        iterations: until the goal was reached, or until the end.
        operations: interpolations and convolutions of these.
    """

    matrix: Float[Tensor, "B 3 3"]
    zncc: Float[Tensor, "B"]
    best: Float[Tensor, "B"]
    iterations: Float[Tensor, "B"]
    operations: Float[Tensor, "B"]


def descend(observed: Sequence[Observation], motion: str, schedule: Schedule, goal: float) -> Descended:
    """Register one motif in B scenes, each from its start, until ZNCC reaches the goal or the scales end.

    Arguments:
        observed: the scenes; all of one motif.
        motion: how it may move.
        schedule: the scales and steps.
        goal: the ZNCC at which an item stops; above 1: none does, and only the ends are judged.
    """
    walk = _Walk(observed, motion_named(motion), schedule, goal)
    pose = None
    for scale in range(schedule.scales):
        pose = walk.at_scale(schedule.sigma / 2**scale, pose)
        if bool(walk.arrived.all()):
            break
    return walk.ended()


class _Walk:
    """The state of B descents from one scale to the next."""

    def __init__(
        self, observed: Sequence[Observation], motion: Motion, schedule: Schedule, goal: float
    ) -> None:
        self.motion, self.schedule, self.goal = motion, schedule, goal
        self.scenes = torch.stack([each.scene for each in observed])
        self.motif = _multiple(observed[0].motif, schedule.reduction(schedule.sigma))
        self.start = as_tensor(*(each.start for each in observed))
        self.judges = [Judge(each.scene, each.motif) for each in observed]
        self.matrix, self.zncc = self.start, self._judged(self.start)
        self.best, self.arrived = self.zncc, self.zncc >= goal
        self.iterations, self.operations = (torch.zeros(len(observed)) for _ in range(2))

    def at_scale(self, sigma: float, pose: Float[Tensor, "B P"] | None) -> Float[Tensor, "B P"]:
        """The iterations of one scale, from the pose where the last one ended."""
        settings, factor = self.schedule, self.schedule.reduction(sigma)
        objective, units = self._objective(sigma, factor), _units(self.motion, factor)
        formulation = objective.formulation
        at = objective.start(None if pose is None else pose / units)
        size = torch.full((len(self.start), 1), settings.step * sigma)
        before, done = torch.full_like(self.zncc, torch.inf), self.arrived
        # Of the cost at full size, which is factor² times as high, in its own units.
        scaling = step_scaling(self.motion, settings) * (factor / units) ** 2
        for iteration in range(settings.iterations):
            if bool(done.all()):
                break
            found = objective.evaluate(at)
            size = size * torch.where(found.cost > before, settings.shorter, settings.longer)[:, None]
            before = found.cost
            moving = float(iteration >= settings.still)
            step = Step(moving * scaling * size, settings.background * size[..., None, None])
            ahead = at.where(done, proximal_step(objective, at, step, found))
            self._record(_enlarged(objective.matrix(ahead), factor), done, formulation.tally.operations)
            formulation.tally.interpolations = formulation.tally.convolutions = 0
            moved = factor * objective.length(ahead.pose - at.pose)
            at, done = ahead, done | self.arrived | ((moved < settings.rest) & (moving > 0))
        return at.pose * units

    def _objective(self, sigma: float, factor: int) -> MotionObjective:
        """Formulation (4) on scenes and motif that are reduced by a factor."""
        # Means of factor² pixels are smoothed already, by the variance of so many that lie side by side.
        left = (sigma**2 - (factor**2 - 1) / 12) ** 0.5 / factor
        schedule = self.schedule
        settings = WithBackground(left, schedule.spread, reach=schedule.reach, relief=schedule.coarse > 0)
        reduced = torch.stack([pool(scene, factor) for scene in self.scenes])
        formulation = settings.bind(reduced, self.motif.pooled(factor))
        return MotionObjective(formulation, self.motion, _enlarged(self.start, 1 / factor))

    def _record(self, matrix: Float[Tensor, "B 3 3"], done: Bool[Tensor, "B"], operations: float) -> None:
        """What an iteration cost those that were not done, and where it led."""
        self.iterations += ~done
        self.operations += operations / len(matrix) * ~done
        self.matrix = matrix
        if self.goal <= 1:
            self._judge()

    def _judge(self) -> None:
        """Who has arrived?"""
        self.zncc = self._judged(self.matrix)
        self.best = torch.maximum(self.best, self.zncc)
        self.arrived = self.arrived | (self.zncc >= self.goal)

    def _judged(self, poses: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        each = [judge(pose[None]) for judge, pose in zip(self.judges, poses, strict=True)]
        return torch.cat(each)

    def ended(self) -> Descended:
        """The end of all of them."""
        self._judge()
        return Descended(self.matrix, self.zncc, self.best, self.iterations, self.operations)


def _multiple(motif: Motif, size: int) -> Motif:
    """The motif, continued to the right and below by nothing until `size` divides its height and width.

    So its centre, about which it turns, is the same at every scale.
    """
    room = (0, -motif.width % size, 0, -motif.height % size)
    return Motif(F.pad(motif.pixels, room), F.pad(motif.mask, room))


def _enlarged(poses: Float[Tensor, "B 3 3"], factor: float) -> Float[Tensor, "B 3 3"]:
    """Poses of a motif in a scene, both reduced by a factor, at full size; or the other way, by 1/factor."""
    out, back = (
        poses.new_tensor(((f, 0.0, (f - 1) / 2), (0.0, f, (f - 1) / 2), (0.0, 0.0, 1.0)))
        for f in (factor, 1 / factor)
    )
    return out @ poses @ back


def _units(motion: Motion, factor: int) -> Float[Tensor, " P"]:
    """What one of each parameter in a scene that is reduced by a factor is at full size."""
    return torch.tensor((*(1.0 for _ in range(motion.size - 2)), float(factor), float(factor)))


def step_scaling(motion: Motion, schedule: Schedule) -> Float[Tensor, " P"]:
    """The step of each parameter over that of a shift: they differ in unit, and so in curvature."""
    linear = {
        "translation": (),
        "euclidean": (1.0,),
        "similarity": (1.0, schedule.dilation),
        "affine": (1.0,) * 4,
    }[motion.name]
    return torch.tensor((*(schedule.linear * each for each in linear), 1.0, 1.0))
