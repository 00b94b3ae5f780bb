"""Video files and cameras as a source of frames, read one by one with OpenCV."""

import math
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherein.errors import PictureError
from wherein.extras import require_package

if TYPE_CHECKING:  # not at run time: the command line lists scenes before slow packages are imported
    import numpy as np
    from numpy.typing import NDArray

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg")
"""File extensions of videos. A choice: the usual containers that OpenCV's FFmpeg decodes."""

_CAMERA = re.compile(r"camera:(\d+)")

_DEFAULT_RATE = 25.0
"""Frames per second if a file or camera states none. A choice: a common rate."""

_PAGE_RATE = 1.0
"""Pages per second. A choice: in a drawn video, each can be looked at."""


def is_video(name: str) -> bool:
    """Whether a name denotes a video file or a camera ("camera:0").

    >>> is_video("walk.MP4"), is_video("camera:0"), is_video("camera.png")
    (True, True, False)
    """
    return camera_index(name) is not None or Path(name).suffix.lower() in VIDEOS


def camera_index(name: str) -> int | None:
    """The index of the camera that a name denotes; None if it is not a camera.

    >>> camera_index("camera:2"), camera_index("walk.mp4")
    (2, None)
    """
    match = _CAMERA.fullmatch(name)
    return int(match[1]) if match else None


def has_frames(path: Path) -> bool:
    """Whether a picture file has several frames: an animation, or a TIFF of several pages."""
    if not path.is_file():
        return False
    from wherein.images.frames.picture_frames import kind_of_frames

    return kind_of_frames(path) is not None


def opencv() -> Any:
    """The module cv2. It is imported late, because the import is slow and the package is optional.

    Raises:
        MissingError: it is not installed.
    """
    return require_package("cv2", "a video", "pip install 'wherein[video]'")


@dataclass(frozen=True)
class Video:
    """An open video.

    Attributes:
        size: width and height in pixels.
        rate: frames per second.
        length: number of frames according to the file; None if it is unknown, as for a camera.
        pages: whether the frames are pages: pictures that have nothing to do with each other, and may have
            different sizes, up to `size`.
    """

    size: tuple[int, int]
    rate: float
    length: int | None
    _frames: "Callable[[], Iterator[NDArray[Any]]]"
    pages: bool = False

    def __iter__(self) -> "Iterator[NDArray[Any]]":
        """The remaining frames as (H, W, 3) RGB arrays; pages of more than 8 bits as (H, W) grey ones."""
        return self._frames()


@contextmanager
def open_video(name: str) -> Iterator[Video]:
    """Open a video file, an animated picture, a TIFF of several pages or a camera, and close it at the end.

    Arguments:
        name: a file, or "camera:0" for the first camera.

    Raises:
        PictureError: it cannot be opened.
        MissingError: OpenCV is not installed; a picture file does not need it.
    """
    if has_frames(Path(name)):
        with _open_frames(Path(name)) as frames:
            yield frames
        return
    cv2, camera = opencv(), camera_index(name)
    if camera is None and not Path(name).is_file():
        raise PictureError("file not found")
    # Only FFmpeg: other backends would interpret a file name as a URL or as a pattern of image files. FFmpeg
    # itself interprets http:/host/a.mp4 as a URL, but never an absolute path.
    file = str(Path(name).absolute())
    capture = cv2.VideoCapture(camera) if camera is not None else cv2.VideoCapture(file, cv2.CAP_FFMPEG)
    try:
        if not capture.isOpened():
            raise PictureError(
                f"cannot open camera {camera}" if camera is not None else "unsupported or damaged video file"
            )
        # A frame is decoded while the one before is searched. The thread ends before the capture is released.
        with ThreadPoolExecutor(1, "wherein-video") as thread:
            yield _video(cv2, capture, camera is not None, thread)
    finally:
        capture.release()


def _video(cv2: Any, capture: Any, live: bool, thread: ThreadPoolExecutor) -> Video:
    from wherein.images.decode import check_size
    from wherein.images.frames.picture_frames import MAX_FRAME

    width, height = (int(capture.get(k)) for k in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
    if width and height:  # unknown otherwise
        check_size((width, height), MAX_FRAME)
    rate, length = float(capture.get(cv2.CAP_PROP_FPS)), int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
    # OpenCV reports an unknown rate as 0 or NaN, and an unknown length as 0 or less.
    if not (math.isfinite(rate) and rate > 0):
        rate = _DEFAULT_RATE
    known = length if length > 0 and not live else None
    return Video((width, height), rate, known, lambda: _captured(cv2, capture, thread))


def _captured(cv2: Any, capture: Any, thread: ThreadPoolExecutor) -> "Iterator[NDArray[np.uint8]]":
    """The frames of a capture, read by a thread that is at most one frame ahead."""

    def read() -> "NDArray[np.uint8] | None":
        done, frame = capture.read()
        return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB) if done else None

    coming = thread.submit(read)
    while (frame := coming.result()) is not None:
        coming = thread.submit(read)
        yield frame


@contextmanager
def _open_frames(path: Path) -> Iterator[Video]:
    """The frames of a picture file, as they are displayed."""
    from wherein.images.frames.picture_frames import open_frames

    with open_frames(path) as frames:
        rate = 1000 / frames.milliseconds if frames.milliseconds > 0 else _DEFAULT_RATE
        if frames.pages:
            rate = _PAGE_RATE
        yield Video(frames.size, rate, frames.count, lambda: iter(frames), frames.pages)
