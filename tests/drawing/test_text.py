"""Names in any script can be read on drawings, though Pillow's font has few letters."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont

from wherein.detect.result import Detection, PartFound
from wherein.drawing.detections import draw_detections
from wherein.drawing.template_sheet import sheet
from wherein.drawing.text import LETTERS, legible
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.template import Template

BOX = "\ue000"
"""Which no font has."""


def shape(letter: str) -> tuple[tuple[int, int], bytes]:
    mask = ImageFont.load_default(16).getmask(letter)
    return mask.size, bytes(mask)


def test_the_font_has_the_letters_that_it_is_said_to_have() -> None:
    assert [letter for letter in sorted(LETTERS) if shape(letter) == shape(BOX)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("claw_left, ±30°", "claw_left, ±30°"),
        ("Öse für Ärmel", "Ose fur Armel"),
        ("O\u0308se", "Ose"),
        ("château, mañana, žluťoučký", "chateau, manana, zlutoucky"),
        ("Straße, løft, Æsir, œuvre, łódź", "Strasse, loft, AEsir, oeuvre, lodz"),
        ("3 × 4 − 1", "3 x 4 - 1"),
        ("ﬁn²", "fin2"),
        ("漢字", r"\u6f22\u5b57"),
        ("a\nb\t🦀", r"a\u000ab\u0009\u1f980"),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert legible(text) == expected


@given(st.text())
def test_any_text_comes_out_in_letters_that_there_are(text: str) -> None:
    assert set(legible(text)) <= LETTERS


def drawn(name: str) -> list[Image.Image]:
    """A drawing of a detection, and a template's sheet, with a part of this name."""
    corners = np.array([(5.0, 5), (40, 5), (40, 30), (5, 30)])
    matrix = np.eye(3)[:2]
    part = PartFound(matrix, 0.9, True, (corners,))
    item = Detection(0.9, matrix, {name: part})
    scene = Picture(torch.full((3, 61, 83), 0.5), None)
    template = Template.rigid(name, Motif.whole(torch.rand(3, 20, 30, generator=torch.manual_seed(0))))
    return [draw_detections(scene, [item], legend=True), sheet(template, [])]


def test_names_that_differ_look_different() -> None:
    for one, other in zip(drawn("漢"), drawn("字"), strict=True):
        assert one.tobytes() != other.tobytes()


def test_a_name_on_two_lines_is_drawn_on_one() -> None:
    for one, other in zip(drawn("a\nb"), drawn("a b"), strict=True):
        assert one.height == other.height
