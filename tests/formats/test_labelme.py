"""labelme: annotations read (shapes, joints, settings, objects, errors), and detections written."""

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from walkers import HEIGHT, WIDTH, found, logo, ring, ring_mask, tilted
from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.formats.annotation import Annotation, read
from wherein.images.polygons import area
from wherein.making import Outline, cut

W, H = 83, 61
BODY = [[10, 10], [50, 10], [50, 40], [10, 40]]
ARM = [[45, 20], [75, 20], [75, 30], [45, 30]]


def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (H, W, 3), dtype=np.uint8)


def png(levels: np.ndarray) -> str:
    """As labelme puts pictures into its files."""
    file = io.BytesIO()
    Image.fromarray(levels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def shape(label: str, points: list[Any], kind: str = "polygon", **more: Any) -> dict[str, Any]:
    return {"label": label, "points": points, "group_id": None, "shape_type": kind, "flags": {}, **more}


def written(folder: Path, *shapes: dict[str, Any], **more: Any) -> Path:
    record = {"version": "5.5.0", "flags": {}, "shapes": list(shapes), "imagePath": "photo.png"}
    record |= {"imageData": png(pixels()), "imageHeight": H, "imageWidth": W, **more}
    path = folder / "photo.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def outlines(got: Annotation) -> dict[str, Outline]:
    return {outline.name: outline for outline in got.outlines}


def test_polygons_are_parts_and_points_their_joints(tmp_path: Path) -> None:
    path = written(
        tmp_path, shape("body", BODY), shape("arm", ARM), shape("arm.pivot", [[48.5, 25]], "point")
    )
    got = read(path)
    assert torch.equal(got.picture.pixels, torch.from_numpy(pixels()).movedim(-1, 0) / 255)
    body, arm = outlines(got)["body"], outlines(got)["arm"]
    assert body.fixed and not arm.fixed and arm.turn == 30 and arm.pivot == (48, 24.5)
    # A corner of labelme's at (10, 10) is the upper left corner of the pixel (10, 10).
    assert np.array_equal(np.asarray(body.polygon), np.array(BODY) - 0.5)
    assert cut(got.picture, got.outlines, "x").parts["body"].motif.mask[:, :35].sum() == 30 * 35  # type: ignore[union-attr]
    assert got.notes == ()


@pytest.mark.parametrize("label", ["arm.pivot", "arm_pivot", "arm pivot", "arm:joint", "arm/Joint", "arm"])
def test_a_joint_by_any_name(tmp_path: Path, label: str) -> None:
    path = written(tmp_path, shape("arm", ARM), shape(label, [[48.5, 25]], "point"))
    assert outlines(read(path))["arm"].pivot == (48, 24.5)


@pytest.mark.parametrize(
    ("more", "turn", "static", "parent", "pivot"),
    [
        ({"description": "turn=40"}, 40, False, None, None),
        ({"description": "may turn: ±12.5°, parent = body"}, 12.5, False, "body", None),
        ({"description": 'static, parent="body"'}, 30, True, "body", None),
        ({"description": "static=no turn=5."}, 5, False, None, None),
        ({"description": "pivot=48.5,25"}, 30, False, None, (48.0, 24.5)),
        ({"flags": {"turn=20": True, "static": False}}, 20, False, None, None),
        ({"flags": {"static": True}, "description": "turn=20"}, 20, True, None, None),
        ({"flags": None, "description": None}, 30, True, None, None),
        (
            {"description": "the statically loaded one; it returns and apparently pivots"},
            30,
            True,
            None,
            None,
        ),
    ],
)
def test_words_in_flags_and_description(
    tmp_path: Path, more: dict[str, Any], turn: float, static: bool, parent: str | None, pivot: object
) -> None:
    arm = outlines(read(written(tmp_path, shape("body", BODY), shape("arm", ARM, **more))))["arm"]
    assert (arm.turn, arm.fixed, arm.parent, arm.pivot) == (turn, static, parent, pivot)


def test_groups_without_a_shape(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        shape("left", BODY, description="parent=eyes"),
        shape("right", ARM, description="parent=eyes"),
        shape("eyes.pivot", [[40, 30]], "point", description="turn=10 parent=head"),
    )
    got = outlines(read(path))
    assert set(got) == {"left", "right", "eyes", "head"}
    assert got["eyes"].group and got["eyes"].turn == 10 and got["eyes"].parent == "head"
    assert got["head"].group and got["head"].parent is None


def test_rectangles_circles_and_several_shapes_of_a_part(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        shape("box", [[30, 25], [10, 10]], "rectangle"),
        shape("disc", [[60, 30], [60, 20]], "circle"),
        shape("two", [[1, 1], [5, 5]], "rectangle"),
        shape("two", [[1, 50], [5, 55]], "rectangle"),
    )
    got = read(path)
    made = cut(got.picture, got.outlines, "x")
    areas = {name: float(made.parts[name].motif.mask.sum()) for name in made.parts.leaves}  # type: ignore[union-attr]
    assert areas["box"] == 20 * 15
    assert areas["disc"] == pytest.approx(np.pi * 100, rel=0.01)
    assert areas["two"] == 16 + 20
    assert made.parts["disc"].pivot == (9.5, 9.5) and made.parts["disc"].motif.width == 20  # type: ignore[union-attr]


@pytest.mark.parametrize(("at", "inside"), [((20, 15), (9, 12)), ((-4, 55), (5, 6)), ((78, -2), (5, 7))])
def test_masks(tmp_path: Path, at: tuple[int, int], inside: tuple[int, int]) -> None:
    mask = np.full((9, 9), 255, np.uint8) if at != (20, 15) else np.full((12, 9), 255, np.uint8)
    corner = [at[0] + mask.shape[1] - 1, at[1] + mask.shape[0] - 1]
    got = read(written(tmp_path, shape("blob", [list(at), corner], "mask", mask=png(mask))))
    made = cut(got.picture, got.outlines, "blob")
    assert made.size == inside


@pytest.mark.parametrize("at", [(-20, 5), (5, -20), (-500, -500), (10**6, 5), (-(10**300), 0)])
def test_a_mask_outside_of_the_picture_covers_nothing(tmp_path: Path, at: tuple[int, int]) -> None:
    mask = np.full((9, 9), 255, np.uint8)
    corner = [at[0] + 8, at[1] + 8]
    (outline,) = read(written(tmp_path, shape("blob", [list(at), corner], "mask", mask=png(mask)))).outlines
    assert outline.mask is not None and not np.asarray(outline.mask).any()


def test_the_group_tells_the_object(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        shape("body", BODY, group_id=1),
        shape("arm", ARM, group_id=1),
        shape("body", ARM, group_id=2),
        shape("arm.pivot", [[48.5, 25]], "point"),
    )
    with pytest.raises(
        ArgumentError, match=r"several objects: choose one with object_id= or --object \(1, 2\)"
    ):
        read(path)
    with pytest.raises(ArgumentError, match="no object '3': its groups are 1, 2"):
        read(path, object_id="3")
    assert outlines(read(path, object_id="1"))["arm"].pivot == (48, 24.5)
    alone = read(path, object_id="2")
    assert list(outlines(alone)) == ["body"]
    assert alone.notes == ('ignored the point "arm": there is no part "arm"',)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, shape("body", BODY), shape("edge", [[1, 1], [9, 9]], "linestrip"))
    assert read(path).notes == ('ignored "edge": a linestrip has no area',)


