"""What the report shows of one scene: the layers over its image, and the numbers of its detections."""

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
"""Of a scene that are drawn and listed, the best first; the JSON has all. A choice: more would hide the scene
and fill the page."""


@dataclass(frozen=True)
class MapLayer:
    """An occurrence map: the part that it is of, and its image as a data URI."""

    part: str
    image: str


@dataclass(frozen=True, eq=False)
class SceneView:
    """A scene.

    Attributes:
        name: of its file.
        width: pixels.
        height: pixels.
        maps: occurrence maps to lay over the image.
        map_scale: the legend of these.
        entries: all parts of the template; of several, those of the ones that were found.
        detections: best first.
        near_misses: hypotheses below the threshold but close to it, best first.
        more: how many near misses are not among these.
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
            anchor: of the scene in the page.
            name: of its file.
            found: its detections.
            maps: occurrence maps by part.
            traces: for each detection, how its fits converged.
        """
        viewer = DetectionViewer(self.entries, self.scores, self.library.several, found.size)
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
