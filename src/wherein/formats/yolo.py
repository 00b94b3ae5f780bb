"""YOLO: one text file per scene with a line for each object and part, and data.yaml with the classes.

The four variants follow the documentation of Ultralytics: boxes, segments (polygons), oriented boxes, and
poses, whose keypoints are the joints. Coordinates are fractions of the width and height of the scene. Put the
files into the folder `labels` beside the folder `images` of a dataset, and add the paths of these folders to
data.yaml.
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
"""The file with the names of the classes and, for poses, of the keypoints."""

Numbers = NDArray[np.float64]
Write = Callable[[DetectionOutline, "Detections"], Numbers]
"""A function that returns the numbers after the class on the line of an object or part."""


def boxes(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The centre, the width and the height of the bounding box."""
    left, top, right, bottom = outline.box
    low, high = _fractions(np.array(((left, top), (right, bottom))), found)
    return np.concatenate(((low + high) / 2, high - low))


def segments(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The corners of the outline, with holes and further components joined to it: a line has one polygon.

    The polygons of an object's parts may overlap. Programs that fill a joined polygon by the even-odd rule
    would turn overlaps into holes. Therefore the outline of an object is that of the union of its pixels.
    """
    rings: Sequence[Polygon] = outline.shapes[0]
    if len(outline.shapes) > 1 and outline.mask.any():
        rings = contours(outline.mask)
    return _fractions(joined(rings), found).ravel()


def oriented_boxes(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The four corners of the bounding box with the rotation of the object or part."""
    item = found[outline.instance - 1]
    placed = item if outline.part is None else item.parts[outline.part]
    return _fractions(oriented_box(outline.rings, placed.angle), found).ravel()


def oriented_box(rings: Sequence[Polygon], degrees: float) -> Polygon:
    """The corners of the bounding box of polygons with rotated sides, from its upper left corner."""
    # Rows of `along` are the directions of the sides. Points @ along.T are the coordinates along them, and
    # @ along takes them back, since the inverse of a rotation is its transpose.
    turn = np.radians(degrees)
    along = np.array(((np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))))
    turned = hull(np.concatenate(list(rings))) @ along.T
    (left, top), (right, bottom) = turned.min(0), turned.max(0)
    return np.array(((left, top), (right, top), (right, bottom), (left, bottom))) @ along


def poses(outline: DetectionOutline, found: "Detections") -> Numbers:
    """The bounding box, and for each joint its position and visibility as in `keypoints`: 2, 1 or 0."""
    # Keypoints outside of the scene are written as 0, 0, 0: not labelled.
    points = keypoints(found[outline.instance - 1], found.size)
    places = np.where(points[:, 2:] > 0, _fractions(points[:, :2], found), 0.0)
    return np.concatenate((boxes(outline, found), np.hstack((places, points[:, 2:])).ravel()))


def _fractions(points: Numbers, found: "Detections") -> Numbers:
    """Positions as fractions of the scene, clipped to [0, 1]: an oriented box may reach beyond the scene."""
    return np.asarray(((points + CORNER_OFFSET) / np.array(found.size)).clip(0, 1))


def lines(found: "Detections", classes: Classes, write: Write, joints: int) -> Iterator[str]:
    """The lines of a scene.

    Arguments:
        found: the detections in it.
        classes: the numbers of the classes.
        write: returns the numbers after the class.
        joints: the number of keypoints in a pose. YOLO has one number for all classes: it is the maximum over
            all templates, and missing keypoints are 0, 0, 0.
    """
    for outline in detection_outlines(found):
        if write is poses and outline.part is not None:
            continue  # a part has no joints of its own
        numbers = write(outline, found).round(6).tolist()
        if write is poses:
            numbers += [0.0] * (4 + 3 * joints - len(numbers))  # a box has 4 numbers, a keypoint 3
        number = classes.number(outline.template, outline.part)
        yield " ".join((str(number), *(f"{value:.6g}" for value in numbers)))


def _exporter(write: Write) -> Callable[[ExportTarget, "Library"], AbstractContextManager[AddScene]]:
    @contextmanager
    def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
        """Export each scene to its own file, and write data.yaml after the last."""
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
    """The lines of data.yaml. Names are written as JSON, since YAML reads JSON strings."""
    yield "# To train, put the .txt files into labels/ and the pictures into images/, and add these lines:\n"
    yield "# train: images\n# val: images\n"
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
