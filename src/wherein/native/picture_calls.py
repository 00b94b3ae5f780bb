"""The C functions on pictures: reduction, smoothing, rectification and channels."""

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from numpy.typing import NDArray
from torch import Tensor

from wherein.native import abi, kernel, structs
from wherein.native.pointers import CPU, planes_of, pointer, with_contiguous_rows


def pool(pixels: Float[Tensor, "C H W"], factor: int) -> Float[Tensor, "C h w"]:
    """`wherein.images.pool.pool`."""
    (pixels,) = with_contiguous_rows(pixels)
    channels, height, width = pixels.shape
    out = pixels.new_empty(channels, height // factor, width // factor)
    kernel.call("wherein_pool", planes_of(pixels), factor, pointer(out, tuple(out.shape)))
    return out


def halve_bytes(samples: UInt8[Tensor, "C H W"]) -> Float[Tensor, "C h w"]:
    """`wherein.images.pool.pool` for bytes, by a factor of 2."""
    samples = samples.contiguous()
    channels, height, width = samples.shape
    out = torch.empty(channels, height // 2, width // 2, device=CPU)
    at, to = pointer(samples, (channels, height, width), torch.uint8), pointer(out, tuple(out.shape))
    kernel.call("wherein_halve_bytes", at, channels, height, width, to)
    return out


def grey_plane(pixels: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """The only plane of a grey picture (H, W, 3), contiguous; None if it has colours."""
    height, width, _ = pixels.shape
    out, grey = np.empty((height, width), dtype=np.uint8), np.zeros(1, dtype=np.int32)
    at, to = pointer(pixels, (height, width, 3), np.uint8), pointer(out, (height, width), np.uint8)
    kernel.call("wherein_grey_plane", at, height, width, to, pointer(grey, (1,), np.int32))
    return out if grey[0] else None


def separable(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, " K"]) -> Float[Tensor, "*B H W"]:
    """`wherein.images.gaussian.separable`."""
    picture, taps = picture.contiguous(), taps.contiguous()
    out = torch.empty_like(picture)
    if picture.numel():
        planes = planes_of(picture.reshape(-1, *picture.shape[-2:]))
        length = taps.numel()
        kernel.call(
            "wherein_separable", planes, pointer(taps, (length,)), length, pointer(out, picture.shape)
        )
    return out


def channels(
    picture: Float[Tensor, "C H W"], taps: Float[Tensor, " K"], floor: float, noise: float, window: int
) -> Float[Tensor, "H W 8"]:
    """`wherein.images.channels.channels`, with the channels of a pixel adjacent in memory."""
    (picture,) = with_contiguous_rows(picture)
    taps = taps.contiguous()
    out = picture.new_empty(*picture.shape[-2:], abi.DIRECTIONS)
    rules = channel_rules(taps, floor, noise, window)
    kernel.call("wherein_channels", planes_of(picture), rules, pointer(out, tuple(out.shape)))
    return out


def channel_rules(taps: Float[Tensor, " K"], floor: float, noise: float, window: int) -> structs.ChannelRules:
    """The settings for C; `taps` must be contiguous, and stay alive as long as the result is used."""
    return structs.ChannelRules(
        taps=pointer(taps, (taps.numel(),)), floor=floor, noise=noise, window=window, count=taps.numel()
    )


def rectify(
    scene: Float[Tensor, "C H W"], matrix: NDArray[np.float64], height: int, width: int
) -> tuple[Float[Tensor, "C h w"], Bool[Tensor, "h w"]]:
    """`wherein.planes.rectify.rectify`."""
    (scene,) = with_contiguous_rows(scene)
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    out = scene.new_empty(len(scene), height, width)
    inside = scene.new_empty(height, width, dtype=torch.bool)
    kernel.call(
        "wherein_rectify",
        planes_of(scene),
        pointer(matrix, (3, 3), np.float64),
        height,
        width,
        pointer(out, (len(scene), height, width)),
        pointer(inside, (height, width), torch.bool),
    )
    return out, inside
