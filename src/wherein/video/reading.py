"""Frames of a video file or a camera, one by one."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherein.errors import PictureError
from wherein.video.opencv import opencv

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg")

_CAMERA = re.compile(r"camera:(\d+)")
_USUAL = 25.0
"""Frames a second where a file does not say."""


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


def is_video(name: str) -> bool:
    """Whether a name stands for a video file or a camera ("camera:0")."""
    return camera(name) is not None or Path(name).suffix.lower() in VIDEOS


def camera(name: str) -> int | None:
    """The number of the camera that a name stands for."""
    match = _CAMERA.fullmatch(name)
    return int(match[1]) if match else None


@contextmanager
def opened(name: str) -> Iterator[Video]:
    """A video to read frames from, closed at the end.

    Arguments:
        name: a file, or "camera:0" for the first camera.

    Raises:
        PictureError: it cannot be read.
        NoDecoderError: OpenCV is not installed.
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