def test_the_picture_beside_below_or_given(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    Image.fromarray(pixels()).save(tmp_path / "below" / "photo.png")
    shown = torch.from_numpy(pixels()).movedim(-1, 0) / 255
    for name in ("below/photo.png", "below\\photo.png"):
        path = written(tmp_path, shape("body", BODY), imageData=None, imagePath=name)
        assert torch.equal(read(path).picture.pixels, shown)
    path = written(tmp_path, shape("body", BODY), imageData=None, imagePath="../elsewhere/photo.png")
    assert torch.equal(read(path, str(tmp_path / "below" / "photo.png")).picture.pixels, shown)


@pytest.mark.parametrize(
    "name", ["../photo.png", "/etc/photo.png", "C:\\photo.png", "a/../../photo.png", "..\\p.png"]
)
def test_no_picture_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "annotations"
    folder.mkdir()
    Image.fromarray(pixels()).save(tmp_path / "photo.png")
    path = written(folder, shape("body", BODY), imageData=None, imagePath=name)
    with pytest.raises(TemplateError, match="outside its folder: choose the picture with image= or --image"):
        read(path)


@pytest.mark.parametrize(
    ("more", "kind", "words"),
    [
        ({"imageData": None}, PictureError, ": picture: .*file not found"),
        ({"imageData": None, "imagePath": None}, TemplateError, "neither imageData nor imagePath"),
        ({"imageData": "????"}, PictureError, "imageData"),
        (
            {"imageData": base64.b64encode(b"no picture").decode()},
            PictureError,
            "imageData: the content is not PNG",
        ),
        ({"imageWidth": 100}, PictureError, "a picture of 100 × 61 pixels, but the picture has 83 × 61"),
        ({"imageWidth": H, "imageHeight": W}, PictureError, "rotated by its EXIF orientation"),
        ({"shapes": {}}, TemplateError, '"shapes": Input should be a valid list'),
        ({"shapes": []}, TemplateError, "no polygon, rectangle, circle or mask"),
        ({"shapes": [{"label": "a"}]}, TemplateError, '"shapes.0.points": Field required'),
        ({"shapes": [shape("a", [[1, 2, 3]])]}, TemplateError, '"shapes.0.points.0"'),
        ({"shapes": [shape("a", [["x", 2]])]}, TemplateError, '"shapes.0.points.0.0"'),
        (
            {"shapes": [shape("a", [[1, 1]], "circle")]},
            TemplateError,
            'the circle "a" has 1 points: it must have two',
        ),
        ({"shapes": [shape("a", [[1, 1], [2, 2]], "mask")]}, PictureError, 'the mask "a": the file is empty'),
        (
            {"shapes": [shape("a", BODY), shape("a", [], "point")]},
            TemplateError,
            'the point "a" has 0 positions',
        ),
        ({"shapes": [shape("a", BODY, description="turn=far")]}, TemplateError, 'the shape "a" has turn=far'),
        ({"shapes": [shape("a", BODY, description="pivot=3")]}, TemplateError, "pivot=3: use x,y"),
    ],
)
def test_what_is_wrong_in_words(tmp_path: Path, more: dict[str, Any], kind: type, words: str) -> None:
    path = written(tmp_path, shape("body", BODY), **more)
    with pytest.raises(kind, match=words):
        read(path)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"{", "is not JSON"),
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[1]", "contains a list, but must contain a JSON object"),
        (b"[" * 200_000, "its JSON is nested too deeply"),
    ],
)
def test_broken_files(tmp_path: Path, contents: bytes, words: str) -> None:
    (tmp_path / "a.json").write_bytes(contents)
    with pytest.raises(TemplateError, match=words):
        read(tmp_path / "a.json")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="cannot be read: No such file"):
        read(tmp_path / "a.json")
    with pytest.raises(TemplateError, match="cannot be read: Is a directory"):
        read(tmp_path)


