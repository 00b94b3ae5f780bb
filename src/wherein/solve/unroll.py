"""Solvers as networks: T steps are T layers, whose parameters can be learned (section 3.3).

There are no separate unrolled solvers. The layers here own the parameters and run `proximal_gradient` or
`gauss_newton` for a fixed number of steps. The result is differentiable with respect to step sizes, smoothing
levels, filters, the motif and the scene.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from wherein.errors import require
from wherein.formulations.background import WithBackground
from wherein.formulations.base import Formulation
from wherein.formulations.channel_cost import Channels
from wherein.formulations.cost_smoothed import CostSmoothed
from wherein.formulations.motion_objective import MotionObjective
from wherein.formulations.objective import Objective, Variables
from wherein.formulations.plain import Plain
from wherein.formulations.rigid_spikes import RigidSpikes
from wherein.formulations.spikes import Spikes
from wherein.images.gaussian import gaussian_1d, value_of
from wherein.images.motif import Motif
from wherein.motion.models import Motion
from wherein.solve.gauss_newton import Damping, gauss_newton
from wherein.solve.proximal import Step, proximal_gradient
from wherein.solve.solution import Solution, Status

Settings = Plain | CostSmoothed | WithBackground | Spikes | RigidSpikes | Channels
"""The hyperparameters of a formulation that can be unrolled, to be bound to a scene and a motif."""


class ProximalLayers(nn.Module):
    """T steps of the proximal gradient method, each with its own step sizes.

    Arguments:
        depth: T.
        pose: the initial step sizes, one for each component of the pose (P,).
        background: the step size of the background model; None if the formulation has none.
        hold: in the first `hold` steps only the background changes (appendix A.3: 5).
    """

    moves: Tensor

    def __init__(
        self, depth: int, pose: Float[Tensor, " P"], background: float | None = 1.0, hold: int = 0
    ) -> None:
        super().__init__()
        require(depth > hold >= 0, f"hold must be 0 to depth − 1, but hold is {hold} and depth is {depth}")
        require(bool((pose > 0).all()), "step sizes must be positive: their logarithms are learned")
        # Logarithms, so that no update can make a step size negative.
        self.log_pose = nn.Parameter(pose.log().repeat(depth, 1))
        self.log_background = None if background is None else nn.Parameter(pose.new_tensor(background).log())
        # Held layers have a step size of 0 for the pose, since the background still changes in them.
        self.register_buffer("moves", (torch.arange(depth) >= hold).to(pose.dtype))

    def forward(self, objective: Objective, start: Variables) -> Solution:
        """The solver's result after all layers."""
        # (T, P): a row of step sizes for each layer.
        sizes = self.log_pose.exp() * self.moves[:, None]
        background = 1.0 if self.log_background is None else self.log_background.exp()
        return proximal_gradient(objective, start, [Step(size, background) for size in sizes])


class GaussNewtonLayers(nn.Module):
    """T steps of damped Gauss–Newton; the initial damping can be learned."""

    def __init__(self, depth: int, damping: Damping = Damping()) -> None:
        super().__init__()
        require(depth > 0, f"a network needs at least one layer, but depth is {depth}")
        self.depth, self.damping = depth, damping
        self.log_damping = nn.Parameter(torch.as_tensor(damping.start).log())

    def forward(self, objective: Objective, start: Variables) -> Solution:
        """The solver's result after all layers."""
        # Tolerance 0: no early stop, so that the depth is fixed.
        damping = replace(self.damping, start=self.log_damping.exp())
        return gauss_newton(objective, start, self.depth, damping, tolerance=0.0)


