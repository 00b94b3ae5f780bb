"""The report's sections about the template and the scores, above the scenes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image

from wherein.detect.calibration.model import Calibration
from wherein.report.image_uri import cutout_uri
from wherein.template.bundle import Template
from wherein.template.tree import Tree

if TYPE_CHECKING:
    from wherein.detect.detector import Detector


@dataclass(frozen=True)
class TreeNode:
    """A part in the tree of parts; `turn` in degrees is None if it cannot move relative to its parent."""

    name: str
    turn: float | None
    children: tuple["TreeNode", ...]


@dataclass(frozen=True)
class TemplateView:
    """The section about the template: its image as a data URI, and its tree of parts."""

    name: str
    width: int
    height: int
    part_count: int
    image: str
    root: TreeNode


@dataclass(frozen=True)
class CalibrationView:
    """The measurements of a calibration.

    Attributes:
        threshold: the calibrated threshold.
        clutter: scores in scenes without the object.
        present: scores in scenes with the object.
        detected_rotation: ± degrees up to which the object is detected with all parts at rest.
        detected_scale: the lowest and highest scale at which it is detected so.
        false_alarms: the false-alarm rate at the threshold of the detector, as text.
        warnings: limitations of the scores.
        jointed: whether a part can turn.
    """

    threshold: float
    clutter: Sequence[float]
    present: Sequence[float]
    detected_rotation: float
    detected_scale: tuple[float, float]
    false_alarms: str
    warnings: Sequence[str]
    jointed: bool


@dataclass(frozen=True, eq=False)
class ScoreView:
    """The section about scores.

    Attributes:
        threshold: the threshold of the detector.
        rotation: the searched rotations, ± degrees.
        scale: the lowest and highest searched scale.
        tilt: the maximum searched tilt out of the picture plane, in degrees.
        calibration: the measurements; None if clutter was not measured.
        false_alarms: returns the false-alarm rate at a score, as text; None if clutter was not measured.
        template: the name of the template, if there are several.
    """

    threshold: float
    rotation: float
    scale: tuple[float, float]
    tilt: float
    calibration: CalibrationView | None
    false_alarms: Callable[[float], str | None]
    template: str | None = None


def score_view(detector: "Detector", template: str | None = None) -> ScoreView:
    """The section about the scores of a template, by its name; None: the only one."""
    template = detector.template.name if template is None else template
    threshold, ranges = detector.thresholds[template], detector.ranges
    known = detector.calibrations[template]
    # The only place of the report that depends on the method: "paper" measures no clutter.
    if not isinstance(known, Calibration):
        return ScoreView(threshold, ranges.rotation, ranges.scale, ranges.tilt, None, lambda _: None)
    view = CalibrationView(
        known.threshold,
        known.clutter,
        known.present,
        known.limits.rotation,
        known.limits.scale,
        known.describe_false_alarms(threshold),
        known.warnings,
        any(part.moves for part in detector.library.by_name[template].parts.values()),
    )
    named = template if detector.library.several else None
    rate = known.describe_false_alarms
    return ScoreView(threshold, ranges.rotation, ranges.scale, ranges.tilt, view, rate, named)


def template_view(template: Template) -> TemplateView:
    """The section about a template."""
    layers = [template.canvas.pixels]
    if template.canvas.mask is not None:
        layers.append(template.canvas.mask[None])
    # RGB, or RGBA if the canvas has a mask.
    levels = (torch.cat(layers).clamp(0, 1) * 255).round().to(torch.uint8).movedim(0, -1)
    image = cutout_uri(Image.fromarray(np.ascontiguousarray(levels.cpu().numpy())))
    tree = template.parts
    return TemplateView(template.name, *template.size, len(tree), image, _node(tree, tree.root))


def _node(tree: Tree, name: str) -> TreeNode:
    part = tree[name]
    children = tuple(_node(tree, child) for child in tree.children(name))
    return TreeNode(name, part.turn if part.moves else None, children)
