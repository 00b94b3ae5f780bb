"""The C functions that compare the pixels of a motif with those of a scene, by ZNCC."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.native import abi, kernel, structs
from wherein.native.pointers import FLOAT, check_reach, planes_of, pointer, with_contiguous_rows

_Counts = Int[Tensor, " B"]


def motif_side(
    pixels: Float[Tensor, "C h w"],
    mask: Float[Tensor, "h w"],
    motion: abi.MotionKind,
    rules: structs.SideRules,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The fields of a `MotifSide`: centre, radius, unit, points and known."""
    pixels, mask = with_contiguous_rows(pixels, mask)
    channels, size, most = len(pixels), motion.parameters, min(rules.limit, mask.numel())
    columns, points, known = size + 1, 3 + size, 3 + size + 2 * most
    out = pixels.new_empty(known + channels * columns * most)  # one buffer: allocating takes microseconds
    start = pointer(out, tuple(out.shape))
    side = structs.SideArrays(
        centre=start,
        radius=start + 2 * FLOAT,
        unit=start + 3 * FLOAT,
        points=start + points * FLOAT,
        known=start + known * FLOAT,
        motion=motion,
        count=0,
    )
    kernel.call("wherein_motif_side", planes_of(pixels), planes_of(mask[None]), rules, side)
    # C writes rows of the actual number of pixels, at most `most`; the views have the layout of `MotifSide`.
    n = side.count
    return (
        out[:2],
        out[2],
        out[3:points],
        out.as_strided((n, 2), (1, n), points),
        out.as_strided((n, channels, columns), (1, columns * n, n), known),
    )


def align(
    scenes: Sequence[Float[Tensor, "C _ _"]],
    points: Float[Tensor, "N 2"],
    known: Float[Tensor, "N C K"],
    unit: Float[Tensor, " P"],
    radius: Float[Tensor, ""],
    motion: abi.MotionKind,
    poses: Float[Tensor, "B 3 3"],
    rules: structs.SolverRules,
) -> tuple[Float[Tensor, "B 3 3"], Float[Tensor, " B"], _Counts, _Counts, _Counts]:
    """`gauss_newton` for a `CorrelationObjective`.

    Arguments:
        scenes: one for all poses, or one for each pose; all have the same number of channels.
        points, known, unit, radius: the fields of the `MotifSide`.
        motion: the motion for which the motif was linearised.
        poses: the starts.
        rules: the constants of the solver and of the objective.

    Returns:
        Poses, costs, steps taken, evaluations of the cost, and statuses (indices into `abi.STATUSES`).
    """
    # C needs one row for each coordinate and column. `motif_side` returns views of this layout, so that
    # nothing is copied here.
    points, known = points.mT.contiguous(), known.permute(1, 2, 0).contiguous()
    unit, *scenes = with_contiguous_rows(unit, *scenes)
    # A copy, as C replaces the poses by the results.
    found, batch = poses.clone(memory_format=torch.contiguous_format), len(poses)
    costs, (steps, evaluations) = found.new_empty(batch), found.new_empty(2, batch, dtype=torch.int64)
    statuses = found.new_empty(batch, dtype=torch.int32)
    count = points.shape[1]
    side = structs.SideArrays(
        centre=None,
        radius=pointer(radius, ()),
        unit=pointer(unit, (motion.parameters,)),
        points=pointer(points, (2, count)),
        known=pointer(known, (len(scenes[0]), motion.parameters + 1, count)),
        motion=motion,
        count=count,
    )
    fits = structs.FitArrays(
        poses=pointer(found, (batch, 3, 3)),
        costs=pointer(costs, (batch,)),
        steps=pointer(steps, (batch,), torch.int64),
        evaluations=pointer(evaluations, (batch,), torch.int64),
        statuses=pointer(statuses, (batch,), torch.int32),
        count=batch,
        each=int(len(scenes) > 1),
    )
    if len(scenes) not in (1, batch) or len({len(scene) for scene in scenes}) > 1:
        raise ArgumentError(f"{len(scenes)} scenes for {batch} poses, or scenes with other channels")
    in_c = (structs.Planes * len(scenes))(*map(planes_of, scenes))
    kernel.call("wherein_align", in_c, side, rules, fits)
    return found, costs, steps, evaluations, statuses


def screen(
    padded: Float[Tensor, "2 h w"],
    margin: int,
    kernels: tuple[Int[Tensor, " M"], Float[Tensor, " M"], Int[Tensor, " A"]],
    first: int,
    min_variance: float,
    best: Float[Tensor, "H W"],
    which: Int[Tensor, "H W"],
) -> None:
    """The best ZNCC over some kernels at every place; updates `best` and `which` where it is higher.

    Arguments:
        padded: the scene, one channel, and its square; `margin` pixels larger on each side, and at least
            `abi.SCREEN_SPAN` more to the right.
        margin: the distance of the first place from the corner, along both axes.
        kernels: for every point the offset of its pixel from that of the centre, in floats, and its value;
            and for every kernel its number of points. Integers are int32.
        first: the number of the first kernel.
        min_variance: minimum variance of the scene; flatter places are treated as if they had this variance.
        best, which: float32 and int32, contiguous.
    """
    offsets, values, counts = kernels
    height, width = best.shape
    # Kernels may have any offsets, so their reach is checked here: C would read beyond the picture.
    corner = margin * padded.stride(1) + margin
    check_reach(padded[0].numel(), corner, (height - 1) * padded.stride(1) + width - 1, offsets)
    places = structs.Planes(
        pixels=pointer(padded, tuple(padded.shape)) + FLOAT * corner,
        plane_stride=padded.stride(0),
        row_stride=padded.stride(1),
        channels=1,
        height=height,
        width=width,
    )
    points = structs.ScreenKernels(
        offsets=pointer(offsets, (int(counts.sum()),), torch.int32),
        values=pointer(values, tuple(offsets.shape)),
        counts=pointer(counts, (len(counts),), torch.int32),
        count=len(counts),
        first=first,
    )
    maps = structs.ScreenMaps(
        best=pointer(best, (height, width)), which=pointer(which, (height, width), torch.int32)
    )
    kernel.call("wherein_screen", places, points, min_variance, maps)
