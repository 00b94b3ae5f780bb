"""supervision's Detections, for its annotators, trackers, filters and metrics."""

from typing import TYPE_CHECKING, Any

import numpy as np

from wherein.extras import require_package
from wherein.formats.found_outlines import leaves, outlines
from wherein.images.polygons import box, filled

if TYPE_CHECKING:
    from wherein.detect.result import Detections


def supervision(found: "Detections") -> Any:
    """A row for each object, and one for each of its parts that was found.

    `class_id` is 0 for the whole object and then counts the parts in the order of the tree; `data` has the
    `class_name` and the `instance`, the number of the object in the scene, from 1.
    """
    package = require_package("supervision", "to_supervision()", "pip install 'wherein[supervision]'")
    told = list(outlines(found))
    width, height = found.size
    parts: list[str | None] = [None, *dict.fromkeys(name for item in found for name in leaves(item))]
    names = [found.template if outline.part is None else outline.part for outline in told]
    masks = [filled(outline.polygons, width, height) for outline in told]
    return package.Detections(
        xyxy=np.array([box(outline.polygons) for outline in told], dtype=np.float32).reshape(-1, 4),
        mask=np.array(masks, dtype=np.bool_).reshape(-1, height, width),
        confidence=np.array([outline.score for outline in told], dtype=np.float32),
        class_id=np.array([parts.index(outline.part) for outline in told], dtype=np.intp),
        data={
            "class_name": np.array(names, dtype=np.str_),
            "instance": np.array([outline.instance for outline in told], dtype=np.intp),
        },
    )
