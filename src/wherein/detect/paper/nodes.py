"""The nodes of the paper's network: unrolled solvers for every stride, and what they show (section 4.3)."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from wherein.detect.paper.occurrence import Aggregate, confidence, occurrence_map
from wherein.detect.paper.strides import Screen, grid, register_strides
from wherein.formulations.cost_smoothed import CostSmoothed
from wherein.formulations.motion_objective import MotionObjective
from wherein.formulations.rigid_spikes import RigidSpikes
from wherein.images.motif import Motif
from wherein.motion.field import shift_matrix
from wherein.motion.models import Euclidean
from wherein.solve.unroll import ProximalLayers, Unrolled, UnrolledStage
from wherein.template.extract import OccurrenceMotif
from wherein.theory import rigid_step_sizes

NEGLIGIBLE = 0.01
"""Of a pixel well inside the motif: what weighs less in the cost is not compared. Half of the box of a motif
that does not fill it, and more, weighs nothing."""


@dataclass(frozen=True)
class Hyperparameters:
    """(ν, T, Δ, σ², σ0², α, γ) of algorithm 1, of visual motifs and of spiky ones.

    Smoothing, strides, detection parameters and the maximum in place of eq. (13)'s sum are those of the
    released code, found by hand for its crab; `wherein.detect.paper.tuning` derives them for any template.
    Iterations are fewer, since the steps here come from the curvature of the cost: see `curvature_steps`.

    Attributes:
        stride: Δ_H = Δ_W in pixels.
        sigma0: σ0, the spikes' width.
        aggregate: how an occurrence map is put together.
        sigma, scene_sigma: σ and σ_in of the first round.
        fine_sigma: σ of the second round, whose scene is not smoothed.
        steps, fine_steps: T of each.
        rate, fine_rate: of the step sizes, 1 is one over the curvature.
        spacing, fine_spacing: compare every so many pixels in the first round, and in the second.
        keep: the share of the strides that goes on to the second round.
        alpha, gamma: of the cost a pixel of the motif's support.
        spike_sigma: σ of spikes, σ0 included.
        spike_steps, spike_rate: T, and ν as a share of the theorem's step sizes.
        spike_similarity: start only where NCC is more than this.
        spike_alpha, spike_gamma: of the cost in missing spikes, see `missing_spike`.
        filters: learn the smoothing filters tap by tap, and not only their widths.
    """

    stride: int = 16
    sigma0: float = 3.0
    aggregate: Aggregate = Aggregate.MAXIMUM
    sigma: float = 3.0
    scene_sigma: float = 1.5
    fine_sigma: float = 0.1
    steps: int = 32
    fine_steps: int = 32
    rate: float = 1.0
    fine_rate: float = 0.5
    spacing: int = 2
    fine_spacing: int = 1
    keep: float = 0.2
    alpha: float = 1e4
    gamma: float = 1e-2
    spike_sigma: float = 20.0
    spike_steps: int = 32
    spike_rate: float = 1.0
    spike_similarity: float = 0.2
    spike_alpha: float = 25.0
    spike_gamma: float = 0.2
    filters: bool = False


@dataclass(frozen=True)
class Ends:
    """Where N strides of a node ended.

    Attributes:
        matrix: the part's own pixels → scene pixels; canvas → scene pixels for a group.
        cost: loss(v, λ).
        point: the joint in the scene, where its spike is.
    """

    matrix: Float[Tensor, "N 3 3"]
    cost: Float[Tensor, " N"]
    point: Float[Tensor, "N 2"]

    def __len__(self) -> int:
        return len(self.cost)

    def __getitem__(self, which: Tensor) -> "Ends":
        return Ends(self.matrix[which], self.cost[which], self.point[which])

    def and_also(self, other: "Ends") -> "Ends":
        """These and others."""
        return Ends(
            torch.cat((self.matrix, other.matrix)),
            torch.cat((self.cost, other.cost)),
            torch.cat((self.point, other.point)),
        )


@dataclass(frozen=True)
class Occurrences(Ends):
    """Where a node was found: its strides' ends, and the map that they make.

    Attributes:
        weight: how sure each is, 0 to 1 (eq. 13).
        map: ω_v, on the scene.
    """

    weight: Float[Tensor, " N"]
    map: Float[Tensor, "H W"]


class Node(nn.Module):
    """One node v: registration from every stride, and its occurrence map ω_v.

    Arguments:
        network: its motif and the unrolled stages.
        at: where the motif's top-left pixel lies in the node's own pixels: (0, 0) for a leaf.
        pivot: its joint in its own pixels.
        alpha, gamma: α_v, γ_v.
        screen: which strides are worth the work.
        stride, aggregate: see `Hyperparameters`.
    """

    def __init__(
        self,
        network: Unrolled,
        at: tuple[float, float],
        pivot: tuple[float, float],
        alpha: float,
        gamma: float,
        screen: Screen,
        stride: int,
        aggregate: Aggregate,
    ) -> None:
        super().__init__()
        self.network, self.screen, self.stride, self.aggregate = network, screen, stride, aggregate
        self.at, self.pivot = at, pivot
        self.log_alpha = nn.Parameter(torch.tensor(alpha).log())
        self.gamma = nn.Parameter(torch.tensor(gamma))

    def forward(self, scene: Float[Tensor, "C H W"], sigma0: Float[Tensor, ""], memory: float) -> Occurrences:
        """Find the node in a scene, or in its children's occurrence maps."""
        size = (scene.shape[1], scene.shape[2])
        motif = (self.network.mask.shape[0], self.network.mask.shape[1])
        starts = grid(size, motif, self.stride, scene)
        found = register_strides(self.network, scene, starts, self.screen, memory)
        return self.show(self.ends(found.matrix, found.cost), size, sigma0)

    def ends(self, matrix: Float[Tensor, "N 3 3"], cost: Float[Tensor, " N"]) -> Ends:
        """What registrations of the motif (its pixels → scene) say of the node."""
        matrix = matrix @ shift_matrix(-matrix.new_tensor(self.at))
        return Ends(matrix, cost, (matrix @ matrix.new_tensor((*self.pivot, 1.0)))[:, :2])

    def show(self, ends: Ends, size: tuple[int, int], sigma0: Float[Tensor, ""]) -> Occurrences:
        """ω_v of strides that ended there (eq. 13), on a scene of this height and width."""
        weight = confidence(ends.cost, self.log_alpha.to(ends.cost).exp(), self.gamma.to(ends.cost))
        drawn = occurrence_map(ends.point, weight, sigma0.to(ends.cost), size, self.aggregate)
        return Occurrences(ends.matrix, ends.cost, ends.point, weight, drawn)