class UnrolledStage(nn.Module):
    """A formulation whose smoothing can be learned, and the layers that minimise it.

    Arguments:
        settings: the formulation.
        layers: `ProximalLayers` or `GaussNewtonLayers`.
        filters: learn every tap of the filter (kept symmetric), and not only its width.
    """

    def __init__(
        self, settings: Settings, layers: ProximalLayers | GaussNewtonLayers, filters: bool = False
    ) -> None:
        super().__init__()
        sigma = torch.as_tensor(settings.sigma)
        self.layers, self._settings = layers, settings
        # Logarithms, so that no update can make a smoothing level negative. σ = 0 cannot be learned.
        self.log_sigma = nn.Parameter(sigma.log()) if value_of(sigma) > 0 and not filters else None
        self.half_taps: nn.Parameter | None = None
        self.log_scene_sigma: nn.Parameter | None = None
        if isinstance(settings, CostSmoothed) and value_of(settings.scene_sigma) > 0:
            self.log_scene_sigma = nn.Parameter(torch.as_tensor(settings.scene_sigma).log())
        if filters:
            require(
                not isinstance(settings, Spikes),
                "the filter of Spikes depends on the pose and cannot be learned: use filters=False",
            )
            require(
                not isinstance(settings, Channels),
                "the smoothing of Channels is a Gaussian, of which only the width can be learned: use "
                "filters=False",
            )
            taps = gaussian_1d(sigma)
            # One half only, so that the filter stays symmetric: it must be its own adjoint.
            self.half_taps = nn.Parameter(taps[taps.numel() // 2 :].clone())

    def settings(self, like: Tensor) -> Settings:
        """The formulation with the current values of the parameters."""
        settings = self._settings
        if self.log_scene_sigma is not None:
            assert isinstance(settings, CostSmoothed)
            settings = replace(settings, scene_sigma=self.log_scene_sigma.to(like).exp())
        if self.half_taps is not None:
            assert not isinstance(settings, Spikes | Channels)
            half = self.half_taps.to(like)
            return replace(settings, taps=torch.cat((half.flip(0)[:-1], half)))
        if self.log_sigma is None:
            return settings
        return replace(settings, sigma=self.log_sigma.to(like).exp())


@dataclass(frozen=True)
class Unrolling:
    """The result of an unrolled network, for B items.

    Attributes:
        matrix: motif pixels → scene pixels.
        cost: of the last stage.
        pose: the parameters of the motion, relative to the start.
        status: how each item ended.
    """

    matrix: Float[Tensor, "B 3 3"]
    cost: Float[Tensor, "B"]
    pose: Float[Tensor, "B P"]
    status: tuple[Status, ...]


class Unrolled(nn.Module):
    """A registration network: stages of unrolled solver steps, from coarse to fine.

    Arguments:
        motif: the picture to find.
        motion: how it may move.
        stages: run one after the other; each starts from the pose of the previous one.
        inverse: use the inverse parameterisation (eq. 15).
        learn_motif: make the motif's pixels parameters as well.

    Example:
        >>> import torch
        >>> from wherein.formulations import Plain
        >>> from wherein.images.motif import Motif
        >>> from wherein.motion import Translation
        >>> from wherein.solve import GaussNewtonLayers, Unrolled, UnrolledStage
        >>> scene = torch.zeros(1, 24, 24)
        >>> scene[0, 10:15, 11:16] = 1
        >>> motif = Motif.whole(scene[:, 6:18, 6:18])
        >>> stage = UnrolledStage(Plain(sigma=1.5), GaussNewtonLayers(8))
        >>> network = Unrolled(motif, Translation(), [stage])
        >>> start = torch.tensor([[[1.0, 0, 7.0], [0, 1, 5.0]]])
        >>> network(scene, start).matrix[0, :2, 2].detach().round(decimals=2)
        tensor([6., 6.])
    """

    pixels: Tensor
    mask: Tensor

    def __init__(
        self,
        motif: Motif,
        motion: Motion,
        stages: Sequence[UnrolledStage],
        inverse: bool = False,
        learn_motif: bool = False,
    ) -> None:
        super().__init__()
        require(
            isinstance(motif, Motif),
            f"motif must be a Motif, but is a {type(motif).__name__}: "
            "use Motif.whole(tensor) of wherein.images.motif",
        )
        require(len(stages) > 0, "an unrolled network needs at least one stage")
        self.motion, self.inverse, self.stages = motion, inverse, nn.ModuleList(stages)
        if learn_motif:
            self.pixels = nn.Parameter(motif.pixels.clone())
        else:
            self.register_buffer("pixels", motif.pixels)
        self.register_buffer("mask", motif.mask)

    def forward(
        self,
        scene: Float[Tensor, "*S C H W"],
        base: Float[Tensor, "B 3 3"] | Float[Tensor, "B 2 3"] | None = None,
    ) -> Unrolling:
        """Register the motif in one scene from B starts, or in B scenes from one start each.

        Arguments:
            scene: (C, H, W), or (B, C, H, W).
            base: the starts, motif pixels → scene pixels, 3×3 or 2×3; the identity by default.

        Raises:
            ArgumentError: an argument is no tensor, or has another shape.
        """
        for name, given in (("scene", scene), ("base", base)):
            require(
                isinstance(given, Tensor) or (name == "base" and given is None),
                f"{name} must be a tensor, but is a {type(given).__name__}: use torch.as_tensor",
            )
        if base is not None:
            require(
                base.ndim == 3 and base.shape[-2:] in ((3, 3), (2, 3)),
                f"base must have shape (B, 3, 3) or (B, 2, 3), but has {tuple(base.shape)}",
            )
            last = base.new_tensor((0.0, 0.0, 1.0)).expand(len(base), 1, 3)
            base = base if base.shape[-2] == 3 else torch.cat((base, last), 1)
        # Stages share the base and pass on the pose, which is in full-size pixels at every smoothing level.
        pose: Tensor | None = None
        for stage in self.stages:
            assert isinstance(stage, UnrolledStage)
            found = self.run(stage, self.bind(stage, scene), base, pose)
            pose = found.pose
        return found

    def bind(self, stage: UnrolledStage, scene: Float[Tensor, "*S C H W"]) -> Formulation:
        """The stage's formulation bound to this scene and the current motif."""
        motif = Motif(self.pixels.to(scene), self.mask.to(scene))
        return stage.settings(scene).bind(scene, motif)

    def run(
        self,
        stage: UnrolledStage,
        formulation: Formulation,
        base: Float[Tensor, "B 3 3"] | None,
        pose: Float[Tensor, "B P"] | None = None,
    ) -> Unrolling:
        """The result of one stage, which starts from the pose of the previous one."""
        objective = MotionObjective(formulation, self.motion, base, self.inverse)
        solution: Solution = stage.layers(objective, objective.start(pose))
        at = solution.variables
        return Unrolling(objective.matrix(at), solution.cost, at.pose, solution.status)
