"""The paper's search: a registration from every point of a grid, in pieces that fit into memory.

Each stride λ is an item of one batch. Pictures are smoothed once, before the batch is taken apart; between
the stages of the network, strides that are unlikely to succeed are left behind.
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
"""Of one compared point in one step, about: 16 rows and weights, 9 planes, and what is made of them."""

_Found = tuple[Tensor, Tensor, Tensor]
"""Matrices, costs and poses of the strides of one stage."""


@dataclass(frozen=True)
class Screen:
    """Which strides are worth registering.

    Arguments:
        similarity: begin only where the scene is more similar to the motif than this; None: everywhere.
        keep: which share of the strides, the most similar by then, goes on to the next stage.
    """

    similarity: float | None = None
    keep: float = 1.0

    def __post_init__(self) -> None:
        require(0 < self.keep <= 1, f"keep is a share in (0, 1], but came as {self.keep}")


@dataclass(frozen=True)
class Registered:
    """What came of the strides that were followed to the end and did not diverge, N of them."""

    stride: Int[Tensor, " N"]
    """Which of the starts it was."""
    matrix: Float[Tensor, "N 3 3"]
    """Motif pixels → scene pixels."""
    cost: Float[Tensor, " N"]


def grid(
    scene: tuple[int, int], motif: tuple[int, int], stride: int, like: Tensor | None = None
) -> Float[Tensor, "N 2"]:
    """Λ: where the motif's top-left pixel starts, (x, y) every `stride` pixels (section 4.3, step 3).

    The last row and column at which the motif still fits are added, or the grid would lean to the left; a
    motif that is larger than the scene starts centred.

    Arguments:
        scene, motif: height and width.
        stride: Δ_H = Δ_W in pixels.
        like: a tensor whose dtype and device the points take.

    >>> grid((30, 45), (10, 20), 20).tolist()
    [[0.0, 0.0], [20.0, 0.0], [25.0, 0.0], [0.0, 20.0], [20.0, 20.0], [25.0, 20.0]]
    """
    require(stride >= 1, f"a stride is 1 pixel or more, but came as {stride}")
    like = torch.empty(0) if like is None else like
    rows, columns = (_line(whole - part, stride, like) for whole, part in zip(scene, motif, strict=True))
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack((x.reshape(-1), y.reshape(-1)), -1)


def _line(last: int, stride: int, like: Tensor) -> Tensor:
    if last < 0:
        return like.new_tensor((last / 2,))
    line = torch.arange(0, last + 1, stride, dtype=like.dtype, device=like.device)
    return line if last % stride == 0 else torch.cat((line, line.new_tensor((last,))))


def register_strides(
    network: Unrolled,
    scene: Float[Tensor, "C H W"],
    starts: Float[Tensor, "N 2"],
    screen: Screen = Screen(),
    memory: float = 64e6,
) -> Registered:
    """Register a motif from many starts (eq. 11 and 12).

    Arguments:
        network: the motif and the stages.
        scene: where to look.
        starts: λ, where the motif's top-left pixel starts.
        screen: which strides to leave out.
        memory: about how many bytes the samples of one piece of the batch may take. More is not faster: small
            pieces stay in the cache. It does not change the result. On the way back of a gradient all steps
            of one piece are held at once: some thirty times as much.
    """
    base, kept = shift_matrix(starts), torch.arange(len(starts), device=starts.device)
    found: _Found | None = None
    for stage in network.stages:
        assert isinstance(stage, UnrolledStage)
        formulation = network.bind(stage, scene)
        piece = pieces(formulation, memory)
        pose = None
        if found is not None:
            best = _most(similarities(formulation, found[0], piece), screen.keep)
            kept, pose = kept[best], found[2][best]
        elif screen.similarity is not None:
            kept = torch.nonzero(similarities(formulation, base, piece) > screen.similarity)[:, 0]
        found = _run(network, stage, formulation, base[kept], pose, piece)
    assert found is not None, "a network has a stage"
    matrix, cost, _ = found
    # A stride that diverged was not found; as a number it would spoil the map and every gradient.
    whole = cost.detach().isfinite() & matrix.detach().flatten(1).isfinite().all(1)
    return Registered(kept[whole], matrix[whole], cost[whole])


def pieces(formulation: Formulation, memory: float) -> int:
    """How many items fit into that many bytes, at least one."""
    height, width = formulation.points.shape[:2]
    return max(1, int(memory / (height * width * BYTES_PER_SAMPLE)))


@torch.no_grad()
def similarities(
    formulation: Formulation, matrices: Float[Tensor, "N 3 3"], piece: int
) -> Float[Tensor, " N"]:
    """How much each place looks like the motif: what strides are screened by.

    Not the cost: background as dark as a thin motif is cheaper than the motif a pixel off.
    """
    assert isinstance(formulation, QuadraticFormulation)
    frames = matrices @ shift_matrix(formulation.centre)
    return torch.cat([formulation.similarity(some) for some in frames.split(piece)])


def _most(values: Float[Tensor, " N"], share: float) -> Int[Tensor, " n"]:
    """Where the largest are, in the order in which they came."""
    count = math.ceil(share * len(values))
    return values.argsort(descending=True, stable=True)[:count].sort().values


def _run(
    network: Unrolled,
    stage: UnrolledStage,
    formulation: Formulation,
    base: Tensor,
    pose: Tensor | None,
    piece: int,
) -> _Found:
    """One stage of all the strides, piece by piece."""

    def run(base: Tensor, pose: Tensor | None) -> _Found:
        found = network.run(stage, formulation, base, pose)
        return found.matrix, found.cost, found.pose

    if not len(base):
        return base, base[:, 0, 0], network.motion.identity(0, like=base)
    bases = base.split(piece)
    poses = (None,) * len(bases) if pose is None else pose.split(piece)
    results = [_remembering_little(run, *both) for both in zip(bases, poses, strict=True)]
    matrices, costs, ends = zip(*results, strict=True)
    return torch.cat(matrices), torch.cat(costs), torch.cat(ends)


def _remembering_little(
    run: Callable[[Tensor, Tensor | None], _Found], base: Tensor, pose: Tensor | None
) -> _Found:
    """Run; where gradients are wanted, forget what is inside and run again on the way back.

    All steps of all strides at once are more than fit into memory: a piece at a time is kept.
    """
    if not torch.is_grad_enabled():
        return run(base, pose)
    found: _Found = checkpoint(run, base, pose, use_reentrant=False)
    return found
