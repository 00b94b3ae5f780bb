"""Writing a video file that browsers play: it appears complete or not at all."""

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherein.errors import require
from wherein.files import atomic_file
from wherein.video.source import opencv

if TYPE_CHECKING:  # not at run time: the command line asks for the extensions before anything slow is loaded
    from PIL import Image


@dataclass(frozen=True)
class Codec:
    """How a video is encoded: the usual name, and the four letters by which OpenCV knows it."""

    name: str
    letters: str


CODECS = {".webm": Codec("VP8", "VP80"), ".mp4": Codec("VP9", "vp09")}
"""By the file's extension, the preferred one first. Of the codecs that browsers play, OpenCV's wheels encode
these two; they have no software encoder of H.264 (that of PyAV's wheels is x264, under the GPL). VP9 makes
smaller files but takes about seven times as long: OpenCV passes no setting of its speed on to FFmpeg."""

AddFrame = Callable[[Callable[[], "Image.Image"]], None]
"""Adds a frame, given a function that draws it."""


@contextmanager
def write_video(path: Path, size: tuple[int, int], rate: float) -> Iterator[AddFrame]:
    """Write a video; gives a function that adds one frame.

    Frames are drawn and encoded by another thread, one after the other, while the caller makes the next.
    The encoder needs an even width and height, so it drops the last column or row of an odd size.

    Arguments:
        path: a .webm or .mp4 file.
        size: width and height of all frames.
        rate: frames per second.

    Raises:
        ArgumentError: the file has another extension.
        OSError: the file cannot be written.
    """
    suffix = path.suffix.lower()
    require(suffix in CODECS, f"{path}: unknown extension of a video. Use {' or '.join(CODECS)}")
    with atomic_file(path) as target:
        writer = _opened(path, target, CODECS[suffix], size, rate)
        try:
            with _in_turn(lambda draw: _write(writer, draw())) as add:
                yield add
        finally:
            writer.release()
        # OpenCV does not report a failed encoding.
        if not target.stat().st_size:
            raise OSError(None, "the video encoder wrote no data", str(path))


def _opened(path: Path, target: Path, codec: Codec, size: tuple[int, int], rate: float) -> Any:
    cv2 = opencv()
    with _c_messages() as messages:
        # FFmpeg only: other backends have other codecs.
        letters = cv2.VideoWriter.fourcc(*codec.letters)
        writer = cv2.VideoWriter(str(target), cv2.CAP_FFMPEG, letters, rate, size)
    if not writer.isOpened():
        reason = f" ({messages[-1]})" if messages else ""
        raise OSError(None, f"OpenCV has no {codec.name} encoder{reason}", str(path))
    return writer


def _write(writer: Any, frame: "Image.Image") -> None:
    import numpy as np

    writer.write(np.ascontiguousarray(np.asarray(frame)[:, :, ::-1]))


@contextmanager
def _in_turn(work: Callable[[Callable[[], "Image.Image"]], None]) -> Iterator[AddFrame]:
    """Do work in another thread, one item at a time and in order.

    An exception is raised with the next item, or at the end.
    """
    with ThreadPoolExecutor(1) as thread:
        pending: list[Future[None]] = []

        def add(item: Callable[[], "Image.Image"]) -> None:
            # At most one waits: more frames would only take memory.
            while pending:
                pending.pop().result()
            pending.append(thread.submit(work, item))

        yield add
        while pending:
            pending.pop().result()


@contextmanager
def _c_messages() -> Iterator[list[str]]:
    """The lines that C libraries write to standard error inside the block; complete when it ends.

    OpenCV reports a tag for WebM as unsupported and then uses it, past its own logger: that is no news for a
    user, unless the file cannot be written.
    """
    lines: list[str] = []
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
