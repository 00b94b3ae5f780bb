"""An annotated video, written whole or not at all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from wherein.files import atomic_file
from wherein.video.reading import opencv

CODEC = "mp4v"
"""MPEG-4 part 2 in .mp4: what OpenCV's free builds have everywhere."""

Add = Callable[[Image.Image], None]


@contextmanager
def written(path: Path, size: tuple[int, int], rate: float) -> Iterator[Add]:
    """A function that adds a frame to a video; of an odd width or height the encoder leaves the last out.

    Arguments:
        path: the .mp4.
        size: width and height of all frames.
        rate: frames a second.

    Raises:
        OSError: it cannot be written.
    """
    cv2 = opencv()
    with atomic_file(path) as target:
        writer = cv2.VideoWriter(str(target), cv2.VideoWriter.fourcc(*CODEC), rate, size)
        try:
            if not writer.isOpened():
                raise OSError(None, "OpenCV has no encoder for it", str(path))
            yield lambda frame: writer.write(np.ascontiguousarray(np.asarray(frame)[:, :, ::-1]))
        finally:
            writer.release()
        if not target.stat().st_size:  # OpenCV does not say so
            raise OSError(None, "the encoder has written nothing", str(path))
