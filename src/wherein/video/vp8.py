"""VP8 encoding in real time, by the libvpx in OpenCV's wheels.

OpenCV always uses the best quality of libvpx, and has no option to change it. That takes 15 times as long:
80 ms for a frame of 640 × 480 px, more than all other work on a frame. Therefore libvpx is called directly,
in its real-time mode, and OpenCV only writes the encoded frames to a file.

Without libvpx, or if its structs differ from those below, `open_vp8` returns None.
"""

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherein.video.source import opencv

_BITS_PER_PIXEL = 0.5
"""Bit rate per pixel of the encoded video. A choice: 4 Mbit/s at 640 × 480 px and 25 frames per second, which
is usual for good quality."""

_SPEED = -8
"""Speed setting of libvpx, down to −16, the fastest. A negative speed is fixed, and does not depend on the
load of the machine. A choice: at −16 the PSNR of a frame is 1 dB lower."""

_MAX_QUANTIZER = 48
"""Maximum quantiser; 63 is the coarsest. A choice: a noisy frame becomes larger instead of blocky."""

_CONFIG_BYTES, _CONTEXT_BYTES, _IMAGE_BYTES = 8192, 512, 1024
"""Sizes of the buffers for structs of libvpx, several times larger than needed."""

_MIN_ABI, _MAX_ABI = 10, 64
"""Range of ABI versions of libvpx that are tried. libvpx refuses all but its own. The layout of the config
struct is verified by its default values."""

_OK, _ABI_MISMATCH, _REAL_TIME, _CPU_USED, _I420, _FRAME, _KEY_FRAME = 0, 3, 1, 13, 0x102, 0, 1
"""VPX_CODEC_OK, VPX_CODEC_ABI_MISMATCH, VPX_DL_REALTIME, VP8E_SET_CPUUSED, VPX_IMG_FMT_I420,
VPX_CODEC_CX_FRAME_PKT and VPX_FRAME_IS_KEY of libvpx."""


class _Config(ctypes.Structure):
    """The beginning of vpx_codec_enc_cfg_t."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in ("usage", "threads", "profile", "width", "height")),
        *((name, ctypes.c_uint) for name in ("depth", "input_depth", "tick", "ticks_per_second")),
        *((name, ctypes.c_uint) for name in ("error_resilient", "pass_number", "lag", "drop_frames")),
        *((name, ctypes.c_uint) for name in ("resize", "scaled_width", "scaled_height", "resize_up")),
        *((name, ctypes.c_uint) for name in ("resize_down", "rate_control")),
        ("statistics", ctypes.c_void_p * 4),
        *((name, ctypes.c_uint) for name in ("kilobits", "min_quantizer", "max_quantizer")),
    )


_DEFAULTS = {"width": 320, "height": 240, "tick": 1, "ticks_per_second": 30, "kilobits": 256}
_DEFAULTS |= {"min_quantizer": 4, "max_quantizer": 63}
"""Default values in libvpx's config struct. If other values are found, the layout of the struct differs."""


class _Packet(ctypes.Structure):
    """The beginning of vpx_codec_cx_pkt_t, for packets that contain a frame."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("time", ctypes.c_int64),
        ("duration", ctypes.c_ulong),
        ("flags", ctypes.c_uint32),
    )


@cache
def _libvpx() -> ctypes.CDLL | None:
    """libvpx, with its functions declared; None if it is not installed."""
    for file in _candidates():
        try:
            library = ctypes.CDLL(file)
            library.vpx_codec_vp8_cx.restype = ctypes.c_void_p
            library.vpx_codec_get_cx_data.restype = ctypes.POINTER(_Packet)
        except (OSError, AttributeError):
            continue
        pointer, number = ctypes.c_void_p, ctypes.c_int
        library.vpx_codec_enc_config_default.argtypes = (pointer, pointer, ctypes.c_uint)
        library.vpx_codec_enc_init_ver.argtypes = (pointer, pointer, pointer, ctypes.c_long, number)
        library.vpx_img_wrap.argtypes = (pointer, number, *3 * (ctypes.c_uint,), pointer)
        library.vpx_codec_encode.argtypes = (
            *(pointer, pointer, ctypes.c_int64),
            *(ctypes.c_ulong, ctypes.c_long, ctypes.c_ulong),
        )
        library.vpx_codec_get_cx_data.argtypes = (pointer, pointer)
        library.vpx_codec_destroy.argtypes = (pointer,)
        # Only two of its three arguments: the last one is variadic, and some processors pass variadic
        # arguments in another place.
        library.vpx_codec_control_.argtypes = (pointer, number)
        return library
    return None


def _candidates() -> Iterator[str]:
    """Files that may be libvpx: first those in OpenCV's wheel, then the one of the system."""
    package = Path(opencv().__file__).parent
    for pattern in ("opencv*.libs/libvpx*", f"{package.name}/.dylibs/libvpx*"):
        yield from map(str, sorted(package.parent.glob(pattern)))
    if system := ctypes.util.find_library("vpx"):
        yield system


