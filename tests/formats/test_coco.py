"""COCO: annotations read (polygons, run lengths, images, objects, errors), and detections written."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from detecting import walker
from walkers import HEIGHT, LEAVES, WIDTH, found, logo, ring, ring_mask, tilted
from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.formats.annotation import read
from wherein.formats.coco import Coco, coco
from wherein.images.polygons import area, filled, signed_area
from wherein.images.run_lengths import decode_run_lengths, encode_run_lengths
from wherein.making import Outline, cut

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
    return {outline.name: outline for outline in read(path, **choice).outlines}


@pytest.mark.parametrize("counts", [runs(drawn()), COMPRESSED])
def test_run_lengths(tmp_path: Path, counts: list[int] | str) -> None:
    np.testing.assert_array_equal(decode_run_lengths(counts, W, H, "it"), drawn())
    path = written(tmp_path, annotation(7, 1, segmentation={"counts": counts, "size": [H, W]}))
    got = read(path)
    made = cut(got.picture, got.outlines, "x")
    assert made.size == (31, 30)
    np.testing.assert_array_equal(made.canvas.mask, drawn()[:30])


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_run_lengths_of_anything(width: int, height: int, seed: int) -> None:
    mask = (np.random.default_rng(seed).random((height, width)) < 0.5).astype(np.float32)
    np.testing.assert_array_equal(decode_run_lengths(runs(mask), width, height, "it"), mask)


def test_polygons_are_as_coco_means_them(tmp_path: Path) -> None:
    """pycocotools fills (5, 4) to (15, 24) to the pixels 5 to 14 and 4 to 23."""
    two = annotation(8, 2, segmentation=[[1, 30, 4, 30, 4, 33, 1, 33], [20, 30, 24, 30, 24, 33, 20, 33]])
    got = read(written(tmp_path, annotation(7, 1), two))
    made = cut(got.picture, got.outlines, "x")
    body, arm = made.parts["body"], made.parts["arm"]
    assert body.motif is not None and (body.motif.width, body.motif.height) == (10, 20)
    assert bool((body.motif.mask == 1).all()) and body.at == (4, 0)
    assert arm.motif is not None and float(arm.motif.mask.sum()) == 9 + 12
    assert not body.moves and not arm.moves
    assert got.notes == ()


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
        ArgumentError,
        match=r'several parts "body" .*: choose an object with object_id= or --object \(1, 1, second\)',
    ):
        read(path)
    assert set(outlines(path, object_id="1")) == {"body", "arm"}
    assert set(outlines(path, object_id="second")) == {"body"}
    assert set(outlines(path, object_id="8")) == {"arm"}
    with pytest.raises(ArgumentError, match="no object '12'"):
        read(path, object_id="12")


def test_which_image(tmp_path: Path) -> None:
    images = [{"id": k, "file_name": f"sub/{k}.png"} for k in (1, 2)]
    path = written(tmp_path, annotation(7, 1), annotation(8, 2, image_id=2), images=images)
    (tmp_path / "sub").mkdir()
    for k in (1, 2):
        shutil.copy(tmp_path / "a.png", tmp_path / "sub" / f"{k}.png")
    with pytest.raises(
        ArgumentError, match=r"2 images: choose one with image= or --image \(sub/1\.png, sub/2\.png\)"
    ):
        read(path)
    with pytest.raises(ArgumentError, match="no image '3'"):
        read(path, image="3")
    for image in ("2", "sub/2.png", "2.png"):
        assert set(outlines(path, image=image)) == {"arm"}


def test_a_box_where_there_is_no_outline(tmp_path: Path) -> None:
    got = read(written(tmp_path, annotation(7, 1, segmentation=[], bbox=[5, 4, 10, 20])))
    assert got.notes == ('"body" has no segmentation: its bounding box is used',)
    assert cut(got.picture, got.outlines, "x").size == (10, 20)


def test_an_unnamed_category_goes_by_its_number(tmp_path: Path) -> None:
    assert set(outlines(written(tmp_path, annotation(7, 5), categories=[]))) == {"5"}


@pytest.mark.parametrize(
    ("broken", "kind", "words"),
    [
        ({"segmentation": [[1, 2, 3]]}, TemplateError, 'the part "body" has a polygon with an odd number'),
        ({"segmentation": [["x", 2]]}, TemplateError, '"annotations.0.segmentation'),
        (
            {"segmentation": None},
            TemplateError,
            'the part "body" has neither a segmentation nor a bounding box',
        ),
        (
            {"segmentation": {"counts": [3], "size": [H, W]}},
            TemplateError,
            "run-length mask of 3 pixels instead of 31 × 37",
        ),
        (
            {"segmentation": {"counts": [3], "size": [9, 9]}},
            TemplateError,
            "run-length mask of 9 × 9 pixels",
        ),
        (
            {"segmentation": {"counts": "0\n", "size": [H, W]}},
            TemplateError,
            r"the character '\\n' in its run-length mask",
        ),
        ({"segmentation": {"counts": "P", "size": [H, W]}}, TemplateError, "incomplete run-length mask"),
        ({"segmentation": {"counts": [-1, 1148], "size": [H, W]}}, TemplateError, "damaged"),
        ({"attributes": {"turn": "often"}}, TemplateError, 'the part "body" has turn=often'),
        ({"image_id": 2}, ArgumentError, "the image has no annotation"),
    ],
)
def test_what_is_wrong_in_words(tmp_path: Path, broken: dict[str, Any], kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        read(written(tmp_path, annotation(7, 1) | broken))


def test_pictures_that_are_not_there_or_elsewhere(tmp_path: Path) -> None:
    gone = written(tmp_path, annotation(7, 1), images=[{"id": 1, "file_name": "gone.png"}])
    with pytest.raises(PictureError, match="file not found"):
        read(gone)
    assert set(outlines(gone, image=str(tmp_path / "a.png"))) == {"body"}
    away = written(tmp_path, annotation(7, 1), images=[{"id": 1, "file_name": "../a.png"}])
    with pytest.raises(TemplateError, match="outside its folder"):
        read(away)
    other = written(
        tmp_path, annotation(7, 1), images=[{"id": 1, "file_name": "a.png", "width": 8, "height": 8}]
    )
    with pytest.raises(PictureError, match="a picture of 8 × 8 pixels, but the picture has 31 × 37"):
        read(other)


def test_coco_has_a_category_for_the_whole_and_one_for_each_part() -> None:
    made = found("hand", at=((110.0, 80.0), (120.0, 90.0))).to_coco("a.png")
    assert json.loads(json.dumps(made)) == made
    assert made["images"] == [{"id": 1, "file_name": "a.png", "width": WIDTH, "height": HEIGHT}]
    assert [(c["id"], c["name"], c["supercategory"]) for c in made["categories"]] == [
        (k, name, "walker") for k, name in enumerate(("walker", *LEAVES), 1)
    ]
    told = made["annotations"]
    assert [a["id"] for a in told] == list(range(1, 9))
    assert [(a["instance"], a["category_id"]) for a in told] == [
        (instance, category)
        for instance in (1, 2)
        for category in (1, 2, 3, 4)  # the hand was not found
    ]
    assert {(a["image_id"], a["iscrowd"]) for a in told} == {(1, 0)}
    assert [a["score"] for a in told[:4]] == [0.97, 0.9, 0.9, 0.9]
    assert [len(a["segmentation"]) for a in told[:4]] == [3, 1, 1, 1]


def test_coco_counts_from_the_corners_of_pixels() -> None:
    (one,) = logo().to_coco()["annotations"]
    assert one["bbox"] == [30, 40, 20, 12]
    assert one["area"] == 20 * 12
    assert (min(one["segmentation"][0][::2]), max(one["segmentation"][0][1::2])) == (30, 52)


def test_coco_of_one_part_tells_it_once() -> None:
    made = logo().to_coco()
    assert [c["name"] for c in made["categories"]] == ["logo"]
    assert [a["score"] for a in made["annotations"]] == [0.85]


def test_coco_tells_a_part_from_an_object_of_its_name() -> None:
    made = Coco("cup", ("cup", "handle"))
    assert [c["name"] for c in made.categories] == ["cup", "cup (part)", "handle"]


def test_coco_keeps_to_the_frame() -> None:
    made = found(at=((8.0, 160.0), (-400.0, 0.0))).to_coco()
    assert {a["instance"] for a in made["annotations"]} == {1}  # the other is outside
    for annotation in made["annotations"]:
        for polygon in annotation["segmentation"]:
            x, y = polygon[::2], polygon[1::2]
            assert 0 <= min(x) <= max(x) <= WIDTH
            assert 0 <= min(y) <= max(y) <= HEIGHT
        left, top, width, height = annotation["bbox"]
        assert 0 <= left < left + width <= WIDTH
        assert 0 <= top < top + height <= HEIGHT


def test_many_scenes_in_one_file_have_the_same_ids_whatever_is_found() -> None:
    nothing = replace(found(), items=())
    scenes = [("b.png", nothing), ("a.png", found()), ("c.png", found("leg"))]
    joints = [name for name, part in walker().parts.items() if part.moves]
    made = coco(scenes, "walker", walker().parts.leaves, joints)
    assert [(i["id"], i["file_name"]) for i in made["images"]] == [(1, "b.png"), (2, "a.png"), (3, "c.png")]
    assert [a["image_id"] for a in made["annotations"]] == [2] * 5 + [3] * 4
    assert [a["id"] for a in made["annotations"]] == list(range(1, 10))
    only = coco(scenes[:1], "walker", walker().parts.leaves, joints)
    assert only["categories"] == made["categories"]
    assert only["annotations"] == []


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools' own
def test_coco_is_read_by_its_own_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = pytest.importorskip("pycocotools.coco")
    made = found(at=((110.0, 80.0), (20.0, 150.0))).to_coco("a.png")
    (tmp_path / "coco.json").write_text(json.dumps(made))
    read = tools.COCO(str(tmp_path / "coco.json"))
    assert read.getCatIds(catNms=["leg"]) == [3]
    assert len(read.getAnnIds(imgIds=[1], catIds=[1])) == 2
    for annotation in read.loadAnns(read.getAnnIds()):
        mask = read.annToMask(annotation)
        assert mask.shape == (HEIGHT, WIDTH)
        rim = 2.0 * np.sqrt(mask.sum())  # pixels on the outline count or not
        assert mask.sum() == pytest.approx(annotation["area"], abs=rim)
        ys, xs = np.nonzero(mask)
        left, top, width, height = annotation["bbox"]
        box = (left, top, left + width, top + height)
        np.testing.assert_allclose((xs.min(), ys.min(), xs.max() + 1, ys.max() + 1), box, atol=2)
    scored = read.loadRes(
        [{k: a[k] for k in ("image_id", "category_id", "bbox", "score")} for a in read.anns.values()]
    )
    assert len(scored.anns) == 10
    capsys.readouterr()  # they print


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools' own
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.6])
def test_holes_and_notches_are_read_by_its_own_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scale: float
) -> None:
    tools = pytest.importorskip("pycocotools.coco")
    (tmp_path / "coco.json").write_text(json.dumps(ring(20.0, scale).to_coco("a.png")))
    read = tools.COCO(str(tmp_path / "coco.json"))
    (annotation,) = read.loadAnns(read.getAnnIds())
    expected = ring_mask().sum() * scale**2
    assert annotation["area"] == pytest.approx(expected, rel=0.02)
    mask = read.annToMask(annotation)
    assert mask.sum() == pytest.approx(expected, rel=0.02)
    assert np.array_equal(
        mask.astype(bool), filled([ring(20.0, scale)[0].parts["ring"].rings], WIDTH, HEIGHT)
    )
    capsys.readouterr()  # they print


def test_several_components_without_a_hole_are_polygons() -> None:
    some = ring()
    item, part = some[0], some[0].parts["ring"]
    solid = replace(part, rings=tuple(one for one in part.rings if signed_area(one) > 0))
    made = replace(some, items=(replace(item, parts={"ring": solid}),)).to_coco()["annotations"][0]
    assert len(made["segmentation"]) == 2
    areas = [area([np.reshape(corners, (-1, 2))]) for corners in made["segmentation"]]
    assert sum(areas) == pytest.approx(made["area"], rel=1e-3)


@given(st.integers(0, 10_000))
def test_run_lengths_that_are_written_are_read_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((rng.integers(1, 60), rng.integers(1, 60))) < rng.random()
    height, width = mask.shape
    assert np.array_equal(decode_run_lengths(encode_run_lengths(mask), width, height, "it"), mask)


def test_run_lengths_are_compressed_as_by_coco() -> None:
    assert encode_run_lengths(drawn().astype(bool)) == COMPRESSED
    assert encode_run_lengths(np.ones((H, W), dtype=bool)) == "0kS1"


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools' own
def test_joints_are_keypoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = pytest.importorskip("pycocotools.coco")
    some = found("leg")
    (tmp_path / "coco.json").write_text(json.dumps(some.to_coco("a.png")))
    read = tools.COCO(str(tmp_path / "coco.json"))
    (category,) = read.loadCats([1])
    joints = [name for name, part in walker().parts.items() if part.moves]
    assert (category["keypoints"], category["skeleton"]) == (joints, [])
    assert "keypoints" not in read.loadCats([2])[0]
    (whole,) = read.loadAnns(read.getAnnIds(catIds=[1]))
    points = np.reshape(whole["keypoints"], (-1, 3))
    assert whole["num_keypoints"] == len(joints)
    for (x, y, visible), name in zip(points, joints, strict=True):
        np.testing.assert_allclose((x - 0.5, y - 0.5), some[0].parts[name].joint, atol=0.006)
        assert visible == (1 if name == "leg" else 2)
    assert not any("keypoints" in one for one in read.loadAnns(read.getAnnIds(catIds=[2, 3])))
    capsys.readouterr()  # they print


def test_overlapping_parts_are_counted_once() -> None:
    whole, *parts = found().to_coco()["annotations"]
    total = sum(part["area"] for part in parts)
    assert max(part["area"] for part in parts) < whole["area"] < total


def test_outlines_in_perspective_are_written() -> None:
    some = tilted()
    made = some.to_coco("a.png")
    names = {category["id"]: category["name"] for category in made["categories"]}
    dial = next(one for one in made["annotations"] if names[one["category_id"]] == "dial")
    np.testing.assert_allclose(
        np.reshape(dial["segmentation"][0], (-1, 2)) - 0.5, some[0].parts["dial"].polygon, atol=0.006
    )
    left, top, width, height = some[0].parts["dial"].box
    np.testing.assert_allclose(dial["bbox"], (left + 0.5, top + 0.5, width, height), atol=0.006)


def test_parts_of_the_same_name_in_two_templates_have_categories_of_their_own() -> None:
    some = found()
    other = replace(some[0], template="runner")
    made = coco([("a.png", replace(some, items=(some[0], other)))], "walker")
    named = {(one["name"], one["supercategory"]) for one in made["categories"]}
    assert {("walker", "walker"), ("runner", "runner"), ("leg (walker)", "walker")} <= named
    assert ("leg (runner)", "runner") in named
    assert len({one["name"] for one in made["categories"]}) == len(made["categories"]) == 10
