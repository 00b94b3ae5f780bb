"""Templates on disk: what is written is read again, and errors say what is wrong."""

import inspect
import json
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from wherein.errors import ArgumentError, TemplateError
from wherein.images.motif import Motif
from wherein.template import Template

Spec = dict[str, Any]
Write = Callable[[Spec], Path]


def assert_same(one: Template, other: Template) -> None:
    assert (one.name, one.paint_order, list(one.parts)) == (other.name, other.paint_order, list(other.parts))
    assert torch.equal(one.canvas.pixels, other.canvas.pixels)
    for name, part in one.parts.items():
        twin = other.parts[name]
        for field in ("parent", "at", "pivot", "turn", "static", "reading"):
            assert getattr(part, field) == getattr(twin, field), (name, field)
        assert (part.motif is None) == (twin.motif is None)
        if part.motif is not None and twin.motif is not None:
            assert torch.equal(part.motif.pixels, twin.motif.pixels)
            assert torch.equal(part.motif.mask, twin.motif.mask)


def test_the_toy_is_as_described(toy: Template) -> None:
    assert (toy.name, toy.size, toy.centre) == ("toy", (48, 30), (23.5, 14.5))
    assert toy.parts.root == "toy"
    assert set(toy.parts.leaves) == {"body", "arm", "left", "right"}
    assert toy.paint_order[:2] == ("body", "arm")
    assert set(toy.paint_order[2:]) == {"left", "right"}
    assert (toy.parts["left"].turn, toy.parts["right"].turn) == (20, 30)
    assert toy.parts["arm"].pivot == (4, 7)  # by default its own centre
    assert toy.parts["toy"].pivot == toy.centre
    arm = toy.parts["arm"].motif
    assert arm is not None and (arm.width, arm.height) == (9, 15)
    assert arm.mask.sum() == 9 * 15 - 4


def test_only_paths_are_loaded() -> None:
    with pytest.raises(ArgumentError, match="source must be a path, but is a NoneType"):
        inspect.unwrap(Template.load)(None)


def test_the_tree_is_in_order(toy: Template) -> None:
    tree = toy.parts
    top_down, bottom_up = list(tree), tree.bottom_up
    for name, part in tree.items():
        if part.parent is not None:
            assert top_down.index(part.parent) < top_down.index(name)
            assert bottom_up.index(name) < bottom_up.index(part.parent)
            assert name in tree.children(part.parent)
    assert len(tree) == 6 and tree.depth("toy") == 0 and tree.depth("left") == 2
    assert tree.leaves_below("pair") == ("left", "right") and tree.leaves_below("arm") == ("arm",)
    assert not tree["body"].moves and not tree["toy"].moves and tree["arm"].moves


@pytest.mark.shared
def test_the_crab_of_the_paper(shared: Path) -> None:
    crab = Template.load(shared / "crab")
    assert set(crab.parts.leaves) == {"body", "claw_left", "claw_right", "eye_left", "eye_right"}
    assert crab.parts.children("eye_pair") == ("eye_left", "eye_right")
    assert crab.parts["claw_left"].joint == (38, 101)
    # Every leaf is cut from the canvas where its "at" says.
    for name in ("claw_left", "claw_right"):
        part = crab.parts[name]
        assert part.motif is not None
        x, y = int(part.at[0]), int(part.at[1])
        cut = crab.canvas.pixels[:, y : y + part.motif.height, x : x + part.motif.width]
        sure = part.motif.mask > 0.99
        assert (cut - part.motif.pixels)[:, sure].abs().mean() < 0.05


@pytest.mark.parametrize("name", ["copy", "copy.zip", "deep/er/copy.ZIP"])
def test_what_is_saved_comes_back(toy: Template, tmp_path: Path, name: str) -> None:
    path = toy.save(tmp_path / name)
    assert path.is_file() == name.lower().endswith("zip")
    assert_same(Template.load(path), toy)
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []  # nothing left behind


