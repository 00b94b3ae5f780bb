"""Label Studio: tasks with predictions, in one file that is imported into a project and corrected there.

Outlines are polygons of the control `label` on the picture `image`. The labelling interface must define both:

    <View><Image name="image" value="$image"/>
    <PolygonLabels name="label" toName="image"><Label value="cup"/></PolygonLabels></View>

Coordinates are percents of the width and height.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wherein import __version__
from wherein.formats.detection_outlines import DetectionOutline, detection_outlines, leaves
from wherein.formats.export_target import AddScene, ExportTarget, json_text, text_file
from wherein.images.polygons import CORNER_OFFSET, Polygon, components, joined

if TYPE_CHECKING:
    from wherein.detect.result import Detections
    from wherein.template.template_library import Library


@contextmanager
def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
    """Export all scenes to one file; the task of a scene is written when it is added."""
    separators = chain([""], repeat(","))
    with text_file(target.path) as file:
        file.write("[")

        def add(scene: Path, found: "Detections") -> None:
            file.write(f"{next(separators)}\n{json_text(task(found, str(scene)))}")

        yield add
        file.write("\n]\n")


def task(found: "Detections", name: str) -> dict[str, Any]:
    """A scene as a task with one prediction.

    Arguments:
        found: the detections in it.
        name: the name of its picture, by which Label Studio finds the picture.
    """
    # Leaves only: the outline of a whole object would cover those of its parts.
    results = [
        _result(outline, number, polygon)
        for outline in detection_outlines(found)
        if outline.part is not None or len(leaves(found[outline.instance - 1])) == 1
        for number, polygon in enumerate(map(joined, components(outline.shapes[0])))
    ]
    score = max((round(item.score, 4) for item in found), default=0.0)
    prediction = {"model_version": f"wherein {__version__}", "score": score, "result": results}
    return {"data": {"image": name}, "predictions": [prediction]}


def _result(outline: DetectionOutline, number: int, polygon: Polygon) -> dict[str, Any]:
    """One polygon of a part. Polygons of the same object have ids with the same beginning, and the number of
    the object as meta text."""
    width, height = outline.size
    label = outline.part or outline.template
    percents = ((polygon + CORNER_OFFSET) / np.array(outline.size) * 100).round(4)
    return {
        "id": f"{outline.instance}-{label}-{number}",
        "type": "polygonlabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": width,
        "original_height": height,
        "image_rotation": 0,
        "value": {"points": percents.tolist(), "polygonlabels": [label], "closed": True},
        "score": round(outline.score, 4),
        "meta": {"text": [f"{outline.template} {outline.instance}"]},
    }
