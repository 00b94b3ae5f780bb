"""What the report shows of one detection, or of a near miss: its outlines on the image, and its numbers."""

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
"""Rows of a matrix: plain lists, because numpy's numbers are slow to format."""

_LABEL_SHARE = 1 / 45
"""Font size of a detection's number as a share of the longer side of the scene. A choice: readable, and
smaller than a typical object."""


@dataclass(frozen=True, eq=False)
class PartView:
    """A part of a detection: a row of its table, and an outline on the image.

    Attributes:
        entry: which part, and how it is listed.
        anchor: of its outline in the page.
        missing: whether it is one of several parts and was not found.
        score: its score.
        angle: degrees.
        turn: degrees from its rest position.
        value: what it reads, with the unit; None where it reads nothing.
        centre: (x, y) in the scene, of the box around its outline.
        matrix: its pixels → scene pixels, 2×3 or 3×3.
        path: its outline in the scene without holes, as SVG.
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
class NearMissView:
    """A hypothesis below the threshold.

    Attributes:
        anchor: of its outline in the page.
        template: its name; None if there is one only.
        score: never rounded up.
        threshold: of its template.
        false_alarms: how often clutter reaches this score, as text; None where that is unknown.
        centre: in the scene.
        path: the outlines of all its parts without holes, as SVG.
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
        entries: the parts of each template, by its name.
        scores: what its scores mean, by its name.
        several: whether there are several templates.
        size: width and height of the scene.
    """

    entries: Mapping[str, tuple[PartEntry, ...]]
    scores: Mapping[str, ScoreView]
    several: bool
    size: tuple[int, int]

    def detection(self, anchor: str, number: int, item: Detection, traces: FitTraces) -> DetectionView:
        """A detection, whose anchors in the page begin with `anchor`."""
        entries = self.entries[item.template]
        parts = {entry.name: self._part(anchor, entry, item) for entry in entries}
        leaf_count = sum(entry.leaf for entry in entries)
        # Leaves above groups and found parts above others, so that the mouse reaches them.
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
        """A candidate; one outline for all its parts, as it may well be something else."""
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
        """Above the object, but inside the image."""
        corners = np.concatenate([part.polygon for part in item.parts.values()])
        letters = max(self.size) * _LABEL_SHARE
        x = np.clip((corners[:, 0].min() + corners[:, 0].max()) / 2, letters, self.size[0] - letters)
        y = np.clip(corners[:, 1].min() - letters / 2, letters, self.size[1] - letters)
        return NumberLabel(float(x), float(y), letters)


def _place(matrix: Matrix, at: Point) -> Point:
    """A point of the template in the scene."""
    return tuple(mapped(matrix, at).tolist())
