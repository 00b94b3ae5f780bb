"""YOLO: a text file for each scene with a line for each object and part, and data.yaml with the classes.

As Ultralytics documents it, in four variants: boxes, segments (polygons), oriented boxes, and poses, whose
keypoints are the joints. Coordinates are fractions of the width and height of the scene. Put the files into
the folder `labels` beside the folder `images` of a dataset; data.yaml lacks only where these are.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.errors import require
from wherein.formats.detection_outlines import Classes, DetectionOutline, detection_outlines, keypoints
from wherein.formats.export_target import AddScene, ExportTarget, json_text, text_file
from wherein.images.contours import contours
from wherein.images.polygons import CORNER_OFFSET, Polygon, hull, joined

if TYPE_CHECKING:
    from wherein.detect.result import Detections
    from wherein.template.template_library import Library

DATA = "data.yaml"
"""The names of the classes; also the number of keypoints."""

Numbers = NDArray[np.float64]
Write = Callable[[DetectionOutline, "Detections"], Numbers]
"""What follows the class on the line of an object or part."""


def boxes(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The middle, the width and the height of the bounding box."""
    left, top, right, bottom = outline.box
    low, high = _fractions(np.array(((left, top), (right, bottom))), found)
    return np.concatenate(((low + high) / 2, high - low))


def segments(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The corners of the outline; holes and further components are joined to it, as a line has one polygon.

    The parts of an object may overlap, and programs that fill the polygon would take that for holes: so it is
    the outline of the pixels of all of them.
    """
    rings: Sequence[Polygon] = outline.shapes[0]
    if len(outline.shapes) > 1 and outline.mask.any():
        rings = contours(outline.mask)
    return _fractions(joined(rings), found).ravel()


def oriented_boxes(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The four corners of the box around the outline that is turned as the object or part is."""
    item = found[outline.instance - 1]
    placed = item if outline.part is None else item.parts[outline.part]
    return _fractions(oriented_box(outline.rings, placed.angle), found).ravel()


def oriented_box(rings: Sequence[Polygon], degrees: float) -> Polygon:
    """The corners of the box around polygons with sides at an angle, from its upper left one on."""
    turn = np.radians(degrees)
    along = np.array(((np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))))
    turned = hull(np.concatenate(list(rings))) @ along.T
    (left, top), (right, bottom) = turned.min(0), turned.max(0)
    return np.array(((left, top), (right, top), (right, bottom), (left, bottom))) @ along


def poses(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The bounding box, and for each joint its place and 2 if it is visible, 1 if the part was not found, 0
    if it is outside."""
    points = keypoints(found[outline.instance - 1], found.size)
    places = np.where(points[:, 2:] > 0, _fractions(points[:, :2], found), 0.0)
    return np.concatenate((boxes(outline, found), np.hstack((places, points[:, 2:])).ravel()))


def _fractions(points: Numbers, found: "Detections") -> Numbers:
    """Places as fractions of the scene, in which they are kept: an oriented box may reach beyond it."""
    return np.asarray(((points + CORNER_OFFSET) / np.array(found.size)).clip(0, 1))


def lines(found: "Detections", classes: Classes, write: Write, joints: int) -> Iterator[str]:
    """The lines of a scene.

    Arguments:
        found: the detections in it.
        classes: their numbers.
        write: the numbers that follow.
        joints: in a pose; of several templates the highest number, and those that others lack are 0.
    """
    for outline in detection_outlines(found):
        if write is poses and outline.part is not None:
            continue  # a part has no joints of its own
        numbers = write(outline, found).round(6).tolist()
        if write is poses:
            numbers += [0.0] * (4 + 3 * joints - len(numbers))
        number = classes.number(outline.template, outline.part)
        yield " ".join((str(number), *(f"{value:.6g}" for value in numbers)))


def _exporter(write: Write) -> Callable[[ExportTarget, "Library"], AbstractContextManager[AddScene]]:
    @contextmanager
    def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
        """A file for each scene, and data.yaml after the last."""
        classes = Classes(library.templates, parts=write is not poses)
        joints = [[name for name, part in one.parts.items() if part.moves] for one in library.templates]
        count = max(map(len, joints))
        require(
            write is not poses or count > 0,
            f"poses are joints as keypoints, but {library.name} has no joints: use yolo-obb or yolo-segment",
        )

        def add(scene: Path, found: "Detections") -> None:
            with text_file(target.scene_files[scene]) as file:
                file.writelines(f"{line}\n" for line in lines(found, classes, write, count))

        yield add
        with text_file(target.path / DATA) as file:
            file.writelines(_data(classes, joints if write is poses else None))

    return export


def _data(classes: Classes, joints: list[list[str]] | None) -> Iterator[str]:
    """The lines of data.yaml; JSON's strings are YAML's too."""
    yield "names:\n"
    yield from (f"  {number}: {json_text(name)}\n" for number, name in enumerate(classes.names))
    if joints is not None:
        yield f"kpt_shape: [{max(map(len, joints))}, 3]\n"
        yield "kpt_names:\n"
        yield from (f"  {number}: {json_text(names)}\n" for number, names in enumerate(joints))


export_boxes = _exporter(boxes)
export_segments = _exporter(segments)
export_oriented_boxes = _exporter(oriented_boxes)
export_poses = _exporter(poses)