def test_saving_asks_before_it_overwrites(toy: Template, tmp_path: Path) -> None:
    logo = Template.rigid("Ünïcode 標", Motif.whole(torch.rand(3, 5, 8)))
    for target in (tmp_path / "a", tmp_path / "a.zip"):
        toy.save(target)
        with pytest.raises(ArgumentError, match=r"exists: choose another name, or use overwrite=True"):
            logo.save(target)
        assert_same(Template.load(target), toy)
        logo.save(target, overwrite=True)
        assert Template.load(target).name == logo.name


@pytest.mark.parametrize("name", ["a", "a.zip"])
def test_where_saving_fails_what_was_there_stays(
    toy: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target, replace = toy.save(tmp_path / "saved" / name), Path.replace

    def full(self: Path, to: Path) -> Path:
        if Path(to) in (target, target / "template.json"):
            raise OSError("no space left on device")
        return replace(self, to)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        Template.rigid("logo", Motif.whole(torch.rand(3, 5, 8))).save(target, overwrite=True)
    assert_same(Template.load(target), toy)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("inside", ["", "toy/", "a/b/"])
def test_a_zip_may_have_the_folder_inside(
    toy: Template, spec: Spec, write: Write, tmp_path: Path, inside: str
) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(write(spec).iterdir()):
            archive.write(file, inside + file.name)
    assert_same(Template.load(path), toy)


def test_a_byte_order_mark_is_no_matter(toy: Template, spec: Spec, write: Write) -> None:
    folder = write(spec)
    (folder / "template.json").write_text(json.dumps(spec), encoding="utf-8-sig")
    assert_same(Template.load(folder), toy)


def change(key: str, **values: Any) -> Callable[[Spec], None]:
    return lambda spec: spec["parts"].setdefault(key, {}).update(values)


def remove(spec: Spec, *path: str) -> None:
    for key in path[:-1]:
        spec = spec[key]
    del spec[path[-1]]


WRONG: dict[str, tuple[Callable[[Spec], None], str]] = {
    "two roots": (change("pair", parent=None), "one root.*this one has 2: pair, toy"),
    "no root": (change("toy", parent="pair"), "this one has 0: the parents form a cycle"),
    "cycle": (
        lambda s: s["parts"].update({"a": {"parent": "b"}, "b": {"parent": "a"}}),
        "the parents of a, b form a cycle",
    ),
    "own parent": (change("pair", parent="pair"), "the parents of left, pair, right form a cycle"),
    "unknown parent": (change("arm", parent="boat"), 'the part "arm" is "boat", which does not exist'),
    "parent with a picture": (change("arm", parent="body"), '"arm" is "body", which has an "image"'),
    "empty group": (change("tail", parent="toy"), 'the part "tail" has neither an "image" nor children'),
    "at of a group": (change("pair", at=[1, 2]), 'the group "pair" has an "at" but no "image"'),
    "missing picture": (change("arm", image="leg.png"), 'the part "arm": the picture leg.png does not exist'),
    "missing canvas": (lambda s: s.update(canvas="no.png"), "the canvas: the picture no.png does not exist"),
    "no canvas": (lambda s: remove(s, "canvas"), 'template.json: "canvas": Field required'),
    "outside": (change("arm", at=[44, 8]), r'"arm" covers \(44, 8\) to \(52, 22\), which is not inside'),
    "left of the canvas": (change("arm", at=[-1, 8]), '"arm" covers .* not inside the canvas'),
    "leaves the folder": (change("arm", image="../arm.png"), "must be a file inside the template's folder"),
    "absolute": (change("arm", image="/etc/passwd"), "must be a file inside the template's folder"),
    "backslashes": (change("arm", image="..\\arm.png"), "must be a file inside the template's folder"),
    "unknown key": (change("arm", colour="red"), 'the part "arm": "colour": Extra inputs'),
    "unknown key above": (lambda s: s.update(colour=1), 'template.json: "colour": Extra inputs'),
    "no parent": (lambda s: remove(s, "parts", "arm", "parent"), 'the part "arm": "parent": Field required'),
    "not a number": (change("arm", at=[1, float("nan")]), 'the part "arm": "at.1": Input should be a finite'),
    "turn": (change("arm", turn=181), 'the part "arm": "turn": Input should be less than or equal to 180'),
    "other format": (lambda s: s.update(format="wherein-template/2"), '"format": Input should be'),
    "no parts": (lambda s: s.update(parts={}), '"parts": Dictionary should have at least 1'),
    "painted group": (lambda s: s.update(paint_order=["pair"]), '"paint_order" names "pair", which is not'),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case: str, spec: Spec, write: Write) -> None:
    spoil, words = WRONG[case]
    spoil(spec)
    folder = write(spec)
    with pytest.raises(TemplateError, match=words) as caught:
        Template.load(folder)
    assert str(caught.value).startswith(f"{folder}: ")


def test_a_single_picture_needs_a_canvas_which_may_be_itself(spec: Spec, write: Write) -> None:
    spec |= {
        "canvas": "arm.png",
        "paint_order": ["arm"],
        "parts": {"arm": {"parent": None, "image": "arm.png"}},
    }
    made = Template.load(write(spec))
    motif = made.parts["arm"].motif
    assert motif is not None
    assert made.size == (motif.width, motif.height)
    assert torch.equal(motif.pixels, made.canvas.pixels)
    del spec["canvas"]
    with pytest.raises(TemplateError, match='"canvas": Field required'):
        Template.load(write(spec))


def test_groups_in_groups(spec: Spec, write: Write) -> None:
    """A hundred are read, more are an error."""
    names = ["toy", *(f"g{k}" for k in range(1, 100))]
    chain = {name: {"parent": above} for name, above in zip(names[1:], names, strict=False)}
    spec["parts"] = {"toy": {"parent": None}, **chain, "arm": spec["parts"]["arm"] | {"parent": "g99"}}
    spec["paint_order"] = ["arm"]
    made = Template.load(write(spec))
    assert made.parts.depth("arm") == 100 and made.parts.leaves_below("toy") == ("arm",)
    spec["parts"] |= {"g100": {"parent": "g99"}, "arm": spec["parts"]["arm"] | {"parent": "g100"}}
    with pytest.raises(TemplateError, match='the part "arm" has 101 nested parents: the maximum is 100'):
        Template.load(write(spec))


def test_pictures_that_are_none(spec: Spec, write: Write) -> None:
    folder = write(spec)
    Image.fromarray(np.zeros((15, 9, 4), np.uint8)).save(folder / "arm.png")
    with pytest.raises(
        TemplateError, match=r'the part "arm" has an empty mask: no pixel of arm\.png is opaque'
    ):
        Template.load(folder)
    (folder / "arm.png").write_bytes(b"not a picture")
    with pytest.raises(TemplateError, match=r'the part "arm": .*arm\.png'):
        Template.load(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "template.json is not JSON: Expecting property name"),
        ("[" * 100_000, "template.json cannot be read: .*nested too deeply"),
        ("1" * 5000, "template.json is not JSON: .*digits"),
        ("[]", "template.json must be a JSON object"),
        ('{"a": 1, "a": 2}', 'template.json has the key "a" twice'),
    ],
    ids=["cut off", "deep", "long", "list", "twice"],
)
def test_a_description_that_is_none(spec: Spec, write: Write, text: str, words: str) -> None:
    folder = write(spec)
    (folder / "template.json").write_text(text, encoding="utf-8")
    with pytest.raises(TemplateError, match=words):
        Template.load(folder)