def test_labelme_has_a_polygon_a_part_and_a_group_an_object() -> None:
    made = found("upper", at=((110.0, 80.0), (120.0, 90.0))).to_labelme("photographs/a.png")
    assert json.loads(json.dumps(made)) == made
    assert list(made) == [
        *("version", "flags", "shapes", "imagePath", "imageData", "imageHeight", "imageWidth"),
    ]
    assert (made["imagePath"], made["imageData"], made["imageHeight"], made["imageWidth"]) == (
        *("photographs/a.png", None, HEIGHT, WIDTH),
    )
    assert [(s["label"], s["group_id"]) for s in made["shapes"]] == [
        (name, group) for group in (1, 2) for name in ("trunk", "leg", "hand")
    ]
    for shape in made["shapes"]:
        assert shape["shape_type"] == "polygon"
        assert shape["flags"] == {}
        assert np.shape(shape["points"])[1] == 2
    corners = found()[0].parts["trunk"].polygon + 0.5
    np.testing.assert_allclose(made["shapes"][0]["points"], corners, atol=0.006)


def test_labelme_of_one_part_and_of_nothing() -> None:
    (shape,) = logo().to_labelme()["shapes"]
    assert (shape["label"], shape["group_id"]) == ("logo", 1)
    assert replace(logo(), items=()).to_labelme()["shapes"] == []


def test_holes_and_components_come_back(tmp_path: Path) -> None:
    some = ring()
    Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    made = some.to_labelme("a.png")
    assert [shape["label"] for shape in made["shapes"]] == ["ring", "ring"]  # the ring with its hole, the bar
    (tmp_path / "a.json").write_text(json.dumps(made))
    (outline,) = read(tmp_path / "a.json").outlines
    assert outline.mask is not None
    assert outline.mask.sum() == pytest.approx(ring_mask().sum(), rel=0.02)
    assert area([np.array(shape["points"]) for shape in made["shapes"]]) == pytest.approx(
        ring_mask().sum(), rel=0.02
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_labelme_reads_it(tmp_path: Path) -> None:
    """With its own reader. It is under the GPL and brings Qt: not in [dev]."""
    labelme = pytest.importorskip("labelme", reason="labelme is not installed: its own reader is left out")
    Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "a.json").write_text(json.dumps(ring().to_labelme("a.png")))
    shapes = labelme.LabelFile(str(tmp_path / "a.json")).shapes
    assert [(shape["label"], shape["group_id"], shape["shape_type"]) for shape in shapes] == [
        ("ring", 1, "polygon")
    ] * 2
    # Of the polygons, not of labelme's masks: those include every pixel that an edge touches.
    polygons = [np.array(shape["points"]) for shape in shapes]
    assert area(polygons) == pytest.approx(ring_mask().sum(), rel=0.02)


def test_outlines_in_perspective_are_written() -> None:
    some = tilted()
    dial = next(one for one in some.to_labelme()["shapes"] if one["label"] == "dial")
    np.testing.assert_allclose(np.array(dial["points"]) - 0.5, some[0].parts["dial"].polygon, atol=0.006)
