"""Checks of the arguments of a detector: range of poses, region, threshold, earlier detections."""

import math
import mimetypes
import os
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wherein.detect.search_range import Range
from wherein.errors import ArgumentError, PictureError, RegionError, require
from wherein.images.frames.picture_frames import check_one_frame
from wherein.motion.homography import square
from wherein.pyramid.levels import Poses
from wherein.template.bundle import Template
from wherein.template.template_library import Library
from wherein.thresholds import MAX_SCALE, MIN_SCALE, MinScore

_MAX_OBJECT_SIZE = 100_000
"""Maximum length of an object in a scene, in pixels. A choice: no scene is larger."""


_MAX_TILT = 70
"""Maximum tilt in degrees. A choice: at 70° an object is foreshortened to cos 70° ≈ 1/3 of its length, and
little of its texture is left."""


POLARITIES = ("same", "any")
"""Allowed values: light and dark as in the template, or possibly exchanged."""

_MIN_DETERMINANT = 1e-9
"""Minimum determinant of the matrix of an earlier detection, the factor by which it scales areas. A choice:
far smaller than that of any visible object."""

_FRAMES = (
    "open_video of wherein.video.source gives its frames, which a wherein.Tracker takes one by one, and a "
    "detector together; `wherein detect` takes it as it is"
)
_FIRST_FRAME = "PIL.Image.open gives the first frame alone"
_FOLDER = (
    "this is a folder, and a scene is one picture: give a list, as in "
    'detector(sorted(Path("{}").glob("*.png"))); `wherein detect` takes folders'
)

T = TypeVar("T")

Region = tuple[float, float, float, float]
"""Left, top, width and height of a part of a scene, in pixels."""


def check_one_picture(scene: object) -> None:
    """Raise `PictureError` if a path is that of many pictures: a folder, a video, an animated picture or a
    TIFF of several pages, of which only the first one would be searched."""
    if not isinstance(scene, str | os.PathLike):
        return
    path = Path(os.fspath(scene))
    kind, _ = mimetypes.guess_type(path.name)
    if path.is_dir():
        raise PictureError(f"{path}: {_FOLDER.format(path)}")
    if path.is_file() and kind is not None and kind.startswith("video/"):
        raise PictureError(f"{path}: this is a video: {_FRAMES}")
    check_one_frame(path, f"{_FRAMES}; {_FIRST_FRAME}")


