"""The special CPU path: functions of other modules in C, where there is a compiler.

Nothing here is to be called before `serves` has agreed. `WHEREIN_NATIVE=0` turns it off, and `reason()` says
why it is off.
"""

import ctypes
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wherein.native import library as build

CHANNELS = 4
"""The most channels that the C takes."""

_Counts = Int[Tensor, " B"]

_I, _L, _F, _P = ctypes.c_int, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
_PICTURE = (_P, _L, _L, _I, _I, _I)
_SIGNATURES = {
    "wherein_align": (*_PICTURE, _P, _P, _I, _I, _P, _F, _P, _I, _I, _P, _P, _P, _P, _P),
    "wherein_motif_side": (*_PICTURE, _P, _L, _I, _I, _P),
    "wherein_pool": (*_PICTURE, _I, _P),
    "wherein_separable": (_P, _L, _I, _I, _P, _I, _P),
    "wherein_screen": (*_PICTURE, _P, _P, _P, _I, _I, _F, _P, _P),
}


class Rules(NamedTuple):
    """The numbers that C goes by, all of them laid down elsewhere; in the order of `Rules` in align.c."""

    start: float
    ease: float
    tighten: float
    tolerance: float
    slack: float
    noise: float
    min_visible: float
    longest_step: float
    least_variance: float
    edge: float
    hidden: float
    """0: every pixel is trusted."""
    least_scale: float
    least_gain: float
    rounds: float


@cache
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    try:
        library = build.load()
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, _I
    except (build.UnavailableError, AttributeError) as error:
        return None, str(error)
    return library, ""


def available() -> bool:
    """Whether there is a library; the first call makes it."""
    return _loaded()[0] is not None


def reason() -> str:
    """Why there is no library; empty where there is one."""
    return _loaded()[1]


def serves(*tensors: Tensor) -> bool:
    """Whether these tensors can go to C: float32 on the CPU, and no gradient is asked for."""
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    graph = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return plain and not graph and available()


def align(
    scene: Float[Tensor, "C H W"],
    side: tuple[Float[Tensor, "N 2"], Float[Tensor, "N C K"], Float[Tensor, " P"], float],
    poses: Float[Tensor, "B 3 3"],
    steps: int,
    rules: Rules,
) -> tuple[Float[Tensor, "B 3 3"], Float[Tensor, " B"], _Counts, _Counts, _Counts]:
    """`gauss_newton` of a `CorrelationObjective`.

    Arguments:
        scene: of the surface.
        side: the motif's points, its columns (J, x), the units and the radius.
        poses: where to start.
        steps: how many at most; 0 only looks at the cost.
        rules: of the damping and of the objective.

    Returns:
        Poses, costs, steps taken, looks at the cost and the statuses' numbers.
    """
    points, known, unit, radius = side
    # As C wants them, and as `motif_side` left them: no copies then.
    points, known, unit, scene = (
        points.mT.contiguous(),
        known.permute(1, 2, 0).contiguous(),
        *_rows(unit, scene),
    )
    found, batch = poses.clone(memory_format=torch.contiguous_format), len(poses)
    cost, (taken, looks) = found.new_empty(batch), found.new_empty(2, batch, dtype=torch.int64)
    status = found.new_empty(batch, dtype=torch.int32)
    _call(
        "wherein_align",
        *_picture(scene),
        *(points.data_ptr(), known.data_ptr(), points.shape[1], len(unit), unit.data_ptr(), radius),
        *(found.data_ptr(), batch, steps, (ctypes.c_double * len(rules))(*rules)),
        *(cost.data_ptr(), taken.data_ptr(), looks.data_ptr(), status.data_ptr()),
    )
    return found, cost, taken, looks, status


def motif_side(
    pixels: Float[Tensor, "C h w"], mask: Float[Tensor, "h w"], size: int, limit: int | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The fields of a `MotifSide` for the motion with `size` parameters."""
    pixels, mask = _rows(pixels, mask)
    channels, columns, most = (
        len(pixels),
        size + 1,
        min(mask.numel() if limit is None else limit, mask.numel()),
    )
    out = pixels.new_empty(3 + size + (2 + channels * columns) * most)
    n = _call(
        "wherein_motif_side",
        *_picture(pixels),
        *(mask.data_ptr(), mask.stride(0), size, most, out.data_ptr()),
    )
    points, known = 3 + size, 3 + size + 2 * n
    return (
        out[:2],
        out[2],
        out[3:points],
        out.as_strided((n, 2), (1, n), points),
        out.as_strided((n, channels, columns), (1, columns * n, n), known),
    )


def pool(pixels: Float[Tensor, "C H W"], factor: int) -> Float[Tensor, "C h w"]:
    """`wherein.images.pool.pool`."""
    (pixels,) = _rows(pixels)
    channels, height, width = pixels.shape
    out = pixels.new_empty(channels, height // factor, width // factor)
    _call("wherein_pool", *_picture(pixels), factor, out.data_ptr())
    return out


def separable(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, " K"]) -> Float[Tensor, "*B H W"]:
    """`wherein.images.gaussian.separable`."""
    picture, taps = picture.contiguous(), taps.contiguous()
    out, (height, width) = torch.empty_like(picture), picture.shape[-2:]
    planes = picture.numel() // max(height * width, 1)
    sizes = planes, height, width
    _call("wherein_separable", picture.data_ptr(), *sizes, taps.data_ptr(), len(taps), out.data_ptr())
    return out


def screen(
    padded: Float[Tensor, "K h w"],
    margin: int,
    kernels: tuple[Int[Tensor, " M"], Float[Tensor, " V"], Int[Tensor, " A"]],
    first: int,
    least: float,
    best: Float[Tensor, "H W"],
    which: Int[Tensor, "H W"],
) -> None:
    """The best ZNCC over some kernels at every place, into `best` and `which` where it is better.

    Arguments:
        padded: the scene's C channels and the sum of their squares, `margin` pixels larger on each side (and
            at least 32 more to the right).
        margin: how far the first place's centre lies from the corner.
        kernels: of every point its distance from the centre in memory; the values; the number of points.
        first: the number of the first kernel.
        least: a variance below which a place counts as flat.
        best, which: float32 and int32, contiguous.
    """
    places, values, counts = kernels
    corner = padded.data_ptr() + 4 * (margin * padded.stride(1) + margin)
    _call(
        "wherein_screen",
        *(corner, padded.stride(0), padded.stride(1), len(padded) - 1, *best.shape),
        *(places.data_ptr(), values.data_ptr(), counts.data_ptr(), len(counts), first, least),
        *(best.data_ptr(), which.data_ptr()),
    )


def _call(name: str, *arguments: object) -> int:
    library = _loaded()[0]
    assert library is not None, "ask serves() first"
    result: int = getattr(library, name)(*arguments)
    if result < 0:
        raise MemoryError
    return result


def _rows(*pictures: Tensor) -> tuple[Tensor, ...]:
    """The pictures themselves, or copies where the pixels of a row do not lie side by side."""
    return tuple(picture if picture.stride(-1) == 1 else picture.contiguous() for picture in pictures)


def _picture(pixels: Tensor) -> tuple[int, ...]:
    return pixels.data_ptr(), pixels.stride(0), pixels.stride(1), *pixels.shape
