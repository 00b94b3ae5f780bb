"""Archives from unknown sources: refused by their list of files, before anything is unpacked."""

import struct
import zipfile
from pathlib import Path

import pytest

from wherein.errors import TemplateError
from wherein.template import Template, archive


def packed(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, "{}")
    return path


@pytest.mark.parametrize(
    "name", ["C:/evil.txt", "C:evil.txt", "a/../../evil.txt", "..\\evil.txt", "//host/share/evil"]
)
def test_names_that_lead_out_on_any_system(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("template.json", "{}")
        info = zipfile.ZipInfo("x")
        info.filename = name  # as it is: the constructor would make it harmless
        made.writestr(info, "evil")
    with pytest.raises(TemplateError, match=r"has a file .* outside the archive"):
        Template.load(path)
    assert sorted(tmp_path.iterdir()) == [path]


def test_an_error_does_not_quote_the_file(tmp_path: Path) -> None:
    """`zipfile` gives all of the name in the header of a member, if it differs from that in the directory."""
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("template.json", bytes(9000))
    data = bytearray(path.read_bytes())
    data[26:28] = struct.pack("<H", 8000)  # the length of the name: a part of the contents, too
    path.write_bytes(data)
    with pytest.raises(TemplateError, match=r"t\.zip cannot be unpacked: File name in directory") as caught:
        Template.load(path)
    assert len(str(caught.value)) < 1000


def test_a_long_name_is_not_quoted_as_a_whole(tmp_path: Path) -> None:
    path = packed(tmp_path / "t.zip", ["template.json", "n" * 9000])
    with pytest.raises(TemplateError, match=r"has a file 'nnn.*… outside the archive") as caught:
        Template.load(path)
    assert len(str(caught.value)) < 1000


def test_a_member_without_a_name(tmp_path: Path) -> None:
    path = packed(tmp_path / "t.zip", ["template.json", "x"])
    # The name of the second member is one letter: in its own header and in the directory, made empty.
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 28 : entry + 30] = struct.pack("<H", 0)
    data[entry + 32 : entry + 34] = struct.pack("<H", 1)  # the letter is now a comment
    path.write_bytes(data)
    with pytest.raises(TemplateError, match="has a file without a name"):
        Template.load(path)


def test_a_directory_of_millions_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "t.zip", ["template.json", *(f"{number}.txt" for number in range(2000))])
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 100_000)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("the directory was read"))
    with pytest.raises(TemplateError, match=r"its list of files has .* bytes: the maximum is 100,000"):
        Template.load(path)


def test_an_archive_for_more_than_four_gigabytes(tmp_path: Path) -> None:
    path = packed(tmp_path / "t.zip", ["template.json"])
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**30, 2**30, 2**40, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    path.write_bytes(data[:end] + record + locator + data[end:])
    with pytest.raises(TemplateError, match="is a Zip64 archive, for more than 4 GB"):
        Template.load(path)


def test_a_file_that_unpacks_to_a_thousand_times_its_size(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("template.json", "{}")
        made.writestr("zeros.png", bytes(64 * 2**20))
    with pytest.raises(TemplateError, match=r"unpacks to .* times its size: the maximum is"):
        Template.load(path)


def test_ratios_of_small_archives_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("template.json", "{}" + " " * 100_000)
    with pytest.raises(TemplateError, match='"format": Field required'):
        Template.load(path)
