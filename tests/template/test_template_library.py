"""Libraries: several templates from a list or a folder, each with its own name."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from detecting import noise, walker, write_picture
from wherein import ArgumentError, Template, TemplateError
from wherein.images.motif import Motif
from wherein.template import Library


def named(name: str) -> Template:
    return Template.rigid(name, Motif.whole(torch.rand(3, 12, 20)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a template, a .zip, a picture, and other files."""
    walker().save(tmp_path / "things" / "walker")
    named("boxed").save(tmp_path / "things" / "boxed.zip")
    write_picture(tmp_path / "things" / "cup.png", noise(20, 30))
    (tmp_path / "things" / "notes.txt").write_text("not a template")
    (tmp_path / "things" / "drafts").mkdir()
    write_picture(tmp_path / "things" / ".hidden.png", noise(20, 30))
    return tmp_path / "things"


def test_a_folder_of_templates_is_a_library_with_its_name(folder: Path) -> None:
    found = Library.of(str(folder))
    assert (found.name, found.several) == ("things", True)
    assert [one.name for one in found.templates] == ["boxed", "cup", "walker"]


def test_a_template_is_a_library_of_one(folder: Path) -> None:
    for source in (folder / "walker", folder / "boxed.zip", folder / "cup.png", named("x")):
        found = Library.of(source)
        assert (len(found), found.several) == (1, False)
        assert found.name == found.only.name


def test_a_list_mixes_templates_and_files(folder: Path) -> None:
    found = Library.of([named("key"), folder / "walker", str(folder / "cup.png")])
    assert list(found.by_name) == ["key", "walker", "cup"]
    assert found.name == "key, walker, cup"
    many = Library.of([named(str(k)) for k in range(5)])
    assert many.name == "5 templates"
    assert many.listed == "0, 1, 2 and 2 more"


def test_a_list_of_one_is_still_a_library() -> None:
    assert Library.of([named("key")]).several


def test_names_must_differ(folder: Path) -> None:
    with pytest.raises(ArgumentError, match=r'two templates are named "cup" .*one made in memory.*cup\.png'):
        Library.of([named("cup"), folder / "cup.png"])


def test_what_is_no_list_of_templates_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="is empty"):
        Library.of([])
    with pytest.raises(ArgumentError, match="one is of the type int"):
        Library.of([3])  # type: ignore[list-item]
    with pytest.raises(TemplateError, match="is a folder of templates"):
        Library.of([folder])
    (tmp_path / "nothing").mkdir()
    with pytest.raises(TemplateError, match=r"has no template\.json"):
        Library.of(tmp_path / "nothing")


def test_a_picture_in_memory_is_a_template(folder: Path) -> None:
    with Image.open(folder / "cup.png") as picture:
        pixels = np.asarray(picture)
        for given in (picture, pixels, torch.from_numpy(pixels.copy()).permute(2, 0, 1)):
            of = Library.of(given)
            assert (of.name, of.several) == ("motif", False)
            assert of.only.fingerprint == Library.of(pixels).only.fingerprint
    swapped = Template.of_picture(np.ascontiguousarray(pixels[..., ::-1]), "cup", color="bgr")
    assert torch.equal(swapped.canvas.pixels, Template.of_picture(folder / "cup.png").canvas.pixels)
    assert Library.of([swapped, Template.of_picture(pixels, "key")]).name == "cup, key"
    with pytest.raises(ArgumentError, match=r"needs a name.*Template\.of_picture\(picture, name\)"):
        Library.of.__wrapped__([pixels])
    with pytest.raises(TemplateError, match='"motif" is transparent everywhere'):
        Library.of(np.zeros((9, 9, 4), np.uint8))


def test_a_broken_template_is_named(folder: Path) -> None:
    (folder / "broken.png").write_bytes(b"no picture")
    with pytest.raises(TemplateError, match=r"broken\.png"):
        Library.of(folder)


def test_only_one_template_where_one_is_needed() -> None:
    with pytest.raises(ArgumentError, match="needs a single template, but a, b has 2"):
        _ = Library.of([named("a"), named("b")]).only