def test_a_picture_is_a_template_of_one_motif(tmp_path: Path) -> None:
    levels = np.full((6, 9, 4), 255, dtype=np.uint8)
    levels[:, :4, :3], levels[:2, :, 3] = 100, 0
    Image.fromarray(levels).save(tmp_path / "logo.png")
    made = Template.load(tmp_path / "logo.png")
    assert (made.name, made.size, made.source) == ("logo", (9, 6), None)
    (leaf,) = made.parts.leaves
    assert made.parts[leaf].motif is not None
    assert made.parts[leaf].motif.mask.sum(1).tolist() == [0, 0, 9, 9, 9, 9]
    Image.fromarray(levels[..., :3]).save(tmp_path / "whole.jpg")
    assert bool((Template.load(tmp_path / "whole.jpg").parts["whole"].motif.mask == 1).all())
    Image.fromarray(np.zeros_like(levels)).save(tmp_path / "empty.png")
    with pytest.raises(TemplateError, match="is transparent everywhere: use a picture that shows"):
        Template.load(tmp_path / "empty.png")


def test_no_template_there(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="does not exist: use a folder"):
        Template.load(tmp_path / "none")
    (tmp_path / "text").write_text("hello", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"text: .*\. A template is a folder with template\.json"):
        Template.load(tmp_path / "text")
    with pytest.raises(TemplateError, match=r"has no template\.json: use a folder that has one"):
        Template.load(tmp_path)


