"""Paths along edges in a picture, by OpenCV's intelligent scissors (Mortensen and Barrett, 1995)."""

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
"""Margin in pixels around the two ends of a path, or half their distance if that is larger: the path stays
inside. A choice: between two clicks, an edge bulges less than a half circle."""

_MAX_PIXELS = 512 * 512
"""Maximum number of pixels in which a path is searched, about 0.2 s on one core. Larger windows are
shrunk."""

_SMOOTHED, _TOLERANCE = 5, 0.75
"""Length of the moving average over the pixels of a path, and tolerance of its simplification in pixels.
Choices: both sides of an edge have the same gradient, so that paths alternate between them; and slanted paths
have pixel steps."""

_CANNY, _MAX_GRADIENT = (32, 100), 200
"""Thresholds of the Canny detector, and the gradient at which edges saturate: as in OpenCV's example."""


class PathRequest(BaseModel):
    """A request for a path.

    Attributes:
        start: the first point; None: no path, only the end moved to an edge.
        end: the last point.
        reach: maximum distance in pixels by which the end may be moved to an edge.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: tuple[FiniteFloat, FiniteFloat] | None = None
    end: tuple[FiniteFloat, FiniteFloat]
    reach: Annotated[FiniteFloat, Field(ge=0, le=200)] = 0.0


def edge_path(picture: Picture, request: PathRequest) -> list[Point]:
    """The points of a path along edges in a picture, from the start (if it is not None) to the end.

    Raises:
        MissingError: OpenCV is not installed.
    """
    cv2 = require_package("cv2", "snapping to edges", "pip install 'wherein[video]'")
    start, end = (_on_picture(point, picture) for point in (request.start or request.end, request.end))
    window = _Window(cv2, picture, start, end, request.reach)
    goal = window.strongest_edge(window.pixel(end), request.reach) if request.reach else window.pixel(end)
    last = window.place(goal) if goal != window.pixel(end) else end  # unmoved, it keeps its subpixel position
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
        # Only a window is searched: the time of the scissors grows with the number of pixels.
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
        """The pixel with the largest gradient within reach, weighted by 1 − (distance / reach)²."""
        # The weight keeps the end near the click: of two equal edges, the nearer one wins.
        gradient = self._gradient()
        ys, xs = np.indices(gradient.shape)
        apart = np.hypot(xs - pixel[0], ys - pixel[1]) / max(1.0, reach / self.shrunk)
        weighted = gradient * np.clip(1 - apart**2, 0, None)
        y, x = np.unravel_index(int(weighted.argmax()), weighted.shape)
        return (int(x), int(y)) if weighted[y, x] > 0 else pixel

    def _gradient(self) -> NDArray[np.float32]:
        """The magnitude of the gradient, in the channel in which it is largest."""
        x, y = (self.cv2.Sobel(self.levels, self.cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1)))
        return np.hypot(x, y).max(-1)

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> list[Point]:
        """The corners of the best path between two pixels, without its ends."""
        scissors = self.cv2.segmentation.IntelligentScissorsMB()
        scissors.setEdgeFeatureCannyParameters(*_CANNY)
        scissors.setGradientMagnitudeMaxLimit(_MAX_GRADIENT)
        scissors.applyImage(self.levels)
        # The map contains the shortest paths from the start to all pixels.
        scissors.buildMap(start)
        path = self._smoothed(scissors.getContour(end).astype(np.float32))
        return [self.place((float(x), float(y))) for x, y in path[1:-1]]

    def _smoothed(self, path: NDArray[np.float32]) -> NDArray[np.float32]:
        """The path with fewer corners and without pixel steps; its ends are unchanged."""
        if len(path) > _SMOOTHED:
            # The ends are repeated for the average; they themselves stay where they are.
            ends = np.pad(path, ((_SMOOTHED // 2,) * 2, (0, 0)), mode="edge")
            windows = np.lib.stride_tricks.sliding_window_view(ends, _SMOOTHED, axis=0)
            path[1:-1] = windows.mean(-1)[1:-1]
        return self.cv2.approxPolyDP(path, _TOLERANCE, False)[:, 0]
