"""Load a picture from a file, a PIL image, an array or a tensor. All pictures enter the package here.

There is no colour management: values are used as stored, ICC profiles and gamma are ignored. CMYK becomes
RGB by R = (255 - C)(255 - K) / 255; CMYK in a JPEG is assumed to be inverted, as Adobe's programs write it.
Pillow keeps only the high byte of 16-bit *colour*; 16-bit grey keeps all bits.
"""

import io
import math
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Shaped
from PIL import Image
from torch import Tensor

from wherein.errors import ArgumentError, PictureError, require
from wherein.images.decode import (
    as_picture_error,
    check_size,
    decode,
    decode_open,
    refuse_misread,
    strict_pillow,
    upright,
)
from wherein.images.picture import FULL, Picture, dimness, is_grey, unit
from wherein.native import kernel, picture_calls
from wherein.threads import one_thread

OVERSHOOT = 0.25
"""How far floats may lie outside [0, 1]. A choice: cubic resampling overshoots by less, 8-bit values by far
more."""

MAX_PIXELS = 200_000_000
"""Maximum number of pixels of a file or a PIL image, unless the caller says otherwise. A choice: no camera
has more, and as floats they take 2.4 GB."""

_FLOATS = {
    torch.float16: torch.float32,  # exactly; half precision has too few digits for later sums
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
}
_KINDS = "uint8, uint16, bool or float in [0, 1]"
_KNOWN_ORDER = "color='bgr' is for arrays and tensors only, and this is a {}: leave color out"
_DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")


if TYPE_CHECKING:
    Source: TypeAlias = str | PathLike[str] | Image.Image | npt.NDArray[Any] | Tensor | Picture
else:
    Source = object  # otherwise beartype, in tests, would reject a wrong type before our own error message


@one_thread()
def load_picture(
    source: Source, *, color: str = "rgb", max_pixels: int = MAX_PIXELS, role: str = ""
) -> Picture:
    """Load a picture from a file, a PIL image, an array or a tensor.

    Arguments:
        source: a path to a PNG, JPEG, WebP, TIFF, BMP or GIF file, or a PIL image (the EXIF orientation is
            applied; of an animation the first frame is used); an array (H, W), (H, W, 1), (H, W, 3) or
            (H, W, 4); a tensor (H, W), (1, H, W), (3, H, W) or (4, H, W). Arrays and tensors are uint8,
            uint16, bool or float in [0, 1]. A tensor keeps its device and its gradient, and a float tensor
            may be returned without a copy. In `samples` bytes stay bytes; in `pixels` float64 stays float64,
            everything else becomes float32. A `Picture` is returned unchanged.
        color: order of the channels of an array or a tensor: "rgb", or "bgr" as in OpenCV. "bgr" is an error
            for files and PIL images, whose order is known.
        max_pixels: maximum number of pixels of a file or a PIL image, checked before decoding.
        role: what the picture is for, such as "scene"; error messages begin with it.

    Raises:
        PictureError: a file or a PIL image cannot be read completely, or is too large.
        ArgumentError: an array or a tensor has a wrong shape, type or range; `source` is something else; or
            `color` is "bgr" for a file or a PIL image.

    >>> import numpy as np
    >>> picture = load_picture(np.full((2, 4, 4), 255, dtype=np.uint8))
    >>> picture.pixels.shape, picture.pixels.max().item()
    (torch.Size([3, 2, 4]), 1.0)
    >>> picture.mask.shape
    torch.Size([2, 4])
    """
    if color not in ("rgb", "bgr"):
        raise ArgumentError(f"color is {color!r}: it must be 'rgb' or 'bgr'")
    if max_pixels <= 0:
        raise ArgumentError(f"max_pixels is {max_pixels}: it must be positive")
    try:
        if color == "bgr" and not is_array(source):
            raise ArgumentError(_KNOWN_ORDER.format(type(source).__name__))
        return _loaded(source, color, max_pixels)
    except (ArgumentError, PictureError) as error:
        raise type(error)(f"{role}: {error}" if role else str(error)) from error


def load_scene(source: Source, *, color: str = "rgb") -> Picture:
    """Load a scene that a result can keep: its pixels are never shared with a tensor of the caller.

    Warns if it uses only a small part of the range of its values, unless it is a `Picture` already.

    Video frames are often read into the same buffer, which would later contain another frame.
    """
    picture = load_picture(source, color=color, role="scene")
    dim = None if isinstance(source, Picture) else dimness(picture)
    if dim is not None:
        warnings.warn(f"scene: {dim}", stacklevel=2)
    if not isinstance(source, Tensor):
        return picture
    mask = None if picture.mask is None else picture.mask.detach().clone()
    return Picture(picture.samples.detach().clone(), mask)


def decoded_array(path: Path, *, max_pixels: int = MAX_PIXELS) -> npt.NDArray[Any]:
    """The values of a picture file as stored, in 8 or 16 bits, (H, W), (H, W, 3) or (H, W, 4).

    Raises:
        PictureError: as in `load_picture`.
    """
    with as_picture_error(str(path)), strict_pillow():
        image = decode(path, max_pixels)
        return _deep_values(image) if image.mode in _DEEP else _values(image)


