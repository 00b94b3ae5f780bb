"""Scenes, and the frames of an uploaded file: those of an animation, or the pages of a TIFF."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import ExifTags, Image

from wherein.images.decode import as_picture_error, check_size, refuse_misread, strict_pillow, upright
from wherein.images.load import load_picture
from wherein.images.picture import Picture

_FORMATS = ("AVIF", "GIF", "PNG", "TIFF", "WEBP")
"""The formats that may have several frames."""

_COPY_OR_MASK = 0x5
"""Bits of the tag NewSubfileType: the page is a smaller copy of another one, or its mask."""


@dataclass(frozen=True, eq=False)
class StudioScene:
    """A scene.

    Attributes:
        file: the label of its file.
        picture: its pixels.
        frame: the number of the frame, if the file has several; from 0, as in the lines of `wherein detect`.
    """

    file: str
    picture: Picture
    frame: int | None = None

    @property
    def name(self) -> str:
        """The label of the scene, as in the table of `wherein detect`."""
        return self.file if self.frame is None else f"{self.file}: {self.frame}"


def frame_numbers(path: Path) -> list[int]:
    """The numbers of the frames, from 0; only the first for a file that is damaged, which `frames` refuses.

    The smaller copies and masks that some TIFF files have as further pages are left out.
    """
    try:
        with strict_pillow(), path.open("rb") as file, Image.open(file, formats=_FORMATS) as image:
            return [0, *(k for k in range(1, getattr(image, "n_frames", 1)) if _is_picture(image, k))]
    except Exception:  # Pillow's readers raise a dozen kinds
        return [0]


def frames(path: Path, numbers: Sequence[int], max_pixels: int) -> Iterator[Picture]:
    """The frames with these numbers, which begin with 0, as they are displayed.

    Raises:
        PictureError: a frame is damaged or too large.
    """
    yield load_picture(path, max_pixels=max_pixels)
    if len(numbers) == 1:
        return
    with path.open("rb") as file:
        with strict_pillow(), as_picture_error(str(path)):
            image = Image.open(file, formats=_FORMATS)
        for number in numbers[1:]:
            with strict_pillow(), as_picture_error(f"{path}: frame {number}"):
                image.seek(number)
                check_size(image.size, max_pixels)
                refuse_misread(image)
                image.load()
                shown = upright(image.copy())
            yield load_picture(shown, max_pixels=max_pixels)


def _is_picture(image: Image.Image, number: int) -> bool:
    if image.format != "TIFF":
        return True
    image.seek(number)
    return not image.tag_v2.get(ExifTags.Base.NewSubfileType, 0) & _COPY_OR_MASK  # type: ignore[attr-defined]
