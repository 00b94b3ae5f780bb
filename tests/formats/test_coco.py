"""COCO's JSON to outlines: polygons, run lengths, images, objects; and what is wrong with a file."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.formats.rle import decoded
from wherein.making import Outline, coco, cut

W, H = 31, 37
COMPRESSED = "01X68cJ2M4N0O2N2O0000000000000001N2N102L3Ni0J^O000000000M"
"""What pycocotools 2.0 makes of `drawn()`."""


def drawn() -> np.ndarray:
    """A disc, a bar at the right edge, and the first pixel."""
    y, x = np.mgrid[:H, :W]
    mask = ((x - 14) ** 2 + (y - 20) ** 2 < 100).astype(np.float32)
    mask[3:6, 25:31] = 1
    mask[0, 0] = 1
    return mask


def runs(mask: np.ndarray) -> list[int]:
    """Column by column, zeros first."""
    values = mask.T.ravel().astype(int)
    ends = np.flatnonzero(np.diff(values)) + 1
    lengths = np.diff([0, *ends, len(values)]).tolist()
    return lengths if values[0] == 0 else [0, *lengths]


def annotation(number: int, category: int, **more: Any) -> dict[str, Any]:
    box = [[5, 4, 15, 4, 15, 24, 5, 24]]
    return {"id": number, "image_id": 1, "category_id": category, "segmentation": box, **more}


def written(folder: Path, *annotations: dict[str, Any], **more: Any) -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (H, W, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "a.png")
    record = {
        "images": [{"id": 1, "file_name": "a.png", "width": W, "height": H}],
        "annotations": list(annotations),
        "categories": [{"id": 1, "name": "body"}, {"id": 2, "name": "arm"}],
    }
    path = folder / "instances.json"
    path.write_text(json.dumps(record | more), encoding="utf-8")
    return path


def outlines(path: Path, **choice: Any) -> dict[str, Outline]:
    return {outline.name: outline for outline in coco.read(path, **choice).outlines}


@pytest.mark.parametrize("counts", [runs(drawn()), COMPRESSED])
def test_run_lengths(tmp_path: Path, counts: list[int] | str) -> None:
    np.testing.assert_array_equal(decoded(counts, W, H, "it"), drawn())
    path = written(tmp_path, annotation(7, 1, segmentation={"counts": counts, "size": [H, W]}))
    read = coco.read(path)
    made = cut(read.picture, read.outlines, "x")
    assert made.size == (31, 30)
    np.testing.assert_array_equal(made.canvas.mask, drawn()[:30])


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_run_lengths_of_anything(width: int, height: int, seed: int) -> None:
    mask = (np.random.default_rng(seed).random((height, width)) < 0.5).astype(np.float32)
    np.testing.assert_array_equal(decoded(runs(mask), width, height, "it"), mask)


def test_polygons_are_as_coco_means_them(tmp_path: Path) -> None:
    """pycocotools fills (5, 4) to (15, 24) to the pixels 5 to 14 and 4 to 23."""
    two = annotation(8, 2, segmentation=[[1, 30, 4, 30, 4, 33, 1, 33], [20, 30, 24, 30, 24, 33, 20, 33]])
    read = coco.read(written(tmp_path, annotation(7, 1), two))
    made = cut(read.picture, read.outlines, "x")
    body, arm = made.parts["body"], made.parts["arm"]
    assert body.motif is not None and (body.motif.width, body.motif.height) == (10, 20)
    assert bool((body.motif.mask == 1).all()) and body.at == (4, 0)
    assert arm.motif is not None and float(arm.motif.mask.sum()) == 9 + 12
    assert not body.moves and not arm.moves
    assert read.notes == ()


def test_joints_by_attributes_or_in_place(tmp_path: Path) -> None:
    inside = annotation(7, 1, attributes={"parent": "trunk", "pivot": [6, 5], "turn": "40"})
    path = written(tmp_path, inside, annotation(8, 2, pivot=[1.5, 30.5], static=False, parent="body"))
    read = outlines(path)
    assert (read["body"].pivot, read["body"].turn, read["body"].fixed) == ((5.5, 4.5), 40, False)
    assert (read["arm"].pivot, read["arm"].turn, read["arm"].parent) == ((1, 30), 30, "body")
    assert read["trunk"].group


def test_which_object(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        annotation(7, 1, group_id=1),
        annotation(8, 2, group_id=1),
        annotation(9, 1, attributes={"group_id": "second"}),
    )
    with pytest.raises(
        ArgumentError, match='several parts "body" in this image: choose an object of 1, 1, second'
    ):
        coco.read(path)
    assert set(outlines(path, thing="1")) == {"body", "arm"}
    assert set(outlines(path, thing="second")) == {"body"}
    assert set(outlines(path, thing="8")) == {"arm"}
    with pytest.raises(ArgumentError, match="no object '12'"):
        coco.read(path, thing="12")


def test_which_image(tmp_path: Path) -> None:
    images = [{"id": k, "file_name": f"sub/{k}.png"} for k in (1, 2)]
    path = written(tmp_path, annotation(7, 1), annotation(8, 2, image_id=2), images=images)
    (tmp_path / "sub").mkdir()
    for k in (1, 2):
        shutil.copy(tmp_path / "a.png", tmp_path / "sub" / f"{k}.png")
    with pytest.raises(ArgumentError, match=r"2 images: choose an image of sub/1\.png, sub/2\.png"):
        coco.read(path)
    with pytest.raises(ArgumentError, match="no image '3'"):
        coco.read(path, image="3")
    for image in ("2", "sub/2.png", "2.png"):
        assert set(outlines(path, image=image)) == {"arm"}


def test_a_box_where_there_is_no_outline(tmp_path: Path) -> None:
    read = coco.read(written(tmp_path, annotation(7, 1, segmentation=[], bbox=[5, 4, 10, 20])))
    assert read.notes == ('"body" has no outline but its box',)
    assert cut(read.picture, read.outlines, "x").size == (10, 20)


def test_an_unnamed_category_goes_by_its_number(tmp_path: Path) -> None:
    assert set(outlines(written(tmp_path, annotation(7, 5), categories=[]))) == {"5"}


@pytest.mark.parametrize(
    ("broken", "kind", "words"),
    [
        ({"segmentation": [[1, 2, 3]]}, TemplateError, 'the part "body" has a polygon with an odd number'),
        ({"segmentation": [["x", 2]]}, TemplateError, '"annotations.0.segmentation'),
        ({"segmentation": None}, TemplateError, 'the part "body" has neither a segmentation nor a box'),
        (
            {"segmentation": {"counts": [3], "size": [H, W]}},
            TemplateError,
            "sum up to 3 pixels, not to 31 × 37",
        ),
        (
            {"segmentation": {"counts": [3], "size": [9, 9]}},
            TemplateError,
            "run lengths of a picture of 9 × 9",
        ),
        ({"segmentation": {"counts": "0\n", "size": [H, W]}}, TemplateError, r"run lengths with '\\n'"),
        ({"segmentation": {"counts": "P", "size": [H, W]}}, TemplateError, "end in the middle of a number"),
        ({"segmentation": {"counts": [-1, 1148], "size": [H, W]}}, TemplateError, "damaged"),
        ({"attributes": {"turn": "often"}}, TemplateError, 'the part "body" has turn=often'),
        ({"image_id": 2}, ArgumentError, "the image has no annotation"),
    ],
)
def test_what_is_wrong_in_words(tmp_path: Path, broken: dict[str, Any], kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        coco.read(written(tmp_path, annotation(7, 1) | broken))


def test_pictures_that_are_not_there_or_elsewhere(tmp_path: Path) -> None:
    gone = written(tmp_path, annotation(7, 1), images=[{"id": 1, "file_name": "gone.png"}])
    with pytest.raises(PictureError, match="file not found"):
        coco.read(gone)
    assert set(outlines(gone, picture=tmp_path / "a.png")) == {"body"}
    away = written(tmp_path, annotation(7, 1), images=[{"id": 1, "file_name": "../a.png"}])
    with pytest.raises(TemplateError, match="outside of its folder"):
        coco.read(away)
    other = written(
        tmp_path, annotation(7, 1), images=[{"id": 1, "file_name": "a.png", "width": 8, "height": 8}]
    )
    with pytest.raises(PictureError, match="a picture of 8 × 8, but the picture is 31 × 37"):
        coco.read(other)
