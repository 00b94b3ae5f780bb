"""Video encoders: VP8 in real time if libvpx is available, otherwise the encoders of OpenCV."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wherein.video.source import opencv
from wherein.video.video_writer import Codec
from wherein.video.vp8 import RealTimeVp8, open_vp8


@runtime_checkable
class Encoder(Protocol):
    """Encodes frames and writes them to a file."""

    def add(self, frame: Image.Image) -> None:
        """Encode a frame."""

    def close(self) -> None:
        """Complete the file."""


def open_encoder(path: Path, target: Path, codec: Codec, size: tuple[int, int], rate: float) -> Encoder:
    """An encoder that writes frames to a file.

    Arguments:
        path: the path of the video, for error messages.
        target: the (temporary) file that is written.
        codec: the codec.
        size: width and height of all frames.
        rate: frames per second.

    Raises:
        OSError: OpenCV cannot write it.
    """
    live = _live_encoder(target, codec, size, rate) if codec.name == "VP8" else None
    return live or _OpenCvEncoder(_file_writer(path, target, codec, size, rate, ()))


def _file_writer(
    path: Path, target: Path, codec: Codec, size: tuple[int, int], rate: float, settings: Sequence[int]
) -> Any:
    """OpenCV's writer of a file.

    Raises:
        OSError: it cannot be opened.
    """
    cv2 = opencv()
    with _c_messages() as messages:
        # Only FFmpeg: other backends support other codecs.
        letters = cv2.VideoWriter.fourcc(*codec.letters)
        writer = cv2.VideoWriter(str(target), cv2.CAP_FFMPEG, letters, rate, size, list(settings))
    if not writer.isOpened():
        reason = f" ({messages[-1]})" if messages else ""
        raise OSError(None, f"OpenCV has no {codec.name} encoder{reason}", str(path))
    return writer


@dataclass(frozen=True)
class _OpenCvEncoder:
    """An encoder of OpenCV, which expects frames as BGR."""

    writer: Any

    def add(self, frame: Image.Image) -> None:
        self.writer.write(np.ascontiguousarray(np.asarray(frame)[:, :, ::-1]))

    def close(self) -> None:
        self.writer.release()


@dataclass(frozen=True)
class _LiveEncoder:
    """The real-time encoder, and the writer of OpenCV that writes encoded frames to a file."""

    encoder: RealTimeVp8
    writer: Any

    def add(self, frame: Image.Image) -> None:
        self.encoder.add(np.asarray(frame))

    def close(self) -> None:
        self.encoder.close()
        self.writer.release()


def _live_encoder(target: Path, codec: Codec, size: tuple[int, int], rate: float) -> _LiveEncoder | None:
    """The real-time encoder; None without libvpx, or if OpenCV is too old to write encoded frames."""
    cv2, even = opencv(), (size[0] // 2 * 2, size[1] // 2 * 2)
    if not hasattr(cv2, "VIDEOWRITER_PROP_RAW_VIDEO") or not hasattr(cv2, "VIDEOWRITER_PROP_KEY_FLAG"):
        return None

    def write(data: NDArray[np.uint8], key: bool) -> None:
        writer.set(cv2.VIDEOWRITER_PROP_KEY_FLAG, float(key))  # of the next frame; players seek to key frames
        writer.write(data)

    encoder = open_vp8(even, rate, write)
    if encoder is None:
        return None
    try:
        writer = _file_writer(target, target, codec, even, rate, (cv2.VIDEOWRITER_PROP_RAW_VIDEO, 1))
    except OSError:  # OpenCV's own encoder may work; if not, its error is the one to report
        encoder.close()
        return None
    return _LiveEncoder(encoder, writer)


@contextmanager
def _c_messages() -> Iterator[list[str]]:
    """Catch the lines that C libraries write to standard error; the list is complete at the end of the block.

    OpenCV reports WebM's codec tag as unsupported, bypassing its own logger, and then uses the tag. The
    message matters to users only if the file cannot be written.
    """
    lines: list[str] = []
    # C code writes to file descriptor 2 directly: replacing sys.stderr would not catch its messages.
    try:
        saved = os.dup(2)
    except OSError:  # there is no standard error
        yield lines
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()
