"""Atomic writes: the old file or the complete new one. The writability check leaves nothing behind."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from wherein.files import atomic_file, cache_folder, check_writable, filled_folder, inside, new_folder


def test_a_file_is_replaced_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with atomic_file(target) as temporary:
        assert (temporary.parent, temporary.suffix) == (target.parent, ".txt")
        temporary.write_text("first")
        assert not target.exists()
    assert target.read_text() == "first"
    usual = tmp_path / "usual.txt"
    usual.touch()
    assert target.stat().st_mode == usual.stat().st_mode


def test_the_umask_of_the_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even for an instant: files of other threads would be open to everyone."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    with atomic_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_changes_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.txt").write_text("old")
    with pytest.raises(failure), atomic_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
        raise failure
    with pytest.raises(failure), filled_folder(tmp_path / "folder", last="b.txt") as made:
        (made / "b.txt").write_text("new")
        raise failure
    with pytest.raises(failure), new_folder(tmp_path / "other") as made:
        (made / "b.txt").write_text("new")
        raise failure
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder"]
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "folder" / "b.txt").read_text() == "old"


def test_a_new_folder_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a.txt", "b.txt"):
        with (
            pytest.raises(OSError, match="not empty") if name == "b.txt" else nullcontext(),
            new_folder(tmp_path / "folder") as made,
        ):
            (made / name).touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "a.txt"]


def test_what_fills_a_folder_is_moved_at_the_end_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "list.txt").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")

    def fill() -> None:
        with filled_folder(tmp_path, last="list.txt") as made:
            for name in ("list.txt", "a.txt", "z.txt"):
                (made / name).write_text("new")
            assert (tmp_path / "list.txt").read_text() == "old"

    def full(self: Path, to: Path) -> Path:
        if Path(to).name == "list.txt":
            assert (tmp_path / "a.txt").exists() and (tmp_path / "z.txt").exists()
            raise OSError("no space left on device")
        return replace(self, to)

    replace = Path.replace
    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr(Path, "replace", full)
        fill()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "list.txt": "old",
        "mine.txt": "mine",
    }
    fill()
    texts = {"list.txt": "new", "a.txt": "new", "z.txt": "new", "mine.txt": "mine"}
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts


def test_the_writability_check_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "not" / "yet")
    check_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        check_writable(tmp_path / "file" / "folder")


@pytest.mark.parametrize("relative", ["", "cache"])
def test_a_relative_cache_folder_is_ignored(relative: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", relative)
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder("maps") == Path("/home/me/.cache/wherein/maps")


@pytest.mark.usefixtures("homeless")
def test_without_a_home_there_is_no_cache_folder() -> None:
    with pytest.raises(FileNotFoundError, match="no home directory: set HOME or XDG_CACHE_HOME"):
        cache_folder("maps")


def test_the_cache_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("maps") == tmp_path / "wherein" / "maps"


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "/a",
        "../a",
        "a/../../b",
        "a\\b",
        "C:/a",
        "C:a",
        "//host/share/a",
        "\\\\?\\C:\\a",
        "a\0b",
        "link/a",
        "a" * 5000,
        "\ud800",
    ],
)
def test_names_that_lead_out_of_a_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path)
    assert inside(tmp_path / "folder", name) is None


@pytest.mark.parametrize("name", ["a", "a.png", "a/b.png", "12:30.png", ".a", "a..b", "own/a", "標.png"])
def test_names_that_stay_in_a_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder" / "real").mkdir(parents=True)
    (tmp_path / "folder" / "own").symlink_to(tmp_path / "folder" / "real")
    assert inside(tmp_path / "folder", name) == tmp_path / "folder" / name
