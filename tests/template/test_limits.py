"""Limits of a template, which are checked before anything is decoded, and files that are not its own."""

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from wherein.errors import TemplateError
from wherein.images import decode
from wherein.images.motif import Motif
from wherein.template import Template, part_limits, template_json

Spec = dict[str, Any]
Write = Callable[[Spec], Path]


def bomb(path: Path, side: int) -> None:
    """A small file that is a picture of side × side grey pixels, by its header alone."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def test_pixels_are_counted_before_they_are_decoded(
    spec: Spec, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(spec)
    bomb(folder / "arm.png", 12_000)
    loaded: list[object] = []
    load = decode.checked_and_loaded
    monkeypatch.setattr(
        decode, "checked_and_loaded", lambda image, file: loaded.append(image.size) or load(image, file)
    )
    with pytest.raises(TemplateError, match=r'"arm": its picture has 144,000,000 pixels.*100,000,000'):
        Template.load(folder, max_pixels=100_000_000)
    assert (12_000, 12_000) not in loaded


def test_pixels_of_all_pictures_are_counted_together(spec: Spec, write: Write) -> None:
    folder = write(spec)
    total = 48 * 30 + 20 * 14 + 9 * 15 + 2 * 7 * 11
    Template.load(folder, max_pixels=total)
    with pytest.raises(TemplateError, match=rf"pixels.*more than.*maximum of {total - 1:,} \(max_pixels\)"):
        Template.load(folder, max_pixels=total - 1)


def test_a_link_out_of_the_folder_is_not_followed(spec: Spec, write: Write, tmp_path: Path) -> None:
    folder = write(spec)
    (folder / "arm.png").rename(tmp_path / "secret.png")
    (folder / "arm.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(TemplateError, match=r"'arm\.png' must be a file inside the template's folder"):
        Template.load(folder)


def test_a_description_elsewhere_is_not_followed(spec: Spec, write: Write, tmp_path: Path) -> None:
    folder = write(spec)
    (folder / "template.json").rename(tmp_path / "secret.json")
    (folder / "template.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(TemplateError, match=r"template\.json is a link out of the folder"):
        Template.load(folder)


def test_the_folder_itself_may_be_a_link(spec: Spec, write: Write, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(write(spec))
    assert Template.load(tmp_path / "link").name == "toy"


def test_a_drive_of_windows(spec: Spec, write: Write) -> None:
    spec["parts"]["arm"]["image"] = "C:/arm.png"
    with pytest.raises(TemplateError, match="must be a file inside the template's folder"):
        Template.load(write(spec))


def test_a_long_description(spec: Spec, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(spec)
    monkeypatch.setattr(template_json, "MAX_BYTES", 100)
    with pytest.raises(TemplateError, match=r"template\.json has .* bytes: the maximum is 100"):
        Template.load(folder)


def test_many_parts_are_refused_before_pictures_are_loaded(spec: Spec, write: Write) -> None:
    arm = spec["parts"]["arm"]
    spec["parts"] |= {str(number): arm | {"image": "none.png"} for number in range(part_limits.MAX_PARTS)}
    with pytest.raises(TemplateError, match=f"has {len(spec['parts'])} parts: the maximum is"):
        Template.load(write(spec))


def test_a_reading_of_many_points(spec: Spec, write: Write) -> None:
    spec["parts"]["arm"]["reading"] = {"at": [[number, number] for number in range(5000)]}
    with pytest.raises(TemplateError, match="has a reading with 5000 points: the maximum is"):
        Template.load(write(spec))


@pytest.mark.parametrize("unit", ["a" * 5000, ["a" * 5000]])
def test_a_unit_of_many_letters_is_not_repeated_in_the_error(spec: Spec, write: Write, unit: Any) -> None:
    spec["parts"]["arm"]["reading"] = {"unit": unit, "at": [[0, 0], [1, 1]]}
    with pytest.raises(TemplateError, match="has a reading w") as caught:
        Template.load(write(spec))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("unit", [json.loads('"\\ud800"'), "bar\n"], ids=["half a letter", "a line"])
def test_a_unit_that_is_no_text(spec: Spec, write: Write, unit: str) -> None:
    spec["parts"]["arm"]["reading"] = {"unit": unit, "at": [[0, 0], [1, 1]]}
    with pytest.raises(TemplateError, match=r"has a reading with the unit .*: use letters and signs"):
        Template.load(write(spec))


@pytest.mark.parametrize(
    "name", ["a" * 300 + ".png", json.loads('"\\ud800"'), "a" * 5000], ids=["long", "half", "longer"]
)
def test_names_of_pictures_that_no_file_can_have(spec: Spec, write: Write, name: str) -> None:
    spec["parts"]["arm"]["image"] = name
    with pytest.raises(TemplateError, match="arm"):
        Template.load(write(spec))


@pytest.mark.parametrize("field", ["parent", "paint_order"])
def test_the_name_of_another_part_is_not_repeated_at_length(spec: Spec, write: Write, field: str) -> None:
    spec["parts"]["arm"]["parent"] = "a" * (5000 if field == "parent" else 20)
    spec["paint_order"] = ["a" * (5000 if field == "paint_order" else 20)]
    with pytest.raises(TemplateError, match=f'"{field}.*": String should have at most') as caught:
        Template.load(write(spec))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("field", ["at", "pivot"])
def test_places_far_from_any_canvas(spec: Spec, write: Write, field: str) -> None:
    spec["parts"]["arm"][field] = [1e12, 0]
    with pytest.raises(TemplateError, match=f'"arm": "{field}.0": Input should be less than'):
        Template.load(write(spec))


@pytest.mark.parametrize("name", ["a" * 5000, json.loads('"\\ud800"')])
def test_names_that_cannot_be_written(spec: Spec, write: Write, name: str) -> None:
    spec["name"] = name
    with pytest.raises(TemplateError, match='"name": '):
        Template.load(write(spec))


@pytest.mark.parametrize("name", ["", "a" * 5000, json.loads('"\\ud800"')], ids=["none", "long", "half"])
def test_names_of_templates_made_in_memory(name: str) -> None:
    motif = Motif.whole(torch.rand(3, 5, 8))
    with pytest.raises(TemplateError, match="name") as caught:
        Template.rigid(name, motif)
    assert len(str(caught.value)) < 200


def test_a_picture_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "logo\udcff.png"  # the byte 0xff, as Python has it in names
    Image.new("RGB", (9, 9)).save(tmp_path / "logo.png")
    (tmp_path / "logo.png").rename(path)
    assert Template.load(path).name == "logo?"
