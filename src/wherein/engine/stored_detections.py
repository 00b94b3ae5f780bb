"""Detections as JSON without loss of precision, and back: for the export of scenes that workers searched."""

from dataclasses import fields
from typing import Any

import numpy as np
import torch

from wherein.detect.placed_part import PartFound
from wherein.detect.result import Detection, Detections
from wherein.images.picture import Picture
from wherein.template.template_library import Library

_PLAIN = tuple(f.name for f in fields(PartFound) if f.name not in ("matrix", "rings", "reading"))
"""The fields that JSON can represent directly. Readings are omitted, since the template has them."""


def detections_record(found: Detections) -> dict[str, Any]:
    """Detections as a dictionary for JSON, without the pixels of their scene, and without candidates.

    Nothing is rounded: Python writes a float64 with all digits that it needs.
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
    """The detections from a record of `detections_record`; their scene has the right size, but is black."""
    width, height = record["size"]
    scene = Picture(torch.zeros(1).expand(3, height, width), None)  # a view of one number: no memory
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
    # By name: a detection names the template that it is of, also in a library.
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
    """A value from JSON, with lists converted to tuples: JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value
