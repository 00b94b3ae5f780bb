"""Writing video files that browsers can play; a file appears complete or not at all."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wherein.errors import require
from wherein.files import atomic_file

if TYPE_CHECKING:  # not at run time: the command line needs `CODECS` before slow packages are imported
    from PIL import Image


@dataclass(frozen=True)
class Codec:
    """A video codec: its usual name, and its FourCC, the four letters that OpenCV uses."""

    name: str
    letters: str


CODECS = {".webm": Codec("VP8", "VP80"), ".mp4": Codec("VP9", "vp09")}
"""The codec by the file's extension, the preferred one first. Of the codecs that browsers play, OpenCV's
wheels encode these two. They have no software encoder for H.264 (the one in PyAV's wheels is x264, under the
GPL). VP8 is encoded in real time if possible (`video.vp8`). VP9 makes smaller files, but takes about eighty
times as long, because OpenCV passes no speed setting to FFmpeg."""

AddFrame = Callable[[Callable[[], "Image.Image"]], None]
"""A function that adds a frame; its argument is a function that draws the frame."""


@contextmanager
def write_video(path: Path, size: tuple[int, int], rate: float) -> Iterator[AddFrame]:
    """Write a video; yields a function that adds one frame.

    Another thread draws and encodes one frame after the other, while the caller makes the next one. The
    encoder needs an even width and height, so the last column or row of an odd size is dropped.

    Arguments:
        path: a .webm or .mp4 file.
        size: width and height of all frames.
        rate: frames per second.

    Raises:
        ArgumentError: the file has another extension.
        OSError: the file cannot be written.
    """
    from wherein.video.encoders import open_encoder

    suffix = path.suffix.lower()
    require(suffix in CODECS, f"{path}: unknown extension of a video. Use {' or '.join(CODECS)}")
    with atomic_file(path) as target:
        encoder = open_encoder(path, target, CODECS[suffix], size, rate)
        try:
            with _in_turn(lambda draw: encoder.add(draw())) as add:
                yield add
        finally:
            encoder.close()
        # OpenCV does not report a failed encoding.
        if not target.stat().st_size:
            raise OSError(None, "the video encoder wrote no data", str(path))


@contextmanager
def _in_turn(work: Callable[[Callable[[], "Image.Image"]], None]) -> Iterator[AddFrame]:
    """Do work in another thread, one item at a time and in order; yields a function that adds an item.

    An exception in the work is raised when the next item is added, or at the end of the block.
    """
    with ThreadPoolExecutor(1) as thread:
        pending: list[Future[None]] = []

        def add(item: Callable[[], "Image.Image"]) -> None:
            # Wait for the item before: a longer queue would only take memory.
            while pending:
                pending.pop().result()
            pending.append(thread.submit(work, item))

        yield add
        while pending:
            pending.pop().result()
