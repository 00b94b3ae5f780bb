"""The first outline of a picture with a transparent background."""

import numpy as np
import pytest

from studio_page import Page, crane, png
from wherein.images.load import load_picture
from wherein.images.picture import Picture
from wherein.images.polygons import signed_area
from wherein.studio.mask_outlines import alpha_outline


def with_alpha(*boxes: tuple[int, int, int, int], level: int = 255) -> Picture:
    """A picture of 60 × 40 pixels that is opaque in boxes (left, top, right, bottom)."""
    sheet = np.full((40, 60, 4), 128, dtype=np.uint8)
    sheet[..., 3] = 0
    for left, top, right, bottom in boxes:
        sheet[top:bottom, left:right, 3] = level
    return load_picture(sheet)


def test_a_shape() -> None:
    outline = alpha_outline(with_alpha((10, 5, 50, 30)))
    assert outline is not None
    assert sorted(outline.tolist()) == [[9.5, 4.5], [9.5, 29.5], [49.5, 4.5], [49.5, 29.5]]


def test_several_shapes_have_one_outline() -> None:
    outline = alpha_outline(with_alpha((5, 5, 15, 15), (40, 20, 55, 35)))
    assert outline is not None
    assert outline.min(0).tolist() == [4.5, 4.5]
    assert outline.max(0).tolist() == [54.5, 34.5]
    assert abs(signed_area(outline)) < 50 * 30


@pytest.mark.parametrize(
    "picture",
    [
        load_picture(crane()),
        with_alpha(),
        with_alpha((0, 0, 60, 40)),
        with_alpha((10, 5, 50, 30), level=100),
        load_picture(np.random.default_rng(0).integers(0, 255, (400, 400, 4), dtype=np.uint8)),
    ],
    ids=["no alpha", "all transparent", "all opaque", "a shadow", "noise"],
)
def test_pictures_without_a_first_outline(picture: Picture) -> None:
    assert alpha_outline(picture) is None


def test_a_ragged_shape_has_its_hull() -> None:
    sheet = np.zeros((40, 1600, 4), dtype=np.uint8)
    sheet[20:30, 10:-10, 3] = 255
    sheet[10:20, 10:-10, 3] = 255 * (np.arange(1580) // 2 % 2)  # a comb with 395 teeth
    outline = alpha_outline(load_picture(sheet))
    assert outline is not None
    assert len(outline) < 10
    assert (outline.min(0).tolist(), outline.max(0).tolist()) == ([9.5, 9.5], [1589.5, 29.5])


def test_the_answer_to_an_upload(page: Page) -> None:
    sheet = np.dstack((crane(), np.zeros((120, 161), dtype=np.uint8)))
    sheet[40:100, 20:80, 3] = 255
    assert len(page.upload("picture", png(sheet), "cut.png")["outline"]) == 4
    assert page.upload("picture", png(crane()), "crane.png")["outline"] is None
