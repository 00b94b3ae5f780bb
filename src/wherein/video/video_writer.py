"""Writing a video file: it appears complete or not at all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from wherein.files import atomic_file
from wherein.video.source import opencv

CODEC = "mp4v"
"""MPEG-4 part 2 in .mp4. A choice: OpenCV's free builds encode it on every platform, H.264 they do not."""

AddFrame = Callable[[Image.Image], None]


@contextmanager
def write_video(path: Path, size: tuple[int, int], rate: float) -> Iterator[AddFrame]:
    """Write a video; gives a function that adds one frame.

    The encoder needs an even width and height, so it drops the last column or row of an odd size.

    Arguments:
        path: the .mp4 file.
        size: width and height of all frames.
        rate: frames per second.

    Raises:
        OSError: the file cannot be written.
    """
    cv2 = opencv()
    with atomic_file(path) as target:
        writer = cv2.VideoWriter(str(target), cv2.VideoWriter.fourcc(*CODEC), rate, size)
        try:
            if not writer.isOpened():
                raise OSError(None, f"OpenCV has no {CODEC} encoder", str(path))
            yield lambda frame: writer.write(np.ascontiguousarray(np.asarray(frame)[:, :, ::-1]))
        finally:
            writer.release()
        # OpenCV does not report a failed encoding.
        if not target.stat().st_size:
            raise OSError(None, "the video encoder wrote no data", str(path))
