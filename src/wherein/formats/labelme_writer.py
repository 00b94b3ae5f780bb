"""labelme's JSON: a polygon a part, and a group an object."""

from typing import TYPE_CHECKING, Any

from wherein.formats.found_outlines import Outline, leaves, outlines
from wherein.images.polygons import CORNER_OFFSET

if TYPE_CHECKING:
    from wherein.detect.result import Detections

_VERSION = "5.5.0"
"""Whose fields these are; other versions read them too."""


def labelme(found: "Detections", name: str) -> dict[str, Any]:
    """What labelme shows, and what can be put right by hand there; parts that were not found are not in it.

    Arguments:
        found: what was found in a scene.
        name: where its picture lies, relative to the folder of the JSON.
    """
    width, height = found.size
    return {
        "version": _VERSION,
        "flags": {},
        "shapes": _shapes(found),
        "imagePath": name,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }


def _shapes(found: "Detections") -> list[dict[str, Any]]:
    """A shape is one polygon, so of an object of several parts the whole is its group and no shape."""
    shapes = []
    for outline in outlines(found):
        names = leaves(found[outline.instance - 1]) if outline.part is None else [outline.part]
        if len(names) == 1:
            shapes.append(_shape(names[0], outline))
    return shapes


def _shape(label: str, outline: Outline) -> dict[str, Any]:
    return {
        "label": label,
        "points": (outline.polygons[0] + CORNER_OFFSET).round(2).tolist(),
        "group_id": outline.instance,
        "description": "",
        "shape_type": "polygon",
        "flags": {},
        "mask": None,
    }
