"""Detections as JSON with all their digits, and back: what an export needs of a scene searched elsewhere."""

from dataclasses import fields
from typing import Any

import numpy as np
import torch

from wherein.detect.placed_part import PartFound
from wherein.detect.result import Detection, Detections
from wherein.images.picture import Picture
from wherein.template.template_library import Library

_PLAIN = tuple(f.name for f in fields(PartFound) if f.name not in ("matrix", "rings", "reading"))
"""What JSON can hold as it is. A reading is the template's."""


def detections_record(found: Detections) -> dict[str, Any]:
    """The detections without the pixels of their scene, and without candidates.

    Nothing is rounded: JSON keeps all digits of a float64.
    """
    return {
        "items": [_item_record(item) for item in found],
        "template": found.template,
        "size": found.size,
        "seconds": found.seconds,
        "name": found.name,
        "templates": found.templates,
    }


def detections_of(record: dict[str, Any], library: Library) -> Detections:
    """The detections of `detections_record`; their scene has its size, but is black."""
    width, height = record["size"]
    scene = Picture(torch.zeros(1).expand(3, height, width), None)  # one number in memory
    items = tuple(_item(item, library) for item in record["items"])
    return Detections(
        items,
        record["template"],
        scene,
        record["seconds"],
        record["name"],
        templates=tuple(record["templates"]),
    )


def _item_record(item: Detection) -> dict[str, Any]:
    return {
        "score": float(item.score),
        "matrix": item.matrix.tolist(),
        "parts": {name: _part_record(part) for name, part in item.parts.items()},
        "middle": item.middle,
        "template": item.template,
    }


def _part_record(part: PartFound) -> dict[str, Any]:
    plain = {name: getattr(part, name) for name in _PLAIN}
    return plain | {"matrix": part.matrix.tolist(), "rings": [ring.tolist() for ring in part.rings]}


def _item(record: dict[str, Any], library: Library) -> Detection:
    template = library.by_name[record["template"]]
    parts = {}
    for name, part in record["parts"].items():
        values: dict[str, Any] = {key: _plain(part[key]) for key in _PLAIN}
        values["matrix"] = np.array(part["matrix"], dtype=np.float64)
        values["rings"] = tuple(np.array(ring, dtype=np.float64) for ring in part["rings"])
        parts[name] = PartFound(**values, reading=template.parts[name].reading)
    matrix = np.array(record["matrix"], dtype=np.float64)
    return Detection(record["score"], matrix, parts, tuple(record["middle"]), record["template"])


def _plain(value: Any) -> Any:
    """A value from JSON, which has lists for tuples."""
    return tuple(value) if isinstance(value, list) else value
