"""Pascal VOC: one XML file per scene, with an `object` for each object and a `part` for each of its parts.

Boxes are in whole pixels that count from 1, with both ends included, as in the data of the challenge.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from wherein.formats.detection_outlines import DetectionOutline, detection_outlines
from wherein.formats.export_target import AddScene, ExportTarget, text_file

if TYPE_CHECKING:
    from wherein.detect.result import Detections
    from wherein.template.template_library import Library


@contextmanager
def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
    """Export each scene to its own file."""

    def add(scene: Path, found: "Detections") -> None:
        with text_file(target.scene_files[scene]) as file:
            file.write(voc(found, scene) + "\n")

    yield add


def voc(found: "Detections", scene: Path) -> str:
    """A scene as XML.

    Arguments:
        found: the detections in it.
        scene: the path of its file.
    """
    root = Element("annotation")
    _add(root, folder=scene.parent.name, filename=scene.name, path=str(scene), segmented="0")
    width, height = found.size
    _add(SubElement(root, "size"), width=width, height=height, depth=3)
    objects: dict[int, Element] = {}
    for outline in detection_outlines(found):
        if outline.part is None:
            node = objects[outline.instance] = SubElement(root, "object")
            cut = _is_cut(outline)
            _add(node, name=outline.template, pose="Unspecified", truncated=int(cut), difficult=0)
        else:
            node = SubElement(objects[outline.instance], "part")
            _add(node, name=outline.part)
        _add(node, confidence=f"{outline.score:.4f}")
        _add_box(node, outline)
    indent(root)
    return tostring(root, encoding="unicode")


def _add(parent: Element, **values: object) -> None:
    for name, value in values.items():
        # XML does not allow control characters, but file names do.
        text = "".join(letter for letter in str(value) if letter.isprintable())
        SubElement(parent, name).text = text


def _add_box(node: Element, outline: DetectionOutline) -> None:
    # The pixel that contains x is floor(x + 0.5), counted from 0, as pixel centres are at whole numbers. The
    # last one is ceil(x + 0.5) − 1, since an edge between two pixels belongs to the left one. VOC adds 1.
    left, top, right, bottom = outline.box
    _add(
        SubElement(node, "bndbox"),
        xmin=math.floor(left + 0.5) + 1,
        ymin=math.floor(top + 0.5) + 1,
        xmax=max(math.ceil(right + 0.5), math.floor(left + 0.5) + 1),
        ymax=max(math.ceil(bottom + 0.5), math.floor(top + 0.5) + 1),
    )


def _is_cut(outline: DetectionOutline) -> bool:
    """Whether the outline touches the border of the scene, so that the object may extend beyond it."""
    left, top, right, bottom = outline.box
    width, height = outline.size
    return left <= -0.5 or top <= -0.5 or right >= width - 0.5 or bottom >= height - 0.5