def leaf(motif: Motif, pivot: tuple[float, float], chosen: Hyperparameters) -> Node:
    """The node of a visual motif: cost-smoothed, in two rounds (eq. 11)."""
    rounds = (
        (_smoothed(chosen.sigma, chosen.scene_sigma, chosen.spacing), chosen.steps),
        (_smoothed(chosen.fine_sigma, 0.0, chosen.fine_spacing), chosen.fine_steps),
    )
    stages = [
        UnrolledStage(
            settings, ProximalLayers(depth, rate * curvature_steps(settings, motif), None), chosen.filters
        )
        for (settings, depth), rate in zip(rounds, (chosen.rate, chosen.fine_rate), strict=True)
    ]
    pixels = float(motif.mask.sum())
    return Node(
        Unrolled(motif, Euclidean(), stages, learn_motif=True),
        (0.0, 0.0),
        pivot,
        chosen.alpha / pixels,
        chosen.gamma * pixels,
        Screen(keep=chosen.keep),
        chosen.stride,
        chosen.aggregate,
    )


def _smoothed(sigma: float, scene_sigma: float, spacing: int) -> CostSmoothed:
    return CostSmoothed(sigma, scene_sigma, spacing=spacing, relief=True, negligible=NEGLIGIBLE)


def group(
    extracted: OccurrenceMotif,
    joints: Float[Tensor, "C 2"],
    pivot: tuple[float, float],
    chosen: Hyperparameters,
) -> Node:
    """The node of a spiky motif: complementary smoothing (eq. 12) with the theorem's step sizes (17).

    Arguments:
        extracted: x_v.
        joints: where the spikes are in its pixels.
        pivot: its own joint on the canvas.
        chosen: the rest.
    """
    motif, channels = extracted.motif, len(joints)
    centre = joints.new_tensor(((motif.width - 1) / 2, (motif.height - 1) / 2))
    sizes = rigid_step_sizes(joints - centre, chosen.spike_sigma)
    steps = chosen.spike_rate * torch.stack((sizes.linear, sizes.shift, sizes.shift))
    left = math.sqrt(chosen.spike_sigma**2 - chosen.sigma0**2)
    # A Gaussian on a lattice of less than half its width is summed to a millionth.
    settings = RigidSpikes(left, spacing=max(1, int(chosen.spike_sigma / 4)))
    stage = UnrolledStage(settings, ProximalLayers(chosen.spike_steps, steps, None), chosen.filters)
    missing = missing_spike(channels, chosen.spike_sigma)
    return Node(
        Unrolled(motif, Euclidean(), [stage], learn_motif=True),
        extracted.at,
        pivot,
        chosen.spike_alpha / missing,
        chosen.spike_gamma * missing,
        Screen(similarity=chosen.spike_similarity),
        chosen.stride,
        chosen.aggregate,
    )


def missing_spike(channels: int, sigma: float) -> float:
    """1/(8π c σ²): what eq. (12) costs where one of c spikes is missing and the others are in place."""
    return 1 / (8 * math.pi * channels * sigma**2)


def curvature_steps(settings: CostSmoothed, motif: Motif) -> Float[Tensor, " P"]:
    """ν = 1/∂²φ/∂p² for (θ, b_x, b_y), where the motif lies in front of its own mean colour.

    The paper's heuristic, a small multiple of 4σ/max(h, w)² and 2σ/max(h, w), knows the motif's size but not
    its contrast, and needs a thousand iterations; with these, tens do.
    """
    mean = (motif.masked.sum((1, 2)) / motif.mask.sum())[:, None, None]
    scene = motif.masked - motif.mask * mean
    alone = Motif(motif.pixels - mean, motif.mask)
    pad = 8
    start = shift_matrix(scene.new_full((1, 2), pad))
    objective = MotionObjective(settings.bind(F.pad(scene, (pad,) * 4), alone), Euclidean(), start)
    hessian = objective.linearise(objective.start()).hessian
    assert hessian is not None
    angle, x, y = hessian[0].diagonal().unbind()
    shift = torch.maximum(x, y)
    least = torch.finfo(shift.dtype).eps * motif.mask.sum()  # a motif of one colour has no curvature
    return 1 / torch.stack((angle, shift, shift)).clamp_min(least)
