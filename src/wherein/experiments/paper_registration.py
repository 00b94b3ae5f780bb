"""The paper's registration of a textured motif: proximal gradient on (4), coarse-to-fine (appendix A.3).

Where the text is not specific, this follows the released code: the relative step sizes of the parameters, the
halving of the step size after a step that raised the cost, and the smoothness of the background model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.experiments.registration_scenes import Observation, SupportZNCC, as_tensor
from wherein.formulations.background import WithBackground
from wherein.formulations.motion_objective import MotionObjective
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.models import Motion, motion_named
from wherein.solve.proximal import Step, proximal_step


@dataclass(frozen=True)
class Schedule:
    """Smoothing and step sizes of the paper's registration. The defaults are those of Figure 1.

    Attributes:
        sigma: the first smoothing in pixels; each scale has half the smoothing of the previous one (text: 5).
        scales: the maximum number of scales. The text has no limit; after seven, σ is 0.08 px.
        iterations: at each scale (text: 50).
        still: number of iterations at the start of each scale in which only the background model changes
            (text: 5).
        step: step size of a shift, divided by σ (text: 0.005).
        linear: step size of a matrix entry or an angle, divided by that of a shift (released code).
        dilation: step size of a scale, divided by that of an angle (released code).
        background: step size of the background model, divided by that of a shift (released code).
        spread: C, the variance of the background model's filter divided by σ² (released code).
        reach: how far the background model extends around the motif, in σ: three standard deviations of its
            filter. The text has 5, the released code the whole picture. With 5, five of the crab's ten affine
            poses of Figure 1 are missed instead of one.
        longer, shorter: factor of the step size after the cost fell, and after it rose (released code).
        coarse: while σ is at least twice this, scene and motif are halved, and σ with them. With so much
            smoothing the cost is the same, for a fraction of the work. 0: all scales at full size.
        rest: an item has finished a scale if a step moves it by less than this, in pixels. 0: it runs all
            iterations.
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
        """The factor by which scene and motif are reduced at the scale with this smoothing."""
        return 2 ** int(max(0.0, math.log2(sigma / self.coarse))) if self.coarse else 1


@dataclass(frozen=True, eq=False)
class PaperFit:
    """The results of B registrations, and what they cost.

    Attributes:
        matrix: motif pixels → scene pixels.
        zncc: at the result.
        best: the highest ZNCC at any iteration, start and end included.
        iterations: until the goal was reached, or until the end.
        operations: interpolations and convolutions of these iterations.
    """

    matrix: Float[Tensor, "B 3 3"]
    zncc: Float[Tensor, "B"]
    best: Float[Tensor, "B"]
    iterations: Float[Tensor, "B"]
    operations: Float[Tensor, "B"]


def register_by_paper(
    observed: Sequence[Observation], motion: str, schedule: Schedule, goal: float
) -> PaperFit:
    """Register one motif in B scenes, each from its start, until the ZNCC reaches a goal or the scales end.

    Arguments:
        observed: the scenes, all with the same motif.
        motion: the motion model's name.
        schedule: the scales and step sizes.
        goal: the ZNCC at which an item stops. If it is above 1, no item stops early, and the ZNCC is computed
            only at the end.
    """
    descent = _Descent(observed, motion_named(motion), schedule, goal)
    pose = None
    for scale in range(schedule.scales):
        pose = descent.run_scale(schedule.sigma / 2**scale, pose)
        if bool(descent.reached.all()):
            break
    return descent.result()


