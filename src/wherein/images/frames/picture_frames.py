"""The frames of a picture file: those of an animated GIF, PNG, WebP or AVIF, and the pages of a TIFF."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import ImageFile

from wherein.errors import PictureError
from wherein.images.decode import (
    Opened,
    as_picture_error,
    check_size,
    checked_and_loaded,
    decoded_frame,
    open_picture,
    strict_pillow,
    upright_size,
)
from wherein.images.frames.tiff_pages import MAX_PAGES, Directory, own_pages

if TYPE_CHECKING:  # not at run time: the command line lists scenes before slow packages are imported
    from numpy.typing import NDArray

MAX_FRAME = 100_000_000
"""Maximum number of pixels of a frame. A choice: three times that of 8K, 300 MB as RGB bytes."""

_KINDS = {
    rb"GIF8[79]a": "GIF",
    rb"\x89PNG\r\n\x1a\n": "PNG",
    rb"RIFF[\x00-\xff]{4}WEBP": "WebP",
    rb"[\x00-\xff]{4}ftypavi[fs]": "AVIF",
    rb"II[*+]\x00|MM\x00[*+]": "TIFF",
}
"""The formats that may have frames, by a pattern for the first bytes. The second picture of a JPEG, as some
cameras write it, is no frame: it shows the same scene."""


ONE_FRAME = "save the one that is meant as a PNG"
"""The advice where a single picture is needed."""


@dataclass(frozen=True)
class Frames:
    """The frames of an open file.

    Attributes:
        size: width and height; of pages of different sizes, the largest width and height.
        count: number of frames.
        milliseconds: how long each is displayed; 0 if the file does not say.
        pages: whether they are pages: pictures that have nothing to do with each other.
    """

    size: tuple[int, int]
    count: int
    milliseconds: float
    pages: bool
    _frames: "Callable[[], Iterator[NDArray[Any]]]"

    def __iter__(self) -> "Iterator[NDArray[Any]]":
        """The frames as arrays: RGB, (H, W, 3), or grey of more than 8 bits, (H, W)."""
        return self._frames()


def kind_of_frames(path: Path) -> str | None:
    """The format of a file with several frames; None for a file that has one, or that is damaged: reading it
    as a picture says what is wrong.

    The pages of a TIFF are none if the first is larger than a frame may be: it is read by region.
    """
    try:
        with strict_pillow(), path.open("rb") as file:
            kind = _kind(file)
            if kind == "TIFF":
                pages = own_pages(file)
                return kind if len(pages) > 1 and _is_frame(pages[0][1]) else None
            moves = kind is not None and getattr(open_picture(file, MAX_FRAME), "is_animated", False)
            return kind if moves else None
    except Exception:  # Pillow's readers raise a dozen kinds
        return None


def count_frames(path: Path) -> int:
    """How many frames a file has; 1 for a damaged one."""
    if kind_of_frames(path) is None:
        return 1
    try:
        with open_frames(path) as frames:
            return frames.count
    except PictureError:
        return 1


def check_one_frame(source: object, advice: str, role: str = "") -> None:
    """Raise `PictureError` if a source is the path of a file with several frames.

    Otherwise only the first one would be used, silently.

    Arguments:
        source: any source of a picture; only paths are checked.
        advice: what to do instead, for the message.
        role: what the picture is for; the message begins with it.
    """
    path = Path(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
    kind = kind_of_frames(path) if path is not None and path.is_file() else None
    if path is not None and kind is not None:
        begin = f"{role}: " if role else ""
        raise PictureError(f"{begin}{path}: this {kind} has {count_frames(path)} frames: {advice}")


@contextmanager
def open_frames(path: Path) -> Iterator[Frames]:
    """Open a file with several frames.

    Raises:
        PictureError: it cannot be read, or its frames are too large.
    """
    with path.open("rb") as file:
        with as_picture_error(str(path)):  # without the caller's block, whose errors are its own
            frames = _pages(file) if _kind(file) == "TIFF" else _animation(file)
        yield frames


def _kind(file: Opened) -> str | None:
    file.seek(0)
    head = file.read(30)
    file.seek(0)
    return next((kind for pattern, kind in _KINDS.items() if re.match(pattern, head)), None)


def _is_frame(page: Directory) -> bool:
    return page.size[0] * page.size[1] <= MAX_FRAME


def _animation(file: Opened) -> Frames:
    with strict_pillow():
        image = open_picture(file, MAX_FRAME)
        check_size(image.size, MAX_FRAME)
        image = checked_and_loaded(image, file)  # WebP and AVIF say only then how long a frame is displayed
        numbers = range(getattr(image, "n_frames", 1))
        time = float(image.info.get("duration", 0))
        return Frames(upright_size(image), len(numbers), time, False, lambda: _decoded(image, numbers))


def _pages(file: Opened) -> Frames:
    pages = own_pages(file)
    if pages[-1][0] >= MAX_PAGES:
        raise PictureError(f"the TIFF has more than the maximum of {MAX_PAGES:,} pages: split it")
    sizes = [page.upright for _, page in pages]
    for size in sizes:
        check_size(size, MAX_FRAME)
    widest, highest = (max(size[axis] for size in sizes) for axis in (0, 1))
    file.seek(0)
    with strict_pillow():
        image = open_picture(file, MAX_FRAME)
    numbers = [number for number, _ in pages]
    return Frames((widest, highest), len(pages), 0.0, True, lambda: _decoded(image, numbers))


def _decoded(image: ImageFile.ImageFile, numbers: "range | list[int]") -> "Iterator[NDArray[Any]]":
    from wherein.images.load import frame_values

    for index, number in enumerate(numbers):
        with strict_pillow(), as_picture_error(f"frame {index}"):
            image.seek(number)
            values = frame_values(decoded_frame(image, MAX_FRAME))
        yield values