def test_the_description_alone_is_no_template(tmp_path: Path, toy: Template) -> None:
    folder = toy.save(tmp_path / "saved")
    with pytest.raises(TemplateError, match=rf"template\.json is a file of one: use its folder, {folder}"):
        Template.load(folder / "template.json")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["readme.txt"], "has 0 files named template.json: there must be exactly one"),
        (
            ["a/template.json", "b/template.json"],
            "has 2 files named template.json: there must be exactly one",
        ),
        (["template.json", "../evil.txt"], r"has a file '\.\./evil\.txt' outside the archive"),
        (["../template.json"], r"has a file '\.\./template\.json' outside the archive"),
        (["template.json", "/evil.txt"], "has a file '/evil.txt' outside the archive"),
    ],
)
def test_zips_that_are_none(tmp_path: Path, names: list[str], words: str) -> None:
    path = tmp_path / "inner" / "t.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    with pytest.raises(TemplateError, match=words) as caught:
        Template.load(path)
    assert str(path) in str(caught.value)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["inner", "t.zip"]


def test_a_damaged_zip(toy: Template, tmp_path: Path) -> None:
    path = toy.save(tmp_path / "t.zip")
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        begin = archive.getinfo("canvas.png").header_offset + 60
    data[begin : begin + 400] = bytes(range(200)) * 2
    path.write_bytes(data)
    with pytest.raises(TemplateError, match=re.escape(str(path)) + " cannot be unpacked"):
        Template.load(path)


def test_a_zip_that_unpacks_to_too_much(
    toy: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toy.save(tmp_path / "t.zip")
    monkeypatch.setattr("wherein.template.archive.MAX_BYTES", 1000)
    with pytest.raises(TemplateError, match="unpacks to more than"):
        Template.load(path)


def lying(path: Path, packing: int, megabytes: int) -> Path:
    """An archive with a file of zeros that declares ten bytes."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("template.json", "{}", zipfile.ZIP_STORED)
        archive.writestr("zeros", bytes(megabytes * 2**20))
    said, lie = (size.to_bytes(4, "little") for size in (megabytes * 2**20, 10))
    assert said in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(said, lie))
    return path


@pytest.mark.parametrize(
    ("packing", "words"),
    [
        (zipfile.ZIP_BZIP2, "has a file 'zeros' with unsupported compression: use deflate"),
        (zipfile.ZIP_LZMA, "has a file 'zeros' with unsupported compression: use deflate"),
        (zipfile.ZIP_DEFLATED, "cannot be unpacked: Bad CRC-32"),
    ],
)
def test_a_zip_that_lies_about_its_size_takes_no_memory(tmp_path: Path, packing: int, words: str) -> None:
    path = lying(tmp_path / "t.zip", packing, 24)
    tracemalloc.start()
    try:
        with pytest.raises(TemplateError, match=words):
            Template.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 2**20


def test_a_zip_of_too_many_files(toy: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = toy.save(tmp_path / "t.zip")
    monkeypatch.setattr("wherein.template.archive.MAX_FILES", 5)
    with pytest.raises(TemplateError, match="has 6 files: the maximum is 5"):
        Template.load(path)


def test_a_zip_with_a_name_that_is_no_text(toy: Template, tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("template.json", "{}")
        archive.writestr("é.png", "")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(TemplateError, match=r"cannot be unpacked: .*codec can't decode"):
        Template.load(path)