def frame_values(image: Image.Image) -> npt.NDArray[Any]:
    """The values of a loaded frame: RGB, (H, W, 3), or grey of more than 8 bits, (H, W)."""
    if image.mode in _DEEP:
        return _deep_values(image)
    values = _values(image)
    return values[..., :3] if values.ndim == 3 else values[..., None].repeat(3, axis=2)


def is_array(source: Source) -> bool:
    """Return whether the source is an array or a tensor, whose channel order only the caller knows."""
    return isinstance(source, np.ndarray | Tensor)


def is_many(source: object) -> bool:
    """Return whether a source is several pictures: a list, a tuple or a generator, but no array and no path.

    An open file yields lines and a dictionary its keys, which are not pictures.
    """
    one = (str, bytes, PathLike, np.ndarray, Tensor, Image.Image, Picture, io.IOBase, Mapping)
    return isinstance(source, Iterable) and not isinstance(source, one)


@one_thread()
def load_bytes(contents: bytes, *, max_pixels: int = MAX_PIXELS, role: str = "picture") -> Picture:
    """Load a picture from the bytes of a file, such as an upload or a file inside an archive.

    Raises:
        PictureError: the bytes are not a complete picture, or one that is too large; begins with `role`.
    """
    with as_picture_error(role), strict_pillow():
        return _from_decoded(decode_open(io.BytesIO(contents), max_pixels))


def load_mask(source: Source, *, role: str = "mask") -> Float[Tensor, "H W"]:
    """Load a mask, the weight of each pixel in [0, 1], as the grey of a picture in any form.

    If the highest value is 1 of 255 (or of 65535), the mask is treated as boolean, with 1 as full weight:
    this is the result of `array.astype(numpy.uint8)` for booleans.

    >>> load_mask(np.array([[0, 1, 1]], dtype=np.uint8))
    tensor([[0., 1., 1.]])
    """
    levels = load_picture(source, role=role).pixels.mean(0)
    highest = float(levels.detach().amax())
    binary = any(math.isclose(highest, 1 / full, rel_tol=1e-5) for full in (255, 65535))
    return (levels > 0).to(levels.dtype) if binary else levels


def _loaded(source: Source, color: str, max_pixels: int) -> Picture:
    if isinstance(source, Picture):
        return source
    if isinstance(source, Tensor):
        return _from_tensor(source, color)
    if isinstance(source, np.ndarray):
        return _from_array(source, color)
    if isinstance(source, Image.Image):
        return _from_pillow(source, max_pixels)
    if isinstance(source, str | PathLike):
        return _from_file(Path(source), max_pixels)
    raise ArgumentError(
        f"cannot load a picture from {type(source).__name__}: "
        "use a path, a PIL image, a numpy array or a tensor"
    )


def _from_file(path: Path, max_pixels: int) -> Picture:
    with as_picture_error(str(path)), strict_pillow():
        return _from_decoded(decode(path, max_pixels))


def _from_pillow(image: Image.Image, max_pixels: int) -> Picture:
    name = str(getattr(image, "filename", "")) or "the PIL image"
    with as_picture_error(name), strict_pillow():
        check_size(image.size, max_pixels)
        refuse_misread(image)
        image.load()
        return _from_decoded(upright(image))


def _from_decoded(image: Image.Image) -> Picture:
    """Convert a loaded Pillow image of any mode."""
    if image.mode in _DEEP:
        return _from_deep(image)
    return _from_array(_values(image))


def _values(image: Image.Image) -> npt.NDArray[Any]:
    """The values of a loaded Pillow image of 8 bits."""
    if image.mode in ("P", "La"):
        # "P" is copied, because converting modifies the palette of the caller's image. "La" can only be
        # converted to RGBA in two steps.
        image = image.copy() if image.mode == "P" else image.convert("LA")
    grey = "L" if image.mode in ("1", "L") else "RGB"
    return np.asarray(image.convert("RGBA" if image.has_transparency_data else grey))


def _from_deep(image: Image.Image) -> Picture:
    """Convert one channel of more than 8 bits."""
    values = _deep_values(image)
    picture = _from_array(values)
    hidden = image.info.get("transparency")  # of a 16-bit PNG: the one grey level that is transparent
    if not isinstance(hidden, int):
        return picture
    return Picture(picture.samples, torch.from_numpy(values != hidden).to(torch.float32))


def _deep_values(image: Image.Image) -> npt.NDArray[Any]:
    values = np.asarray(image)
    if image.mode == "I":
        low, high = int(values.min()), int(values.max())
        if low < 0 or high > 65535:
            raise PictureError(f"the values are {low} to {high}: integers must be 0 to 65535, rescale them")
        values = values.astype(np.uint16)
    return values


