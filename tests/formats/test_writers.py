"""What was found in the formats of others, read by their own programs where those are here."""

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import wherein
from detecting import walker
from wherein.detect.fast.assemble import detection
from wherein.detect.result import Detections
from wherein.formats.coco_writer import Coco, coco
from wherein.formats.csv_table import COLUMNS
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import frames, placed

WIDTH, HEIGHT = 233, 171
LEAVES = ["trunk", "leg", "upper", "hand"]


def found(*hidden: str, at: tuple[tuple[float, float], ...] = ((110.0, 80.0),)) -> Detections:
    """Walkers with some parts that were not found."""
    made = walker()
    leaves = {name: (0.9, name not in hidden) for name in made.parts.leaves}
    turns = {"arm": 25.0, "wrist": -15.0, "leg": 10.0}
    items = [
        detection(made, frames(made.parts, placed(30.0, 0.8, place, made.centre), turns), leaves, 0.97)
        for place in at
    ]
    return Detections(tuple(items), "walker", Picture(torch.rand(3, HEIGHT, WIDTH), None), 0.08)


def renamed(some: Detections, names: dict[str, str]) -> Detections:
    items = tuple(
        replace(item, parts={names.get(name, name): part for name, part in item.parts.items()})
        for item in some
    )
    return replace(some, items=items)


def logo() -> Detections:
    """One part that is the whole object."""
    made = Template.rigid("logo", Motif.whole(torch.rand(3, 12, 20)))
    root = np.array([[1.0, 0, 30], [0, 1, 40], [0, 0, 1]])
    one = detection(made, {"logo": root}, {"logo": (0.8, True)}, 0.85)
    return Detections((one,), "logo", Picture(torch.rand(3, HEIGHT, WIDTH), None), 0.08)


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
    assert one["bbox"] == [30.5, 40.5, 19, 11]
    assert one["area"] == 19 * 11
    assert (min(one["segmentation"][0][::2]), max(one["segmentation"][0][1::2])) == (30.5, 51.5)


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
    made = coco(scenes, "walker", walker().parts.leaves)
    assert [(i["id"], i["file_name"]) for i in made["images"]] == [(1, "b.png"), (2, "a.png"), (3, "c.png")]
    assert [a["image_id"] for a in made["annotations"]] == [2] * 5 + [3] * 4
    assert [a["id"] for a in made["annotations"]] == list(range(1, 10))
    only = coco(scenes[:1], "walker", walker().parts.leaves)
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


def test_overlapping_parts_are_counted_once() -> None:
    whole, *parts = found().to_coco()["annotations"]
    total = sum(part["area"] for part in parts)
    assert max(part["area"] for part in parts) < whole["area"] < total


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


def test_csv_has_a_row_for_each_part() -> None:
    some = found("leg", at=((110.0, 80.0), (120.0, 90.0)))
    text = some.to_csv("a.png")
    assert text.count("\r\n") == text.count("\n") == 1 + 2 * 6
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(table[0]) == COLUMNS
    assert [(row["instance"], row["part"]) for row in table] == [
        (str(k), name) for k in (1, 2) for name in some[0].parts
    ]
    leg = next(row for row in table if row["part"] == "leg")
    assert (leg["scene"], leg["template"], leg["found"], leg["score"]) == ("a.png", "walker", "false", "0.9")
    matrix = [float(leg[f"m{i}{j}"]) for i in range(2) for j in range(3)]
    np.testing.assert_allclose(matrix, some[0].parts["leg"].matrix.ravel(), atol=1e-6)
    assert float(leg["angle"]) == pytest.approx(40)
    assert float(leg["left"]) == pytest.approx(some[0].parts["leg"].polygon[:, 0].min(), abs=0.006)


@pytest.mark.parametrize("name", ['a "b", c', "two\nlines", "two\r\nlines", "", "plain", "é"])
def test_csv_gives_back_every_name(name: str) -> None:
    text = renamed(found(), {"hand": name}).to_csv(name)
    last = list(csv.reader(io.StringIO(text, newline="")))[-1]
    assert (last[0], last[4]) == (name, name)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_csv_names_are_no_formulas(name: str) -> None:
    some = renamed(found(), {"hand": name})
    last = list(csv.reader(io.StringIO(some.to_csv(name), newline="")))[-1]
    assert (last[0], last[4]) == (f"'{name}", f"'{name}")
    assert last[8].lstrip("-")[0].isdigit()  # a negative number stays one


def test_dataframe_has_the_rows_with_their_types() -> None:
    pandas = pytest.importorskip("pandas")
    table = renamed(found("hand"), {"hand": "=hand"}).to_dataframe("a.png")
    assert isinstance(table, pandas.DataFrame)
    assert tuple(table.columns) == COLUMNS
    assert table.part.tolist()[-1] == "=hand"
    assert table.found.dtype == bool
    assert table.m02.dtype == float
    assert table[table.found].part.tolist() == ["trunk", "arm", "leg", "upper"]
    nothing = replace(found(), items=()).to_dataframe()
    assert nothing.empty
    assert tuple(nothing.columns) == COLUMNS


def test_supervision_has_a_row_for_the_whole_and_each_part() -> None:
    package = pytest.importorskip("supervision")
    some = found("hand", at=((110.0, 80.0), (20.0, 150.0)))
    made = some.to_supervision()
    assert isinstance(made, package.Detections)
    assert made.class_id.tolist() == [0, 1, 2, 3] * 2
    assert made.data["class_name"].tolist() == ["walker", "trunk", "leg", "upper"] * 2
    assert made.data["instance"].tolist() == [1] * 4 + [2] * 4
    np.testing.assert_allclose(made.confidence[:2], (0.97, 0.9))
    assert made.mask.shape == (8, HEIGHT, WIDTH)
    assert (made.mask[1:4].any(0) == made.mask[0]).all()
    for box, mask in zip(made.xyxy, made.mask, strict=True):
        ys, xs = np.nonzero(mask)
        np.testing.assert_allclose(
            (xs.min(), ys.min(), xs.max(), ys.max()), box, atol=2
        )  # a corner may hold no pixel
    assert len(made[made.class_id == 0]) == 2
    nothing = replace(some, items=()).to_supervision()
    assert len(nothing) == 0
    assert nothing.mask.shape == (0, HEIGHT, WIDTH)


@pytest.mark.parametrize("package", ["pandas", "supervision"])
def test_a_package_that_is_missing_is_named_with_the_remedy(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    method = {"pandas": "to_dataframe", "supervision": "to_supervision"}[package]
    with pytest.raises(wherein.MissingError, match=rf"{method}\(\) needs {package}.*pip install") as caught:
        getattr(found(), method)()
    assert isinstance(caught.value, ImportError)
