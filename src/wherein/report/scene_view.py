"""The report's view of one scene: the layers over its image, and the numbers of its detections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.result import Detections
from wherein.drawing.heat import ColorScale, color_scale, heat
from wherein.report.detection_view import DetectionView, DetectionViewer, NearMissView
from wherein.report.image_uri import cutout_uri
from wherein.report.part_entries import PartEntry
from wherein.report.template_view import ScoreView
from wherein.template.template_library import Library

Maps = Mapping[str, NDArray[np.float32]]

_MAX_NEAR_MISSES = 8
"""Maximum number of near misses of a scene in the report, the best first; the JSON contains all. A choice:
more would hide the scene and fill the page."""


@dataclass(frozen=True)
class MapLayer:
    """An occurrence map: the name of its part, and its image as a data URI."""

    part: str
    image: str


@dataclass(frozen=True, eq=False)
class SceneView:
    """A scene.

    Attributes:
        name: the name of its file.
        width: its width in pixels.
        height: its height in pixels.
        maps: the occurrence maps over the image.
        map_scale: the legend of the maps.
        entries: the entries of all parts of the template; of several templates, those that were found.
        detections: the detections, the best first.
        near_misses: the candidates (below the threshold, but close to it), the best first.
        more: the number of candidates that are not shown.
    """

    name: str
    width: int
    height: int
    maps: tuple[MapLayer, ...]
    map_scale: ColorScale
    entries: tuple[PartEntry, ...]
    detections: tuple[DetectionView, ...]
    near_misses: tuple[NearMissView, ...]
    more: int


@dataclass(frozen=True, eq=False)
class SceneViewer:
    """Prepares scenes for the page.

    Attributes:
        library: the templates that were searched for.
        entries: the entries of each template's parts, by the template's name.
        scores: the sections about the scores of each template, by the template's name.
    """

    library: Library
    entries: Mapping[str, tuple[PartEntry, ...]]
    scores: Mapping[str, ScoreView]

    def __call__(
        self, anchor: str, name: str, found: Detections, maps: Maps, traces: Sequence[FitTraces]
    ) -> SceneView:
        """The view of one scene.

        Arguments:
            anchor: the anchor of the scene in the page.
            name: the name of its file.
            found: its detections.
            maps: its occurrence maps by part.
            traces: the recorded fits of each detection.
        """
        viewer = DetectionViewer(self.entries, self.scores, self.library.several, found.size)
        # In a library of many templates, the layers of those that were not found would fill the page.
        shown = dict.fromkeys(item.template for item in found) if self.library.several else self.entries
        near = found.candidates[:_MAX_NEAR_MISSES]
        each = enumerate(zip(found, traces, strict=True), 1)
        return SceneView(
            name,
            *found.size,
            tuple(MapLayer(part, cutout_uri(heat(values))) for part, values in maps.items()),
            color_scale(),
            tuple(entry for template in shown for entry in self.entries[template]),
            tuple(viewer.detection(f"{anchor}d{k}", k, item, own) for k, (item, own) in each),
            tuple(viewer.near_miss(f"{anchor}n{k}", item) for k, item in enumerate(near, 1)),
            len(found.candidates) - len(near),
        )
