"""Saving over a template that exists: its own files are replaced, and no others."""

import json
from pathlib import Path

import pytest
import torch

from wherein.errors import ArgumentError
from wherein.images.motif import Motif
from wherein.template import Template

OTHERS = ("scene.png", "notes.txt", "calibration.json", "more/scene.png", "canvas.png", "00.png")
"""Files of the user in the folder of a template; the last two have the names that a new folder gets."""


def logo(name: str = "logo") -> Template:
    return Template.rigid(name, Motif.whole(torch.rand(3, 5, 8)))


@pytest.fixture
def folder(toy: Template) -> Path:
    """A template that was made by hand, with other files beside it."""
    assert toy.source is not None
    for name in OTHERS:
        path = toy.source / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"my {name}")
    return toy.source


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_other_files_in_the_folder_stay(folder: Path) -> None:
    logo().save(folder, overwrite=True)
    assert Template.load(folder).name == "logo"
    for name in OTHERS:
        assert (folder / name).read_text() == f"my {name}"
    named = json.loads((folder / "template.json").read_text())
    own = {"template.json", named["canvas"], named["parts"]["logo"]["image"]}
    assert files(folder) == own | set(OTHERS)


def test_saving_often_leaves_one_set_of_files(tmp_path: Path) -> None:
    path = logo().save(tmp_path / "logo")
    count = len(files(path))
    for number in range(4):
        logo(f"logo {number}").save(path, overwrite=True)
        assert (Template.load(path).name, len(files(path))) == (f"logo {number}", count)
        assert files(path) == {"template.json", "canvas.png", "00.png"}


@pytest.mark.parametrize("text", ["", "[1]", '{"canvas": 1, "parts": 2}', '{"parts": {"a": {"image": []}}}'])
def test_a_description_that_is_damaged_owns_nothing_else(folder: Path, text: str) -> None:
    (folder / "template.json").write_text(text)
    logo().save(folder, overwrite=True)
    assert Template.load(folder).name == "logo"
    assert set(OTHERS) | {"toy.png", "arm.png"} <= files(folder)


def test_names_that_lead_elsewhere_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (folder / "template.json").write_text(
        json.dumps({"canvas": "../mine.txt", "parts": {"a": {"image": str(tmp_path / "mine.txt")}}})
    )
    logo().save(folder, overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["template.json", "toy.png"])
def test_a_symbolic_link_is_replaced_and_what_it_leads_to_stays(
    folder: Path, tmp_path: Path, name: str
) -> None:
    elsewhere = (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    logo().save(folder, overwrite=True)
    assert Template.load(folder).name == "logo"
    assert elsewhere.read_bytes() == before
    assert not (folder / name).is_symlink()


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ArgumentError, match="is a folder with other files, not a template"):
        logo().save(tmp_path, overwrite=True)
    assert files(tmp_path) == {"notes.txt"}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert Template.load(logo().save(tmp_path / "empty", overwrite=True)).name == "logo"