class RealTimeVp8:
    """Encodes frames one by one.

    Arguments:
        library: libvpx.
        context: the context of an initialised encoder.
        size: even width and height of all frames.
        write: called with every encoded frame, and whether it is a key frame.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        context: "ctypes.Array[ctypes.c_char]",
        size: tuple[int, int],
        write: Callable[[NDArray[np.uint8], bool], None],
    ) -> None:
        self._library, self._context, self._size, self._write = library, context, size, write
        self._image, self._count = ctypes.create_string_buffer(_IMAGE_BYTES), 0

    def add(self, frame: NDArray[np.uint8]) -> None:
        """Encode a frame, (H, W, 3) RGB; pixels beyond the size are dropped.

        Raises:
            OSError: libvpx cannot encode it.
        """
        cv2, (width, height) = opencv(), self._size
        # `planes` must live until the frame is encoded: libvpx reads its memory.
        planes = cv2.cvtColor(np.ascontiguousarray(frame[:height, :width]), cv2.COLOR_RGB2YUV_I420)
        self._library.vpx_img_wrap(self._image, _I420, width, height, 1, planes.ctypes.data)
        # The time of a frame is its number, and its duration 1, in units of the time base.
        done = self._library.vpx_codec_encode(self._context, self._image, self._count, 1, 0, _REAL_TIME)
        if done != _OK:
            raise OSError(None, f"libvpx cannot encode frame {self._count} (error {done})")
        self._count += 1
        place = ctypes.c_void_p()
        while packet := self._library.vpx_codec_get_cx_data(self._context, ctypes.byref(place)):
            if packet.contents.kind == _FRAME:
                data = ctypes.string_at(packet.contents.data, packet.contents.size)
                self._write(np.frombuffer(data, np.uint8), bool(packet.contents.flags & _KEY_FRAME))

    def close(self) -> None:
        """Free the memory of the encoder."""
        self._library.vpx_codec_destroy(self._context)


def open_vp8(
    size: tuple[int, int], rate: float, write: Callable[[NDArray[np.uint8], bool], None]
) -> RealTimeVp8 | None:
    """An encoder of frames of a given size; None if there is no compatible libvpx.

    Arguments:
        size: even width and height.
        rate: frames per second.
        write: as in `RealTimeVp8`.
    """
    library = _libvpx()
    if library is None:
        return None
    codec, config = library.vpx_codec_vp8_cx(), ctypes.create_string_buffer(_CONFIG_BYTES)
    if library.vpx_codec_enc_config_default(codec, config, 0) != _OK:
        return None
    wanted: Any = _Config.from_buffer(config)
    if any(getattr(wanted, name) != value for name, value in _DEFAULTS.items()):
        return None
    wanted.width, wanted.height = size
    # A frame takes tick / ticks_per_second seconds. Rounding the rate to 1/1000 frame per second is exact
    # enough: the file has its own times.
    wanted.tick, wanted.ticks_per_second = 1000, max(1, round(1000 * rate))
    wanted.kilobits = max(1, round(_BITS_PER_PIXEL * size[0] * size[1] * rate / 1000))
    wanted.max_quantizer = _MAX_QUANTIZER
    for abi in range(_MIN_ABI, _MAX_ABI):
        # A new context for each attempt: a failed one may have been changed.
        context = ctypes.create_string_buffer(_CONTEXT_BYTES)
        done = library.vpx_codec_enc_init_ver(context, codec, config, 0, abi)
        if done == _OK:
            library.vpx_codec_control_(context, _CPU_USED, ctypes.c_int(_SPEED))
            return RealTimeVp8(library, context, size, write)
        if done != _ABI_MISMATCH:
            return None
    return None
