"""Scenes, and the frames of an uploaded file: those of an animation, or the pages of a TIFF."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wherein.errors import PictureError
from wherein.images.decode import check_size
from wherein.images.frames.picture_frames import count_frames, open_frames
from wherein.images.load import load_picture
from wherein.images.picture import Picture


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


def frames(path: Path, max_pixels: int) -> Iterator[Picture]:
    """The frames of a file as they are displayed; one for a picture.

    Raises:
        PictureError: the file is damaged, or a frame is too large.
    """
    if count_frames(path) == 1:
        yield load_picture(path, max_pixels=max_pixels)
        return
    with open_frames(path) as opened:
        try:
            check_size(opened.size, max_pixels)
            for values in opened:
                yield load_picture(values, max_pixels=max_pixels)
        except PictureError as error:  # it says which frame, but not of which file
            raise PictureError(f"{path}: {error}") from error
