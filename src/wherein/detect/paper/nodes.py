"""The nodes of the paper's network: registration from every stride, and occurrence maps (section 4.3)."""

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
"""Pixels with a lower weight in the cost, relative to a pixel well inside the motif, are not compared. In a
motif that does not fill its box, half of the pixels or more have no weight. A choice."""


@dataclass(frozen=True)
class Hyperparameters:
    """(ν, T, Δ, σ², σ0², α, γ) of algorithm 1, for visual motifs and for spiky ones.

    The widths are those of appendix A.4. α and γ are those of the released code, where they were set by hand
    for its crab, but relative to the motif's size: there α = γ = 10 for motifs of about 1000 pixels. The
    numbers of iterations are smaller than in the paper, since the step sizes come from the curvature of the
    cost (`curvature_steps`). `wherein.detect.paper.tuning` measures hyperparameters for a template.
    docs/maths.md compares all with the paper's.

    Attributes:
        stride: Δ_H = Δ_W in pixels.
        sigma0: σ0, the width of the spikes.
        aggregate: how strides are combined into an occurrence map.
        sigma, scene_sigma: σ and σ_in of the first round.
        fine_sigma: σ of the second round, in which the scene is not smoothed.
        steps, fine_steps: T of each round.
        rate, fine_rate: factor of the step sizes of each round; 1 is one over the curvature.
        spacing, fine_spacing: spacing of the compared pixels along each axis, in each round.
        keep: fraction of the strides that enter the second round.
        alpha, gamma: α |Ω| and γ / |Ω|, for costs divided by the number of pixels in the motif's support.
        spike_sigma: σ of spikes, σ0 included.
        spike_steps, spike_rate: T, and ν relative to the theorem's step sizes.
        spike_similarity: strides start only where the NCC is higher than this.
        spike_alpha, spike_gamma: α and γ for costs in units of a missing spike, see `missing_spike`.
        filters: whether the smoothing filters are learned tap by tap, and not only their widths.
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
class StrideResults:
    """The results of the registrations from N strides of a node.

    Attributes:
        matrix: the part's own pixels → scene pixels; canvas → scene pixels for a group.
        cost: loss(v, λ), the final cost.
        point: the position of the joint in the scene, where the node draws a spike.
    """

    matrix: Float[Tensor, "N 3 3"]
    cost: Float[Tensor, " N"]
    point: Float[Tensor, "N 2"]

    def __len__(self) -> int:
        return len(self.cost)

    def __getitem__(self, which: Tensor) -> "StrideResults":
        return StrideResults(self.matrix[which], self.cost[which], self.point[which])

    def concatenate(self, other: "StrideResults") -> "StrideResults":
        """These results followed by others of the same node."""
        return StrideResults(
            torch.cat((self.matrix, other.matrix)),
            torch.cat((self.cost, other.cost)),
            torch.cat((self.point, other.point)),
        )


@dataclass(frozen=True)
class Occurrences(StrideResults):
    """The results of a node's strides, and the occurrence map drawn from them.

    Attributes:
        weight: the confidence of each stride, 0 to 1 (eq. 14).
        map: ω_v, of the size of the scene.
    """

    weight: Float[Tensor, " N"]
    map: Float[Tensor, "H W"]


class Node(nn.Module):
    """One node v: registration from every stride, and its occurrence map ω_v.

    Arguments:
        network: the motif and the unrolled stages of its registration.
        at: position of the motif's top-left pixel in the node's own pixels; (0, 0) for a leaf.
        pivot: its joint in its own pixels.
        alpha, gamma: α_v, γ_v.
        screen: which strides to register.
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
        # α must be positive, so its logarithm is learned; γ may be 0.
        self.log_alpha = nn.Parameter(torch.tensor(alpha).log())
        self.gamma = nn.Parameter(torch.tensor(gamma))

    def forward(self, scene: Float[Tensor, "C H W"], sigma0: Float[Tensor, ""], memory: float) -> Occurrences:
        """The occurrences of the node in a scene, or in the occurrence maps of its children."""
        size = (scene.shape[1], scene.shape[2])
        motif = (self.network.mask.shape[0], self.network.mask.shape[1])
        starts = grid(size, motif, self.stride, scene)
        found = register_strides(self.network, scene, starts, self.screen, memory)
        return self.occurrences(self.results(found.matrix, found.cost), size, sigma0)

    def results(self, matrix: Float[Tensor, "N 3 3"], cost: Float[Tensor, " N"]) -> StrideResults:
        """The node's poses and joints, from registrations of its motif (motif pixels → scene)."""
        # The motif of a group begins at `at` on the canvas: a pixel p of the node is its pixel p − at.
        matrix = matrix @ shift_matrix(-matrix.new_tensor(self.at))
        return StrideResults(matrix, cost, (matrix @ matrix.new_tensor((*self.pivot, 1.0)))[:, :2])

    def occurrences(
        self, found: StrideResults, size: tuple[int, int], sigma0: Float[Tensor, ""]
    ) -> Occurrences:
        """ω_v from the results of the strides (eq. 14), on a scene of this height and width."""
        weight = confidence(found.cost, self.log_alpha.to(found.cost).exp(), self.gamma.to(found.cost))
        drawn = occurrence_map(found.point, weight, sigma0.to(found.cost), size, self.aggregate)
        return Occurrences(found.matrix, found.cost, found.point, weight, drawn)


