"""The report's view of one detection or near miss: its outlines on the image, and its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.result import Detection
from wherein.detect.score import rounded_down
from wherein.images.polygons import outer
from wherein.motion.homography import Matrix, mapped
from wherein.report.convergence_plot import Convergence, convergence
from wherein.report.part_entries import PartEntry
from wherein.report.svg_path import outline_path
from wherein.report.template_view import ScoreView

Point = tuple[float, ...]
Rows = list[list[float]]
"""The rows of a matrix as lists of floats, because numpy scalars are slow to format."""

_LABEL_SHARE = 1 / 45
"""Font size of a detection's number as a share of the longer side of the scene. A choice: legible, and
smaller than a typical object."""


@dataclass(frozen=True, eq=False)
class PartView:
    """A part of a detection: a row of the table, and an outline on the image.

    Attributes:
        entry: the entry of the part.
        anchor: the anchor of its outline in the page.
        missing: whether it was not found; False for the only leaf of a template.
        score: its score.
        angle: its rotation in the scene, in degrees.
        turn: its turn from the rest position, in degrees.
        value: its reading with the unit; None: it has no reading.
        centre: the centre (x, y) of the box around its outline, in the scene.
        matrix: its pixels → scene pixels, 2×3 or 3×3.
        path: its outline in the scene without holes, as an SVG path.
    """

    entry: PartEntry
    anchor: str
    missing: bool
    score: float
    angle: float
    turn: float
    value: str | None
    centre: Point
    matrix: Rows
    path: str


@dataclass(frozen=True)
class NumberLabel:
    """The number of a detection on the image: its position and font size in scene pixels."""

    x: float
    y: float
    size: float


@dataclass(frozen=True, eq=False)
class DetectionView:
    """One detection.

    Attributes:
        number: its number in the scene, from 1.
        template: the name of its template; None if only one template is searched for.
        score: its score.
        false_alarms: the false-alarm rate at this score, as text; None if it is unknown.
        angle: its rotation in degrees.
        scale: its scale relative to the template.
        tilt: its tilt out of the picture plane in degrees; None if the search was without perspective.
        centre: the centre (x, y) of the template's canvas, in the scene.
        matrix: canvas → scene pixels, 2×3 or 3×3.
        leaf_count: number of parts that have an image.
        found_count: number of these parts that were found.
        parts: the parts in the order of the table.
        outlines: the same parts in the order of drawing.
        label: its number on the image.
        convergence: the plots of its fits, if there are any.
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
class NearMissView:
    """A candidate: a hypothesis with a score below the threshold.

    Attributes:
        anchor: the anchor of its outline in the page.
        template: the name of its template; None if only one template is searched for.
        score: its score, rounded down, so that it does not appear to reach the threshold.
        threshold: the threshold of its template.
        false_alarms: the false-alarm rate at this score, as text; None if it is unknown.
        centre: the centre (x, y) of the template's canvas, in the scene.
        path: the outlines of all its parts without holes, as an SVG path.
    """

    anchor: str
    template: str | None
    score: float
    threshold: float
    false_alarms: str | None
    centre: Point
    path: str


@dataclass(frozen=True, eq=False)
class DetectionViewer:
    """Prepares the detections and the near misses of one scene.

    Attributes:
        entries: the entries of the parts of each template, by the template's name.
        scores: the sections about the scores of each template, by the template's name.
        several: whether detections name their template.
        size: width and height of the scene.
    """

    entries: Mapping[str, tuple[PartEntry, ...]]
    scores: Mapping[str, ScoreView]
    several: bool
    size: tuple[int, int]

    def detection(self, anchor: str, number: int, item: Detection, traces: FitTraces) -> DetectionView:
        """The view of a detection; `anchor` is the beginning of all its anchors in the page."""
        entries = self.entries[item.template]
        parts = {entry.name: self._part(anchor, entry, item) for entry in entries}
        leaf_count = sum(entry.leaf for entry in entries)
        # Later outlines are drawn above earlier ones. Leaves come after groups, and found parts after missing
        # parts, so that the mouse reaches them.
        drawn = sorted(
            (parts[name] for name in item.parts), key=lambda part: (part.entry.leaf, not part.missing)
        )
        return DetectionView(
            number,
            item.template if self.several else None,
            item.score,
            self.scores[item.template].false_alarms(item.score),
            item.angle,
            item.scale,
            item.tilt if len(item.matrix) == 3 else None,
            item.center,
            item.matrix.tolist(),
            leaf_count,
            leaf_count - len(item.missing),
            tuple(parts.values()),
            tuple(drawn),
            self._label(item),
            convergence(entries, item, traces),
        )

    def near_miss(self, anchor: str, item: Detection) -> NearMissView:
        """The view of a candidate. All parts are one path, since it may not be the object at all."""
        # Groups are left out: their outlines are the hulls of these leaves.
        rings = [ring for part in item.parts.values() if part.leaf for ring in outer(part.rings)]
        return NearMissView(
            anchor,
            item.template if self.several else None,
            rounded_down(item.score),
            self.scores[item.template].threshold,
            self.scores[item.template].false_alarms(item.score),
            item.center,
            outline_path(rings, max(self.size)),
        )

    def _part(self, anchor: str, entry: PartEntry, item: Detection) -> PartView:
        part = item.parts[entry.name]
        return PartView(
            entry,
            f"{anchor}p{entry.number}",
            entry.name in item.missing if entry.leaf else not part.found,
            part.score,
            part.angle,
            part.turn,
            part.value_text,
            _place(part.matrix, entry.centre),
            part.matrix.tolist(),
            outline_path(outer(part.rings), max(self.size)),
        )

    def _label(self, item: Detection) -> NumberLabel:
        """The label above the object, moved to be inside the image."""
        # All parts, also those that were not found: the label belongs to the whole object.
        corners = np.concatenate([part.polygon for part in item.parts.values()])
        letters = max(self.size) * _LABEL_SHARE
        x = np.clip((corners[:, 0].min() + corners[:, 0].max()) / 2, letters, self.size[0] - letters)
        y = np.clip(corners[:, 1].min() - letters / 2, letters, self.size[1] - letters)
        return NumberLabel(float(x), float(y), letters)


def _place(matrix: Matrix, at: Point) -> Point:
    """The position in the scene of a point of a part."""
    return tuple(mapped(matrix, at).tolist())
