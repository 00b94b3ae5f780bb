"""Labels beside detections: what they say, and what they do not hide."""

import numpy as np
import torch
from PIL import Image, ImageDraw

from wherein.detect.fast.assemble import Assembler
from wherein.detect.result import Detection
from wherein.drawing.labels import _box, _label_size, _overlap, _places, draw_labels, font_of
from wherein.drawing.palette import PAPER
from wherein.images.motif import Motif
from wherein.motion.homography import shift
from wherein.template import Template

MADE = Template.rigid("logo", Motif.whole(torch.full((3, 12, 20), 0.5)))


def moved(x: float, y: float) -> Detection:
    """A detection whose first pixel lies at a place."""
    return Assembler(MADE)({"logo": shift(x, y)}, {"logo": (0.8, True)}, 0.85)


def white(image: Image.Image) -> np.ndarray:
    return (np.asarray(image) == PAPER).all(-1)


def labelled(places: list[tuple[float, float]], size: int = 13) -> tuple[np.ndarray, list[Detection]]:
    """Which pixels belong to labels of detections at these places, and the detections."""
    image, items = Image.new("RGB", (400, 300)), [moved(*place) for place in places]
    draw_labels(image, items, range(1, len(items) + 1), size, named=False)
    return white(image), items


def test_a_label_stands_above_its_object() -> None:
    drawn, (item,) = labelled([(150, 150)])
    left, top, right, _ = _box(item)
    rows, columns = np.nonzero(drawn)
    assert rows.max() < top
    assert abs(columns.mean() - (left + right) / 2) < 2


def test_a_label_hides_no_other_object() -> None:
    _, (item,) = labelled([(150, 150)])
    height = _box(item)[3] - _box(item)[1]
    drawn, items = labelled([(150, 100), (150, 100 + height + 3)])
    assert drawn.any()
    for one in items:
        left, top, right, bottom = (round(at) for at in _box(one))
        assert not drawn[top:bottom, left:right].any()


def test_at_the_border_a_label_stays_in_the_picture() -> None:
    pen = ImageDraw.Draw(Image.new("RGB", (400, 300)))
    size = _label_size(pen, "1: 0.98", font_of(13))
    for box in ((0.0, 0.0, 20.0, 20.0), (380.0, 280.0, 399.0, 299.0)):
        for left, top, right, bottom in _places(box, size, (400, 300)):
            assert left >= 0 <= top
            assert right <= 400 >= bottom


def test_without_room_there_are_numbers_alone_and_none_hides_another() -> None:
    """A grid so dense that every place beside an object is another one."""
    _, (item,) = labelled([(0, 0)])
    left, top, right, bottom = _box(item)
    wide, high = right - left + 1, bottom - top + 1
    tight = [(40 + i * wide, 40 + j * high) for j in range(3) for i in range(3)]
    sparse, _ = labelled([(40 + 3 * wide, 40 + 3 * high)])
    dense, _ = labelled(tight)
    assert dense.sum() / 9 < sparse.sum(), "smaller labels"
    assert not _overlap((0, 0, 10, 10), (10, 0, 20, 10))
    assert _overlap((0, 0, 10, 10), (9, 9, 20, 20))
