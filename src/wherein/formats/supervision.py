"""Detections for the package `supervision`: its annotators, trackers, filters and metrics."""

from typing import TYPE_CHECKING, Any

import numpy as np

from wherein.extras import require_package
from wherein.formats.detection_outlines import detection_outlines, leaves

if TYPE_CHECKING:
    from wherein.detect.result import Detections


def supervision(found: "Detections") -> Any:
    """A `supervision.Detections` with one row for each object, and one for each of its parts that was found.

    `class_id` is 0 for the object, and its parts are numbered from 1 in the order of the tree. With several
    templates, the numbers of each object and its parts follow those of the template found before. `data`
    contains the `class_name`, and as `instance` the number of the object in the scene, from 1.
    """
    package = require_package("supervision", "to_supervision()", "pip install 'wherein[supervision]'")
    rows = list(detection_outlines(found))
    width, height = found.size
    classes = _classes(found)
    names = [row.template if row.part is None else row.part for row in rows]
    masks = [row.mask for row in rows]
    # Reshaped, because an array made from no rows would have one axis only.
    return package.Detections(
        xyxy=np.array([row.box for row in rows], dtype=np.float32).reshape(-1, 4),
        mask=np.array(masks, dtype=np.bool_).reshape(len(rows), height, width),
        confidence=np.array([row.score for row in rows], dtype=np.float32),
        class_id=np.array([classes.index((row.template, row.part)) for row in rows], dtype=np.intp),
        data={
            "class_name": np.array(names, dtype=np.str_),
            "instance": np.array([row.instance for row in rows], dtype=np.intp),
        },
    )


def _classes(found: "Detections") -> list[tuple[str, str | None]]:
    """The template and the part (None: the object) of each class, in the order of their numbers."""
    parts: dict[str, dict[str | None, None]] = {}
    for item in found:
        of = parts.setdefault(found.template_of(item), {None: None})
        of.update(dict.fromkeys(leaves(item)))
    return [(template, part) for template, own in parts.items() for part in own]