class _Descent:
    """The state of B registrations from one scale to the next."""

    def __init__(
        self, observed: Sequence[Observation], motion: Motion, schedule: Schedule, goal: float
    ) -> None:
        self.motion, self.schedule, self.goal = motion, schedule, goal
        self.scenes = torch.stack([each.scene for each in observed])
        self.motif = _multiple(observed[0].motif, schedule.reduction(schedule.sigma))
        self.start = as_tensor(*(each.start for each in observed))
        self.znccs = [SupportZNCC(each.scene, each.motif) for each in observed]
        self.matrix, self.zncc = self.start, self._zncc_at(self.start)
        self.best, self.reached = self.zncc, self.zncc >= goal
        self.iterations, self.operations = (torch.zeros(len(observed)) for _ in range(2))

    def run_scale(self, sigma: float, pose: Float[Tensor, "B P"] | None) -> Float[Tensor, "B P"]:
        """Run the iterations of one scale, from the pose at the end of the last one."""
        settings, factor = self.schedule, self.schedule.reduction(sigma)
        objective, units = self._objective(sigma, factor), _units(self.motion, factor)
        formulation = objective.formulation
        at = objective.start(None if pose is None else pose / units)
        size = torch.full((len(self.start), 1), settings.step * sigma)
        before, done = torch.full_like(self.zncc, torch.inf), self.reached
        # The cost at full size is factor² times as high. A gradient step in p = units · p' with size ν is
        # one in p' with size ν / units².
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
            at, done = ahead, done | self.reached | ((moved < settings.rest) & (moving > 0))
        return at.pose * units

    def _objective(self, sigma: float, factor: int) -> MotionObjective:
        """Formulation (4) on a scene and a motif that are reduced by a factor."""
        # The mean over a square of side f is itself a smoothing, of variance (f² − 1)/12 along each axis.
        rest = (sigma**2 - (factor**2 - 1) / 12) ** 0.5 / factor
        schedule = self.schedule
        settings = WithBackground(rest, schedule.spread, reach=schedule.reach, relief=schedule.coarse > 0)
        reduced = torch.stack([pool(scene, factor) for scene in self.scenes])
        formulation = settings.bind(reduced, self.motif.pooled(factor))
        return MotionObjective(formulation, self.motion, _enlarged(self.start, 1 / factor))

    def _record(self, matrix: Float[Tensor, "B 3 3"], done: Bool[Tensor, "B"], operations: float) -> None:
        """Count an iteration for the unfinished items, and store its poses."""
        self.iterations += ~done
        self.operations += operations / len(matrix) * ~done
        self.matrix = matrix
        if self.goal <= 1:
            self._measure()

    def _measure(self) -> None:
        """Compute the ZNCC of each item, and whether it reaches the goal."""
        self.zncc = self._zncc_at(self.matrix)
        self.best = torch.maximum(self.best, self.zncc)
        self.reached = self.reached | (self.zncc >= self.goal)

    def _zncc_at(self, poses: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        each = [zncc(pose[None]) for zncc, pose in zip(self.znccs, poses, strict=True)]
        return torch.cat(each)

    def result(self) -> PaperFit:
        """Poses and counts at the end."""
        self._measure()
        return PaperFit(self.matrix, self.zncc, self.best, self.iterations, self.operations)


def _multiple(motif: Motif, size: int) -> Motif:
    """The motif, padded at the right and at the bottom until `size` divides its height and width.

    Then its centre, about which motions act, is the same at every scale.
    """
    room = (0, -motif.width % size, 0, -motif.height % size)
    return Motif(F.pad(motif.pixels, room), F.pad(motif.mask, room))


def _enlarged(poses: Float[Tensor, "B 3 3"], factor: float) -> Float[Tensor, "B 3 3"]:
    """Convert poses between a motif and a scene that are both reduced by a factor to full size.

    With 1/factor, convert from full size.
    """
    out, back = (
        poses.new_tensor(((f, 0.0, (f - 1) / 2), (0.0, f, (f - 1) / 2), (0.0, 0.0, 1.0)))
        for f in (factor, 1 / factor)
    )
    return out @ poses @ back


def _units(motion: Motion, factor: int) -> Float[Tensor, " P"]:
    """One unit of each parameter at a reduced size, in units at full size: only shifts change."""
    return torch.tensor((*(1.0 for _ in range(motion.size - 2)), float(factor), float(factor)))


def step_scaling(motion: Motion, schedule: Schedule) -> Float[Tensor, " P"]:
    """The step size of each parameter relative to a shift's: they differ in unit, and so in curvature."""
    linear = {
        "translation": (),
        "euclidean": (1.0,),
        "similarity": (1.0, schedule.dilation),
        "affine": (1.0,) * 4,
    }[motion.name]
    return torch.tensor((*(schedule.linear * each for each in linear), 1.0, 1.0))
