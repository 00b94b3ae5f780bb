"""Frames of a video file or a camera, one by one."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherein.errors import PictureError
from wherein.extras import require_package
from wherein.video.names import camera

_USUAL = 25.0
"""Frames a second where a file does not say."""


def opencv() -> Any:
    """The module cv2, which is slow to import.

    Raises:
        MissingError: it is not installed.
    """
    return require_package("cv2", "a video", "pip install 'wherein[video]'")


@dataclass(frozen=True)
class Video:
    """An open video.

    Attributes:
        size: width and height.
        rate: frames a second.
        length: frames, as far as the file says; None for a camera.
    """

    size: tuple[int, int]
    rate: float
    length: int | None
    _capture: Any

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        """Frames as (H, W, 3) RGB arrays, until there are no more."""
        cv2 = opencv()
        while True:
            read, frame = self._capture.read()
            if not read:
                return
            yield cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)


@contextmanager
def opened(name: str) -> Iterator[Video]:
    """A video to read frames from, closed at the end.

    Arguments:
        name: a file, or "camera:0" for the first camera.

    Raises:
        PictureError: it cannot be read.
        MissingError: OpenCV is not installed.
    """
    cv2, number = opencv(), camera(name)
    if number is None and not Path(name).is_file():
        raise PictureError("there is no such file")
    # A file's name must not be taken for an address or a pattern of files: only the decoders of files.
    capture = cv2.VideoCapture(number) if number is not None else cv2.VideoCapture(name, cv2.CAP_FFMPEG)
    try:
        if not capture.isOpened():
            what = (
                f"camera {number} does not answer" if number is not None else "it is no video that is known"
            )
            raise PictureError(what)
        yield _described(cv2, capture, number is not None)
    finally:
        capture.release()


def _described(cv2: Any, capture: Any, live: bool) -> Video:
    width, height = (int(capture.get(k)) for k in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
    rate, length = float(capture.get(cv2.CAP_PROP_FPS)), int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
    known = math.isfinite(rate) and rate > 0
    return Video(
        (width, height), rate if known else _USUAL, length if length > 0 and not live else None, capture
    )