def region_box(region: Region | None, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a region, rounded outwards to whole pixels and clipped to the scene."""
    if region is None:
        return 0, 0, width, height
    try:
        x, y, across, down = map(float, region)
    except (TypeError, ValueError):
        x = y = across = down = math.nan  # rejected below, with the same message
    left, top = max(0.0, x), max(0.0, y)
    right, bottom = min(float(width), x + across), min(float(height), y + down)
    if not (all(map(math.isfinite, (x, y, across, down))) and right - left >= 1 and bottom - top >= 1):
        raise RegionError(
            f"region must be (x, y, width, height) within the scene of {width} × {height} pixels, but is "
            f"{region!r}"
        )
    return math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)


def earlier_poses(before: ArrayLike) -> Poses:
    """The matrices of earlier detections as 3×3 poses, (N, 3, 3), N > 0.

    Raises:
        ArgumentError: the array has another shape, or a matrix mirrors or is degenerate.
    """
    matrices = np.asarray(before, dtype=np.float64)
    require(
        matrices.ndim == 3 and len(matrices) > 0 and matrices.shape[1:] in ((2, 3), (3, 3)),
        "before must be the matrices of earlier detections, of shape (N, 2, 3) or (N, 3, 3) with N > 0, "
        f"but has shape {matrices.shape}",
    )
    poses = square(matrices)
    # The determinant of a pose that mirrors is negative, and that of a degenerate one is 0. `nan_to_num`: the
    # determinant of NaN would warn, and such poses are unusable in any case.
    usable = np.isfinite(poses).all((1, 2)) & (np.linalg.det(np.nan_to_num(poses)) > _MIN_DETERMINANT)
    for number in np.flatnonzero(~usable):  # the message names the first one
        raise ArgumentError(
            "before must have matrices that map the template to a part of the scene, but number "
            f"{number + 1} is {poses[number].tolist()}"
        )
    return poses


def earlier_templates(given: Sequence[str] | None, count: int, library: Library) -> list[str]:
    """The name of the template of each of `count` earlier detections.

    Raises:
        ArgumentError: names are missing, unknown, or not `count`.
    """
    if given is None:
        require(
            len(library) == 1,
            "templates must name the template of each matrix, as this detector searches for several",
        )
        given = [library.templates[0].name] * count
    require(
        len(given) == count and all(name in library.by_name for name in given),
        f"templates must have a name for each of {count} matrices, out of {library.listed}, but is "
        f"{list(given)!r}",
    )
    return list(given)


def by_template(names: Sequence[str], seen: Sequence[T]) -> dict[str, list[T]]:
    """What was seen of the objects of each template, by its name."""
    return {
        name: [one for own, one in zip(names, seen, strict=True) if own == name]
        for name in dict.fromkeys(names)
    }


def checked_range(
    rotation: float,
    scale: tuple[float, float] | float,
    tilt: float,
    template: Template,
    polarity: str = "same",
) -> Range:
    """The range of poses for a template, after a check of each argument.

    Raises:
        ArgumentError: the rotation, the scale, the tilt or the polarity is out of range.
    """
    require(
        is_number(rotation) and 0 <= rotation <= 180,
        f"rotation must be 0 to 180 degrees, searched to either side, but is {rotation!r}",
    )
    require(
        is_number(tilt) and 0 <= tilt <= _MAX_TILT, f"tilt must be 0 to {_MAX_TILT} degrees, but is {tilt!r}"
    )
    try:
        low, high = map(float, (scale, scale) if isinstance(scale, Real) else scale)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # not two, or not numbers
        low = high = math.nan
    # A text such as "12" would be unpacked into the scales 1 and 2.
    require(
        not is_text(scale) and 0 < low <= high < math.inf,
        f"scale must be a number above 0, or (low, high) with 0 < low ≤ high, but is {scale!r}",
    )
    require(
        low >= MIN_SCALE and high <= MAX_SCALE,
        f"scale must be a factor from {MIN_SCALE:g} to {MAX_SCALE:g}, as in (0.8, 1.25), but is {scale!r}",
    )
    longest = max(template.size)
    require(
        low * longest >= 1 and high * longest <= _MAX_OBJECT_SIZE,
        f'with scale={scale!r} the template "{template.name}" ({longest} px) would be '
        f"{low * longest:.2g} to {high * longest:.2g} px large in the scene: use scales at which it is 1 to "
        f"{_MAX_OBJECT_SIZE} px large",
    )
    require(polarity in POLARITIES, f"polarity must be one of {', '.join(POLARITIES)}, but is {polarity!r}")
    return Range(float(rotation), (low, high), float(tilt), polarity)


def is_count(value: object) -> bool:
    """Whether a value is a positive integer."""
    return isinstance(value, Integral) and int(value) > 0


def least_score(threshold: float | str | MinScore | None) -> MinScore:
    """The threshold as given by the user: a number is a score, a text is a score or a false-alarm rate.

    Raises:
        ArgumentError: it is out of range, or the text cannot be parsed.
    """
    if isinstance(threshold, MinScore):
        return threshold
    if isinstance(threshold, str):
        try:
            return MinScore.of(threshold)
        except ArgumentError as error:
            raise ArgumentError(f"threshold: {error}") from error
    require(
        threshold is None or (is_number(threshold) and 0 < threshold < 1),
        'threshold must be between 0 and 1, a rate of false alarms such as "0.01/MP", or None for the '
        f"calibrated one, but is {threshold!r}",
    )
    return MinScore(score=threshold)


def is_number(value: object) -> bool:
    """Whether a value is a number."""
    return isinstance(value, Real)


def is_text(value: object) -> bool:
    """Whether a value is text."""
    return isinstance(value, str)
