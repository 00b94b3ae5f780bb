"""What the report shows of one scene: its image with all layers, and the numbers of its detections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.placed_part import PartFound
from wherein.detect.result import Detection, Detections
from wherein.detect.score import rounded_down
from wherein.drawing.heat import ColorScale, color_scale, heat
from wherein.images.eight_bit import to_image
from wherein.motion.homography import Matrix, mapped
from wherein.report.convergence_plot import Convergence, convergence
from wherein.report.html_format import jpeg_uri, png_uri
from wherein.report.template_view import PartEntry, ScoreView
from wherein.template.template_library import Library

Point = tuple[float, ...]
Rows = list[list[float]]
"""Rows of a matrix, or points of a polygon: plain lists, because numpy's numbers are slow to format."""

Maps = Mapping[str, NDArray[np.float32]]

_LABEL_SHARE = 1 / 45
"""Font size of a detection's number as a share of the longer side of the scene. A choice: readable, and
smaller than a typical object."""


@dataclass(frozen=True)
class MapLayer:
    """An occurrence map: the part that it is of, and its image as a data URI."""

    part: str
    image: str


@dataclass(frozen=True, eq=False)
class PartView:
    """A part of a detection: a row of its table, and an outline on the image.

    Attributes:
        entry: which part, and how it is listed.
        anchor: of its outline in the page.
        found: whether it was found.
        score: its score.
        angle: degrees.
        turn: degrees from its rest position.
        value: what it reads, with the unit; None where it reads nothing.
        centre: (x, y) in the scene, of the box around its outline.
        matrix: its pixels → scene pixels, 2×3 or 3×3.
        polygon: its outline in the scene, (x, y) a row.
    """

    entry: PartEntry
    anchor: str
    found: bool
    score: float
    angle: float
    turn: float
    value: str | None
    centre: Point
    matrix: Rows
    polygon: Rows


@dataclass(frozen=True)
class NumberLabel:
    """The number of a detection on the image: its place and font size in scene pixels."""

    x: float
    y: float
    size: float


@dataclass(frozen=True, eq=False)
class DetectionView:
    """One detection.

    Attributes:
        number: from 1.
        template: its name; None if there is one only.
        score: its score.
        false_alarms: how often clutter reaches this score, as text; None where that is unknown.
        angle: degrees.
        scale: relative to the template.
        tilt: degrees out of the picture plane; None if the search was without perspective.
        centre: (x, y) in the scene, of the template's canvas.
        matrix: canvas → scene pixels, 2×3 or 3×3.
        leaf_count: how many parts have an image.
        found_count: how many of these were found.
        parts: in the order of the table.
        outlines: the same in the order of drawing.
        label: its number on the image.
        convergence: plots of its fits; None where there are none.
    """

    number: int
    template: str | None
    score: float
    false_alarms: str | None
    angle: float
    scale: float
    tilt: float | None
    centre: Point
    matrix: Rows
    leaf_count: int
    found_count: int
    parts: tuple[PartView, ...]
    outlines: tuple[PartView, ...]
    label: NumberLabel
    convergence: Convergence | None


@dataclass(frozen=True, eq=False)
class CandidateView:
    """The best hypothesis below the threshold.

    Attributes:
        score: never rounded up.
        threshold: of its template.
        centre: in the scene.
    """

    score: float
    threshold: float
    centre: Point


@dataclass(frozen=True, eq=False)
class SceneView:
    """A scene.

    Attributes:
        name: of its file.
        width: pixels.
        height: pixels.
        image: data URI.
        maps: occurrence maps to lay over the image.
        map_scale: the legend of these.
        entries: all parts of the template; of several, those of the ones that were found.
        detections: best first.
        candidate: where nothing was found, what came close to the threshold, if anything did.
    """

    name: str
    width: int
    height: int
    image: str
    maps: tuple[MapLayer, ...]
    map_scale: ColorScale
    entries: tuple[PartEntry, ...]
    detections: tuple[DetectionView, ...]
    candidate: CandidateView | None


@dataclass(frozen=True, eq=False)
class SceneViewer:
    """Prepares scenes for the page.

    Attributes:
        library: the templates that were searched for.
        entries: the parts of each, by its name.
        scores: what its scores mean, by its name.
    """

    library: Library
    entries: Mapping[str, tuple[PartEntry, ...]]
    scores: Mapping[str, ScoreView]

    def __call__(
        self, anchor: str, name: str, found: Detections, maps: Maps, traces: Sequence[FitTraces]
    ) -> SceneView:
        """One scene.

        Arguments:
            anchor: of its section in the page.
            name: of its file.
            found: its detections.
            maps: occurrence maps by part.
            traces: for each detection, how its fits converged.
        """
        close = () if found else found.candidates[:1]
        candidates = [
            CandidateView(rounded_down(one.score), self.scores[one.template].threshold, self._centre(one))
            for one in close
        ]
        shown = dict.fromkeys(item.template for item in found) if self.library.several else self.entries
        each = enumerate(zip(found, traces, strict=True), 1)
        return SceneView(
            name,
            *found.size,
            jpeg_uri(to_image(found.scene.pixels)),
            tuple(MapLayer(part, png_uri(heat(values))) for part, values in maps.items()),
            color_scale(),
            tuple(entry for template in shown for entry in self.entries[template]),
            tuple(self._detection(f"{anchor}d{k}", k, item, own, found.size) for k, (item, own) in each),
            next(iter(candidates), None),
        )

    def _centre(self, item: Detection) -> Point:
        return _place(item.matrix, item.middle)

    def _detection(
        self, anchor: str, number: int, item: Detection, traces: FitTraces, size: tuple[int, int]
    ) -> DetectionView:
        entries = self.entries[item.template]
        parts = {entry.name: _part(anchor, entry, item.parts[entry.name]) for entry in entries}
        leaves = [part for part in parts.values() if part.entry.leaf]
        # Leaves above groups and found parts above others, so that the mouse reaches them.
        drawn = sorted((parts[name] for name in item.parts), key=lambda part: (part.entry.leaf, part.found))
        return DetectionView(
            number,
            item.template if self.library.several else None,
            item.score,
            self.scores[item.template].false_alarms(item.score),
            item.angle,
            item.scale,
            item.tilt if len(item.matrix) == 3 else None,
            self._centre(item),
            item.matrix.tolist(),
            len(leaves),
            sum(part.found for part in leaves),
            tuple(parts.values()),
            tuple(drawn),
            _label(item, size),
            convergence(entries, item, traces),
        )


def _part(anchor: str, entry: PartEntry, part: PartFound) -> PartView:
    return PartView(
        entry,
        f"{anchor}p{entry.number}",
        part.found,
        part.score,
        part.angle,
        part.turn,
        part.value_text,
        _place(part.matrix, entry.centre),
        part.matrix.tolist(),
        part.polygon.tolist(),
    )


def _place(matrix: Matrix, at: Point) -> Point:
    """A point of the template in the scene."""
    return tuple(mapped(matrix, at).tolist())


def _label(item: Detection, size: tuple[int, int]) -> NumberLabel:
    """Above the object, but inside the image."""
    corners = np.concatenate([part.polygon for part in item.parts.values()])
    letters = max(size) * _LABEL_SHARE
    x = np.clip((corners[:, 0].min() + corners[:, 0].max()) / 2, letters, size[0] - letters)
    y = np.clip(corners[:, 1].min() - letters / 2, letters, size[1] - letters)
    return NumberLabel(float(x), float(y), letters)
