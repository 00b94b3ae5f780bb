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

MAX_FRAME = 100_000_000
"""Maximum number of pixels of a frame. A choice: three times that of 8K, 300 MB as RGB bytes."""

_DEFAULT_RATE = 25.0
"""Frames per second if a file or camera states none. A choice: a common rate."""


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


def is_animated(path: Path) -> bool:
    """Whether a file is a GIF with several frames."""
    if path.suffix.lower() != ".gif" or not path.is_file():
        return False
    from PIL.GifImagePlugin import GifImageFile

    try:
        with path.open("rb") as file:
            return GifImageFile(file).is_animated
    except Exception:  # Pillow's readers raise many kinds; reading the file as a picture reports the error
        return False


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
    """

    size: tuple[int, int]
    rate: float
    length: int | None
    _frames: "Callable[[], Iterator[NDArray[np.uint8]]]"

    def __iter__(self) -> "Iterator[NDArray[np.uint8]]":
        """The remaining frames as (H, W, 3) RGB arrays."""
        return self._frames()


@contextmanager
def open_video(name: str) -> Iterator[Video]:
    """Open a video file, an animated GIF or a camera, and close it at the end of the block.

    Arguments:
        name: a file, or "camera:0" for the first camera.

    Raises:
        PictureError: it cannot be opened.
        MissingError: OpenCV is not installed; a GIF does not need it.
    """
    if is_animated(Path(name)):
        with _open_gif(Path(name)) as animation:
            yield animation
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
def _open_gif(path: Path) -> Iterator[Video]:
    """All frames of a GIF as they are displayed: Pillow completes frames that contain only changes."""
    import numpy as np
    from PIL.GifImagePlugin import GifImageFile

    from wherein.images.decode import as_picture_error, check_size, strict_pillow

    def frames() -> "Iterator[NDArray[np.uint8]]":
        for number in range(image.n_frames):
            with strict_pillow(), as_picture_error(f"frame {number}"):
                image.seek(number)
                pixels = np.asarray(image.convert("RGB"))
            yield pixels

    with path.open("rb") as file:
        image = GifImageFile(file)
        check_size(image.size, MAX_FRAME)
        milliseconds = image.info.get("duration", 0)
        rate = 1000 / milliseconds if milliseconds > 0 else _DEFAULT_RATE
        yield Video(image.size, rate, image.n_frames, frames)
