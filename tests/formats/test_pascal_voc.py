"""Pascal VOC's XML, read back."""

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from walkers import HEIGHT, WIDTH, found, logo
from wherein.formats.pascal_voc import voc


def numbers(node: object) -> list[int]:
    return [int(node.findtext(f"bndbox/{name}")) for name in ("xmin", "ymin", "xmax", "ymax")]  # type: ignore[attr-defined]


def test_objects_with_their_parts() -> None:
    root = fromstring(voc(found("hand", at=((110.0, 80.0), (5.0, 80.0))), Path("photographs/a.png")))
    assert (root.tag, root.findtext("filename"), root.findtext("folder")) == (
        "annotation",
        "a.png",
        "photographs",
    )
    assert [root.findtext(f"size/{name}") for name in ("width", "height", "depth")] == [
        *(str(WIDTH), str(HEIGHT), "3"),
    ]
    first, second = root.findall("object")
    assert [part.findtext("name") for part in first.findall("part")] == ["trunk", "leg", "upper"]
    assert (first.findtext("name"), first.findtext("truncated"), second.findtext("truncated")) == (
        *("walker", "0", "1"),
    )
    assert float(first.findtext("confidence") or "") == pytest.approx(0.97)
    left, top, right, bottom = numbers(first)
    for part in first.findall("part"):
        x0, y0, x1, y1 = numbers(part)
        assert left <= x0 < x1 <= right and top <= y0 < y1 <= bottom
    assert numbers(second)[0] == 1


def test_boxes_count_from_one_and_have_both_ends() -> None:
    """The logo has 20 × 12 pixels, the first of which is (30, 40)."""
    (node,) = fromstring(voc(logo(), Path("a.png"))).findall("object")
    assert numbers(node) == [31, 41, 50, 52]
    assert node.findall("part") == []


def test_names_that_are_no_text_in_xml() -> None:
    assert fromstring(voc(logo(), Path("a<b\x07&\udce9.png"))).findtext("filename") == "a<b&.png"
