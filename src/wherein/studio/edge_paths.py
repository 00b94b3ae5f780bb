"""Lines along the edges of a picture, by OpenCV's intelligent scissors (Mortensen and Barrett, 1995)."""

import math
from typing import Annotated, Any

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from wherein.extras import require_package
from wherein.images.eight_bit import to_levels
from wherein.images.picture import Picture

Point = tuple[float, float]

_MARGIN = 24
"""Pixels around the two ends in which a path may run; half of their distance if that is more. A choice: an
edge bulges less than a half circle between two clicks."""

_MAX_PIXELS = 512 * 512
"""Pixels in which a path is searched, about 0.2 s on one core. Larger windows are shrunk."""

_SMOOTHED, _TOLERANCE = 5, 0.75
"""Pixels of a path that are averaged, and pixels between that and its simplification. A choice: both sides of
an edge have the same gradient, so a path changes sides; and a slanted path has steps."""

_CANNY, _MAX_GRADIENT = (32, 100), 200
"""Thresholds of edges, and the gradient above which all edges are equally good: as in OpenCV's example."""


class PathRequest(BaseModel):
    """Which path is wanted.

    Attributes:
        start: where it begins; None: only the end is wanted, on an edge.
        end: where it ends.
        reach: pixels by which the end may be moved to an edge.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: tuple[FiniteFloat, FiniteFloat] | None = None
    end: tuple[FiniteFloat, FiniteFloat]
    reach: Annotated[FiniteFloat, Field(ge=0, le=200)] = 0.0


def edge_path(picture: Picture, request: PathRequest) -> list[Point]:
    """The points of a path along the edges of a picture; the first is the start, unless that is None.

    Raises:
        MissingError: OpenCV is not installed.
    """
    cv2 = require_package("cv2", "snapping to edges", "pip install 'wherein[video]'")
    start, end = (_on_picture(point, picture) for point in (request.start or request.end, request.end))
    window = _Window(cv2, picture, start, end, request.reach)
    goal = window.strongest_edge(window.pixel(end), request.reach) if request.reach else window.pixel(end)
    last = window.place(goal) if goal != window.pixel(end) else end
    if request.start is None:
        return [last]
    return [start, *window.between(window.pixel(start), goal), last]


def _on_picture(point: Point, picture: Picture) -> Point:
    height, width = picture.samples.shape[-2:]
    return min(max(point[0], 0), width - 1), min(max(point[1], 0), height - 1)


class _Window:
    """The part of a picture around two points, as 8-bit RGB, shrunk if it is large."""

    def __init__(self, cv2: Any, picture: Picture, start: Point, end: Point, reach: float) -> None:
        self.cv2 = cv2
        margin = max(_MARGIN, reach, math.dist(start, end) / 2)
        low, high = np.minimum(start, end) - margin, np.maximum(start, end) + margin + 1
        self.left, self.top = (max(0, math.floor(value)) for value in low)
        crop = picture.pixels[:, self.top : math.ceil(high[1]), self.left : math.ceil(high[0])]
        self.shrunk = math.ceil(math.sqrt(max(1, crop[0].numel() / _MAX_PIXELS)))
        smaller = F.avg_pool2d(crop.float().expand(3, -1, -1), self.shrunk, ceil_mode=True)
        self.levels = np.ascontiguousarray(to_levels(smaller).movedim(0, -1).numpy())

    def pixel(self, point: Point) -> tuple[int, int]:
        """The pixel of the window at a point of the picture."""
        height, width = self.levels.shape[:2]
        x, y = ((value + 0.5) / self.shrunk for value in (point[0] - self.left, point[1] - self.top))
        return min(max(int(x), 0), width - 1), min(max(int(y), 0), height - 1)

    def place(self, pixel: Point) -> Point:
        """The point of the picture at the centre of a pixel of the window."""
        x, y = ((value + 0.5) * self.shrunk - 0.5 for value in pixel)
        return x + self.left, y + self.top

    def strongest_edge(self, pixel: tuple[int, int], reach: float) -> tuple[int, int]:
        """The pixel with the largest gradient within reach; near ones count more."""
        gradient = self._gradient()
        ys, xs = np.indices(gradient.shape)
        apart = np.hypot(xs - pixel[0], ys - pixel[1]) / max(1.0, reach / self.shrunk)
        weighted = gradient * np.clip(1 - apart**2, 0, None)
        y, x = np.unravel_index(int(weighted.argmax()), weighted.shape)
        return (int(x), int(y)) if weighted[y, x] > 0 else pixel

    def _gradient(self) -> NDArray[np.float32]:
        """The length of the gradient, of the channel in which it is longest."""
        x, y = (self.cv2.Sobel(self.levels, self.cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1)))
        return np.hypot(x, y).max(-1)

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> list[Point]:
        """The corners of the best path between two pixels, without its ends."""
        scissors = self.cv2.segmentation.IntelligentScissorsMB()
        scissors.setEdgeFeatureCannyParameters(*_CANNY)
        scissors.setGradientMagnitudeMaxLimit(_MAX_GRADIENT)
        scissors.applyImage(self.levels)
        scissors.buildMap(start)
        path = self._smoothed(scissors.getContour(end).astype(np.float32))
        return [self.place((float(x), float(y))) for x, y in path[1:-1]]

    def _smoothed(self, path: NDArray[np.float32]) -> NDArray[np.float32]:
        """A path with fewer corners and without pixel steps, from and to the same points."""
        if len(path) > _SMOOTHED:
            ends = np.pad(path, ((_SMOOTHED // 2,) * 2, (0, 0)), mode="edge")
            windows = np.lib.stride_tricks.sliding_window_view(ends, _SMOOTHED, axis=0)
            path[1:-1] = windows.mean(-1)[1:-1]
        return self.cv2.approxPolyDP(path, _TOLERANCE, False)[:, 0]