def _from_array(array: npt.NDArray[Any], color: str = "rgb") -> Picture:
    dtype, shape = array.dtype, array.shape
    right = dtype.kind in "bf" or (dtype.kind == "u" and dtype.itemsize <= 2)
    require(right, f"the array has type {dtype}: it must be {_KINDS}{_advice(dtype.kind in 'iu')}")
    if array.ndim not in (2, 3) or (array.ndim == 3 and shape[2] not in (1, 3, 4)):
        swapped = array.ndim == 3 and shape[0] in (1, 3, 4)
        hint = "; it looks like (C, H, W): use array.transpose(1, 2, 0)" if swapped else _several(array.ndim)
        allowed = "(H, W), (H, W, 1), (H, W, 3) or (H, W, 4)"
        raise ArgumentError(f"the array has shape {shape}: it must be {allowed}{hint}")
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    grey = _grey_plane(planes) if dtype == np.uint8 and len(planes) == 3 else None
    # A copy in a form that torch accepts: planar, native byte order, positive strides, writable. The caller
    # may change the original later.
    own = np.array(planes, dtype=_native(dtype), order="C") if grey is None else grey
    return _from_planes(torch.from_numpy(own), color)


def _grey_plane(planes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8] | None:
    """A copy of the plane of a grey picture (3, H, W), as (1, H, W); None if the planes differ."""
    pixels = planes.transpose(1, 2, 0)
    if pixels.flags.c_contiguous and kernel.accepts():
        plane = picture_calls.grey_plane(pixels)  # compared and copied in one pass over the memory
        return None if plane is None else plane[None]
    return np.array(planes[:1], order="C") if is_grey(planes) else None


def _several(ndim: int) -> str:
    """A hint if the array has as many axes as a batch."""
    return "; for several pictures use a list, as list(batch) makes" if ndim == 4 else ""


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type that torch supports and that holds all values of `dtype`."""
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    return dtype.newbyteorder("=")


def _from_tensor(tensor: Tensor, color: str) -> Picture:
    dtype, shape = tensor.dtype, tuple(tensor.shape)
    require(
        tensor.layout == torch.strided and not tensor.is_nested,
        f"the tensor is sparse ({tensor.layout}): use tensor.to_dense()",
    )
    require(tensor.device.type != "meta", "the tensor is on the device meta, which holds no values")
    right = dtype in FULL or dtype in _FLOATS
    integer = not (dtype.is_floating_point or dtype.is_complex)
    require(right, f"the tensor has type {dtype}: it must be {_KINDS}{_advice(integer)}")
    if tensor.ndim not in (2, 3) or (tensor.ndim == 3 and shape[0] not in (1, 3, 4)):
        swapped = tensor.ndim == 3 and shape[2] in (1, 3, 4)
        hint = "; it looks like (H, W, C): use tensor.permute(2, 0, 1)" if swapped else _several(tensor.ndim)
        allowed = "(H, W), (1, H, W), (3, H, W) or (4, H, W)"
        raise ArgumentError(f"the tensor has shape {shape}: it must be {allowed}{hint}")
    # Bytes are not converted, so they are copied here, since the caller may write to the tensor.
    own = tensor.clone() if dtype == torch.uint8 else tensor
    return _from_planes(own if own.ndim == 3 else own[None], color)


def _from_planes(planes: Shaped[Tensor, "C H W"], color: str) -> Picture:
    """Make a picture from 1, 3 or 4 planes of any allowed type."""
    empty = f"the picture is empty, {tuple(planes.shape[1:])}: it must have at least one pixel"
    require(planes.numel() > 0, empty)
    # Bytes are kept as they are. Other integers, for which torch has few operations, become floats.
    kept = planes.dtype == torch.uint8
    samples = planes.contiguous() if kept else _to_unit(planes.contiguous())
    colours = samples[:3].flip(0) if color == "bgr" and len(samples) > 1 else samples[:3]
    mask = unit(samples[3]) if len(samples) == 4 else None
    if kept and len(samples) > 1 and is_grey(colours):
        colours = colours[:1].clone()  # a view would keep the memory of all planes
    return Picture(colours, mask)


def _to_unit(planes: Shaped[Tensor, "C H W"]) -> Float[Tensor, "C H W"]:
    """Scale integers to [0, 1] in float32; check that floats are in that range."""
    if planes.dtype in FULL:
        return unit(planes)
    low, high = (value.item() for value in planes.detach().aminmax())
    if not (low >= -OVERSHOOT and high <= 1 + OVERSHOOT):  # written so that NaN fails too
        raise ArgumentError(_range_message(planes.detach(), low, high))
    return planes.to(_FLOATS[planes.dtype])


def _range_message(planes: Shaped[Tensor, "C H W"], low: float, high: float) -> str:
    bad = int((~planes.isfinite()).sum())
    if bad:
        return f"{bad} values are NaN or infinite: floats must be in [0, 1], replace these values"
    advice = "divide by 255" if low >= 0 and 1 < high <= 255 else "rescale them"
    return f"the values are {low:.4g} to {high:.4g}: floats must be in [0, 1], {advice}"


def _advice(integer: bool) -> str:
    return "; if its values are 0 to 255, convert it to uint8" if integer else ""
