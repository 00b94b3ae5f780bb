"""The paper's registration of a textured motif: formulation (4), from coarse to fine (appendix A.3).

What the text leaves open is as in the released code: the steps' scaling, that a step which made the cost rise
halves the next ones, and how smooth the background model is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.experiments.judge import Judge
from wherein.experiments.scenes import Observation, as_tensor
from wherein.formulations import MotionObjective, Variables, WithBackground
from wherein.motion import Motion, motion_named
from wherein.solve import Step, proximal_step


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
        longer, shorter: by which a step is multiplied where the cost fell, and where it rose.
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
    longer: float = 1.01
    shorter: float = 0.5


@dataclass(frozen=True, eq=False)
class Descended:
    """Where B descents ended, and what they took.

    Attributes:
        matrix: motif pixels → scene pixels.
        zncc: there.
        best: the highest on the way.
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
        goal: the ZNCC at which an item stops; above 1: none does.
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
        self.scenes, self.motif = torch.stack([each.scene for each in observed]), observed[0].motif
        self.start = as_tensor(*(each.start for each in observed))
        self.judges = [Judge(each.scene, each.motif) for each in observed]
        self.matrix, self.zncc = self.start, self._judged(self.start)
        self.best, self.arrived = self.zncc, self.zncc >= goal
        self.iterations, self.operations = (torch.zeros(len(observed)) for _ in range(2))

    def at_scale(self, sigma: float, pose: Float[Tensor, "B P"] | None) -> Float[Tensor, "B P"]:
        """The iterations of one scale, from the pose where the last one ended."""
        settings = self.schedule
        formulation = WithBackground(sigma, settings.spread).bind(self.scenes, self.motif)
        objective = MotionObjective(formulation, self.motion, self.start)
        at, size = objective.start(pose), torch.full((len(self.start), 1), settings.step * sigma)
        before = torch.full_like(self.zncc, torch.inf)
        scaling = step_scaling(self.motion, settings)
        for iteration in range(settings.iterations):
            if bool(self.arrived.all()):
                break
            found = objective.evaluate(at)
            size = size * torch.where(found.cost > before, settings.shorter, settings.longer)[:, None]
            before = found.cost
            moving = float(iteration >= settings.still)
            step = Step(moving * scaling * size, settings.background * size[..., None, None])
            at = at.where(self.arrived, proximal_step(objective, at, step, found))
            self._record(objective, at, formulation.tally.operations / len(self.start))
            formulation.tally.interpolations = formulation.tally.convolutions = 0
        return at.pose

    def _record(self, objective: MotionObjective, at: Variables, operations: float) -> None:
        """What an iteration cost and where it led."""
        self.iterations += ~self.arrived
        self.operations += operations * ~self.arrived
        self.matrix = objective.matrix(at)
        self.zncc = self._judged(self.matrix)
        self.best = torch.maximum(self.best, self.zncc)
        self.arrived = self.arrived | (self.zncc >= self.goal)

    def _judged(self, poses: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        each = [judge(pose[None]) for judge, pose in zip(self.judges, poses, strict=True)]
        return torch.cat(each)

    def ended(self) -> Descended:
        """The end of all of them."""
        return Descended(self.matrix, self.zncc, self.best, self.iterations, self.operations)


def step_scaling(motion: Motion, schedule: Schedule) -> Float[Tensor, " P"]:
    """The step of each parameter over that of a shift: they differ in unit, and so in curvature."""
    linear = {
        "translation": (),
        "euclidean": (1.0,),
        "similarity": (1.0, schedule.dilation),
        "affine": (1.0,) * 4,
    }[motion.name]
    return torch.tensor((*(schedule.linear * each for each in linear), 1.0, 1.0))
