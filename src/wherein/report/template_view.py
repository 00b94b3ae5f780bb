"""What the report shows about the template and the scores, before the first scene."""

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
    """A part in the tree of parts; `turn` in degrees is None where it cannot move relative to its parent."""

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
    """What calibration measured.

    Attributes:
        threshold: the calibrated one.
        clutter: scores of scenes without the template.
        present: scores of scenes with it.
        detected_rotation: ± degrees within which it is still detected with all parts at rest.
        detected_scale: the same for scales, lowest and highest.
        false_alarms: how often clutter reaches the threshold of the detector, as text.
        warnings: what to know before relying on the scores.
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
        threshold: of the detector.
        rotation: ± degrees that were searched.
        scale: lowest and highest scale that were searched.
        tilt: degrees out of the picture plane that were searched.
        calibration: None where clutter was not measured.
        false_alarms: how often clutter reaches a score, as text; None where clutter was not measured.
        template: its name, where there are several.
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
    levels = (torch.cat(layers).clamp(0, 1) * 255).round().to(torch.uint8).movedim(0, -1)
    image = cutout_uri(Image.fromarray(np.ascontiguousarray(levels.cpu().numpy())))
    tree = template.parts
    return TemplateView(template.name, *template.size, len(tree), image, _node(tree, tree.root))


def _node(tree: Tree, name: str) -> TreeNode:
    part = tree[name]
    children = tuple(_node(tree, child) for child in tree.children(name))
    return TreeNode(name, part.turn if part.moves else None, children)