def leaf_node(motif: Motif, pivot: tuple[float, float], chosen: Hyperparameters) -> Node:
    """The node of a visual motif: cost-smoothed registration in two rounds (eq. 12).

    The first round smooths much, for a large basin of attraction; the second little, for an exact pose.
    """
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
    # The cost is a sum over |Ω| pixels. So γ grows with |Ω| and α falls: the size of a motif does not matter.
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


def group_node(
    extracted: OccurrenceMotif,
    joints: Float[Tensor, "C 2"],
    pivot: tuple[float, float],
    chosen: Hyperparameters,
) -> Node:
    """The node of a spiky motif: complementary smoothing (eq. 13) with the theorem's step sizes (17).

    Arguments:
        extracted: x_v, the motif of spikes.
        joints: positions of the spikes in the pixels of x_v.
        pivot: the group's own joint on the canvas.
        chosen: all other hyperparameters.
    """
    motif, channels = extracted.motif, len(joints)
    # The theorem's step sizes are for positions relative to the point about which the motion turns.
    centre = joints.new_tensor(((motif.width - 1) / 2, (motif.height - 1) / 2))
    sizes = rigid_step_sizes(joints - centre, chosen.spike_sigma)
    steps = chosen.spike_rate * torch.stack((sizes.linear, sizes.shift, sizes.shift))
    # The spikes have the width σ0 already, and variances of Gaussians add up under convolution.
    left = math.sqrt(chosen.spike_sigma**2 - chosen.sigma0**2)
    # On a lattice finer than half its width, the sum over a Gaussian equals the integral to a millionth.
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
    """1/(8π c σ²): the cost (13) if one of c spikes is missing and the others are in place.

    It is 1/(2c) times ‖g_σ²‖² = 1/(4π σ²), the squared norm of one spike of width σ.
    """
    return 1 / (8 * math.pi * channels * sigma**2)


def curvature_steps(settings: CostSmoothed, motif: Motif) -> Float[Tensor, " P"]:
    """The step sizes ν = 1/(∂²φ/∂p²) for (θ, b_x, b_y), with the motif in front of its own mean colour.

    The paper's heuristic, a tenth of 4σ/max(h, w)² and 2σ/max(h, w) (appendix A.4), depends on the motif's
    size but not on its contrast, and needs a thousand iterations. With these step sizes, tens are enough.
    """
    mean = (motif.masked.sum((1, 2)) / motif.mask.sum())[:, None, None]
    scene = motif.masked - motif.mask * mean
    alone = Motif(motif.pixels - mean, motif.mask)
    pad = 8
    start = shift_matrix(scene.new_full((1, 2), pad))
    # The curvature at the true pose: the scene is the motif itself, shifted by `pad`.
    objective = MotionObjective(settings.bind(F.pad(scene, (pad,) * 4), alone), Euclidean(), start)
    hessian = objective.linearise(objective.start()).hessian
    assert hessian is not None
    angle, x, y = hessian[0].diagonal().unbind()
    # One step size for both axes, of the larger curvature: it is safe for both.
    shift = torch.maximum(x, y)
    lowest = torch.finfo(shift.dtype).eps * motif.mask.sum()  # a motif of one colour has no curvature
    return 1 / torch.stack((angle, shift, shift)).clamp_min(lowest)
