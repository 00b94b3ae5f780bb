"""The paper's search: registration from every point of a grid (a *stride*), in batches that fit into memory.

Pictures are smoothed once, before the strides are split into batches. Between the stages of the network,
strides that are unlikely to succeed are dropped.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from wherein.errors import require
from wherein.formulations.base import Formulation, QuadraticFormulation
from wherein.motion.field import shift_matrix
from wherein.solve.unroll import Unrolled, UnrolledStage

BYTES_PER_SAMPLE = 1000
"""Approximate memory of one compared point in one step, in bytes: 16 rows and weights of the interpolation, 9
planes (values and two derivatives of three channels), and the products of these, in float32."""

_Found = tuple[Tensor, Tensor, Tensor]
"""Matrices, costs and poses of the strides after one stage."""


@dataclass(frozen=True)
class Screen:
    """Which strides are registered.

    Arguments:
        similarity: strides start only where the similarity of scene and motif is higher than this; None:
            everywhere.
        keep: fraction of the strides that enter the next stage: the most similar ones.
    """

    similarity: float | None = None
    keep: float = 1.0

    def __post_init__(self) -> None:
        require(0 < self.keep <= 1, f"keep must be a fraction in (0, 1], but is {self.keep}")


@dataclass(frozen=True)
class StrideFits:
    """The registrations of the N strides that reached the last stage and did not diverge."""

    stride: Int[Tensor, " N"]
    """Index of the start of each."""
    matrix: Float[Tensor, "N 3 3"]
    """Motif pixels → scene pixels."""
    cost: Float[Tensor, " N"]


def grid(
    scene: tuple[int, int], motif: tuple[int, int], stride: int, like: Tensor | None = None
) -> Float[Tensor, "N 2"]:
    """Λ: a grid of start positions (x, y) of the motif's top-left pixel (section 4.3, step 3).

    The last row and column at which the motif still fits are added. Without them, the right and the bottom
    of the scene would be searched less densely. A motif that is larger than the scene starts centred.

    Arguments:
        scene, motif: height and width of each.
        stride: Δ_H = Δ_W in pixels.
        like: a tensor with the dtype and device of the result; None: those of torch's defaults.

    >>> grid((30, 45), (10, 20), 20).tolist()
    [[0.0, 0.0], [20.0, 0.0], [25.0, 0.0], [0.0, 20.0], [20.0, 20.0], [25.0, 20.0]]
    """
    require(stride >= 1, f"stride must be 1 pixel or more, but is {stride}")
    like = torch.empty(0) if like is None else like
    rows, columns = (_line(whole - part, stride, like) for whole, part in zip(scene, motif, strict=True))
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack((x.reshape(-1), y.reshape(-1)), -1)


def _line(last: int, stride: int, like: Tensor) -> Tensor:
    if last < 0:  # the motif is larger than the scene: centred
        return like.new_tensor((last / 2,))
    line = torch.arange(0, last + 1, stride, dtype=like.dtype, device=like.device)
    return line if last % stride == 0 else torch.cat((line, line.new_tensor((last,))))


def register_strides(
    network: Unrolled,
    scene: Float[Tensor, "C H W"],
    starts: Float[Tensor, "N 2"],
    screen: Screen = Screen(),
    memory: float = 64e6,
) -> StrideFits:
    """Register a motif from many starts (eq. 12 and 13).

    Arguments:
        network: the motif and the stages.
        scene: the picture to search.
        starts: λ, start positions of the motif's top-left pixel.
        screen: which strides to leave out.
        memory: approximate number of bytes for the samples of one batch. It does not change the result. More
            is not faster, as small batches stay in the cache. A backward pass holds all steps of a batch at
            once, and needs about thirty times as much.
    """
    base, kept = shift_matrix(starts), torch.arange(len(starts), device=starts.device)
    found: _Found | None = None
    for stage in network.stages:
        assert isinstance(stage, UnrolledStage)
        formulation = network.bind(stage, scene)
        batch = batch_size(formulation, memory)
        # Strides are screened before each stage: at the start by a fixed similarity, later by their rank at
        # the poses found so far, which tell them apart far better than the starts.
        pose = None
        if found is not None:
            best = _largest(similarities(formulation, found[0], batch), screen.keep)
            kept, pose = kept[best], found[2][best]
        elif screen.similarity is not None:
            kept = torch.nonzero(similarities(formulation, base, batch) > screen.similarity)[:, 0]
        found = _run(network, stage, formulation, base[kept], pose, batch)
    assert found is not None, "a network has a stage"
    matrix, cost, _ = found
    # Drop diverged strides: their NaN would spread to the map and to every gradient.
    finite = cost.detach().isfinite() & matrix.detach().flatten(1).isfinite().all(1)
    return StrideFits(kept[finite], matrix[finite], cost[finite])


def batch_size(formulation: Formulation, memory: float) -> int:
    """The number of strides whose samples fit into this many bytes, at least one."""
    height, width = formulation.points.shape[:2]
    return max(1, int(memory / (height * width * BYTES_PER_SAMPLE)))


@torch.no_grad()
def similarities(
    formulation: Formulation, matrices: Float[Tensor, "N 3 3"], batch: int
) -> Float[Tensor, " N"]:
    """The similarity of scene and motif at each pose, by which strides are screened.

    The cost would mislead: a thin dark motif has a lower cost on dark background than on itself, a pixel off.
    """
    assert isinstance(formulation, QuadraticFormulation)
    # Formulations sample about the centre of the motif, matrices are about its top-left pixel.
    frames = matrices @ shift_matrix(formulation.centre)
    return torch.cat([formulation.similarity(some) for some in frames.split(batch)])


def _largest(values: Float[Tensor, " N"], fraction: float) -> Int[Tensor, " n"]:
    """Indices of the largest values, in ascending order of the index."""
    # Rounded up, so that at least one remains; the stable sort makes ties independent of the device.
    count = math.ceil(fraction * len(values))
    return values.argsort(descending=True, stable=True)[:count].sort().values


def _run(
    network: Unrolled,
    stage: UnrolledStage,
    formulation: Formulation,
    base: Tensor,
    pose: Tensor | None,
    batch: int,
) -> _Found:
    """Run one stage for all strides, batch by batch."""

    def run(base: Tensor, pose: Tensor | None) -> _Found:
        found = network.run(stage, formulation, base, pose)
        return found.matrix, found.cost, found.pose

    # Without a stride there is no batch: results of length 0, which keep dtype and device.
    if not len(base):
        return base, base[:, 0, 0], network.motion.identity(0, like=base)
    bases = base.split(batch)
    poses = (None,) * len(bases) if pose is None else pose.split(batch)
    results = [_checkpointed(run, *both) for both in zip(bases, poses, strict=True)]
    matrices, costs, ends = zip(*results, strict=True)
    return torch.cat(matrices), torch.cat(costs), torch.cat(ends)


def _checkpointed(
    run: Callable[[Tensor, Tensor | None], _Found], base: Tensor, pose: Tensor | None
) -> _Found:
    """Run a batch; if gradients are needed, its steps are computed again in the backward pass.

    Stored for all strides, the steps would not fit into memory; those of one batch do.
    """
    if not torch.is_grad_enabled():
        return run(base, pose)
    found: _Found = checkpoint(run, base, pose, use_reentrant=False)
    return found
