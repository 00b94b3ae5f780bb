"""Loading the C library: from the cache, compiled, shipped, or not at all, but never with an exception."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import wherein
from wherein.native import abi, compiler, kernel, library, shipped

has_compiler = pytest.mark.skipif(
    not kernel.available() or kernel.library().source != "compiled", reason="no C compiler here"
)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """An empty cache, no shipped library, and no setting from outside."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "shipped")
    monkeypatch.delenv("WHEREIN_NATIVE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    return tmp_path


@pytest.fixture
def reloaded():
    """`kernel` loads the library anew in the test, and again after it; the file that it had loaded."""
    before = kernel.library()
    kernel._loaded.cache_clear()
    yield before and before.file
    kernel._loaded.cache_clear()


def _script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def _elsewhere():
    """Load the library in another process, which has none of it in memory yet."""
    code = "from wherein.native import library; print(library.load().source)"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


def _result(process):
    return process.communicate(timeout=60)[0].strip()


def test_without_a_compiler_register_goes_the_plain_way(fresh, monkeypatch, reloaded):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert not kernel.available()
    assert kernel.reason().startswith(
        "no C compiler found (looked for no-such-compiler); no shipped kernel: "
    )
    scene = torch.rand(3, 61, 73)
    found = wherein.register(scene, scene[:, 20:45, 22:51], "translation", start=[[1, 0, 23], [0, 1, 19]])
    np.testing.assert_allclose(found.matrix[:, 2], (22, 20), atol=0.02)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exit 1", "exit status 1"),
        ('test "$1" = --version && exit 0; echo out of order >&2; exit 1', "failed: out of order"),
        ('for last; do :; done; test "$1" = --version && exit 0; exit 0', "failed: no error message"),
        (
            'test "$1" = --version && exit 0; while test "$1" != -o; do shift; done; echo rubbish > "$2"',
            "OSError",
        ),
    ],
    ids=["no version", "fails", "writes nothing", "writes rubbish"],
)
def test_a_broken_compiler_is_a_reason(fresh, monkeypatch, text, words):
    monkeypatch.setenv("CC", _script(fresh / "cc", text))
    with pytest.raises(library.UnavailableError, match=words):
        library.load()
    left = [path for path in (fresh / "cache").rglob("*") if path.is_file()]
    assert not [path for path in left if path.name.startswith(".")]  # but for rubbish that is complete
    assert len(left) <= 1


def test_a_compiler_that_hangs_is_given_up(fresh, monkeypatch):
    monkeypatch.setenv("CC", _script(fresh / "cc", 'test "$1" = --version && exit 0; exec sleep 20'))
    monkeypatch.setattr(compiler, "_TIMEOUT", 0.3)
    with pytest.raises(library.UnavailableError, match="timed out"):
        library.load()


@pytest.mark.usefixtures("fresh", "reloaded")
def test_a_compiler_that_cannot_be_parsed_is_a_reason(monkeypatch):
    monkeypatch.setenv("CC", 'gcc "unmatched')
    assert not kernel.available()
    assert "No closing quotation" in kernel.reason()
    assert str(wherein.register(np.eye(20), np.eye(20)[4:14, 4:14]).status) == "converged"


@has_compiler
@pytest.mark.usefixtures("fresh", "homeless")
def test_without_a_home_it_is_compiled_for_the_process():
    loaded = library.load()
    assert loaded.source == "compiled"
    assert not loaded.file.exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("0", "turned off by WHEREIN_NATIVE=0"),
        ("off", "WHEREIN_NATIVE must be one of 0, 1, compile, shipped, but is 'off'"),
        ("shipped", "no shipped kernel: this installation has no kernel-"),
    ],
)
def test_the_setting_is_followed_and_nothing_is_compiled(fresh, monkeypatch, setting, words):
    monkeypatch.setenv("WHEREIN_NATIVE", setting)
    with pytest.raises(library.UnavailableError, match=words):
        library.load()
    assert not (fresh / "cache").exists()


def test_the_setting_compile_allows_nothing_else(fresh, monkeypatch):
    monkeypatch.setenv("WHEREIN_NATIVE", "compile")
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(shipped, "open_shipped", lambda *_: pytest.fail("the shipped library was opened"))
    with pytest.raises(library.UnavailableError, match="no C compiler found"):
        library.load()


@has_compiler
def test_the_library_is_kept_in_a_private_folder_and_compiled_once(fresh, monkeypatch):
    folder = library.cache_folder()
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    loaded = library.load()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (loaded.source, loaded.file.parent, loaded.reason) == ("compiled", folder, "")
    monkeypatch.setattr(compiler, "compile_library", lambda *_: pytest.fail("compiled again"))
    assert library.load().file == loaded.file
    assert list(folder.iterdir()) == [loaded.file]


@has_compiler
@pytest.mark.usefixtures("fresh")
def test_no_one_else_can_write_to_a_library():
    mask = os.umask(0)
    try:
        loaded = library.load()
    finally:
        os.umask(mask)
    assert stat.S_IMODE(loaded.file.stat().st_mode) & 0o077 == 0


@has_compiler
@pytest.mark.parametrize("unsafe", ["written by all", "link"])
def test_a_library_that_others_can_change_is_not_loaded(fresh, unsafe):
    """It is removed and compiled again."""
    library.cache_folder().mkdir(parents=True, exist_ok=True)
    planted = fresh / "planted.so"
    planted.write_bytes(b"of someone else")
    kept = library.cache_folder() / "kernel-0123.so"
    if unsafe == "link":
        kept.symlink_to(planted)
    else:
        planted.rename(kept)
        kept.chmod(0o666)
    assert library.load().source == "compiled"
    assert not os.path.lexists(kept)


@has_compiler
def test_a_library_that_cannot_be_removed_is_not_loaded_either(fresh, monkeypatch):
    """Another one is compiled, for this process alone."""

    def refuse(*given):
        asked.append(given[-1])
        raise PermissionError

    folder = library.private_folder(library.cache_folder())
    (folder / "kernel-0123.so").touch()
    (folder / "kernel-0123.so").chmod(0o666)
    asked = []
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        patch.setattr(library, "_open", refuse)
        with pytest.raises(library.UnavailableError):
            library.load()
    kept, opened = asked
    assert (kept.name, kept.parent) == ("kernel-0123.so", folder)
    assert opened.parent != folder


def test_what_another_process_is_writing_stays(tmp_path):
    for name in (".0123456789abcdef.so", "kernel-0123.so"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o666)
    library._remove_unsafe(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [".0123456789abcdef.so"]


@has_compiler
def test_a_damaged_library_is_compiled_again(fresh):
    assert _result(_elsewhere()) == b"compiled"
    (kept,) = library.cache_folder().iterdir()
    kept.write_bytes(b"cut short")
    assert _result(_elsewhere()) == b"compiled"
    assert kept.stat().st_size > 1000


@has_compiler
def test_without_a_place_to_keep_it_it_is_compiled_for_the_process(fresh):
    (fresh / "cache").write_text("a file where the folder would be")
    loaded = library.load()
    assert callable(loaded.functions.wherein_align)
    assert not loaded.file.exists()


@has_compiler
def test_two_processes_may_come_at_once(fresh):
    both = [_elsewhere(), _elsewhere()]
    assert [_result(process) for process in both] == [b"compiled", b"compiled"]
    assert len(list(library.cache_folder().iterdir())) == 1


@has_compiler
def test_a_library_that_does_not_fit_is_not_used(fresh, monkeypatch, reloaded):
    """Everything then runs in torch."""
    monkeypatch.setattr(abi, "SCREEN_SPAN", abi.SCREEN_SPAN + 1)
    monkeypatch.setattr(library, "_open", lambda *_: library._checked(reloaded))
    assert not kernel.available()
    assert kernel.reason().startswith("C and Python disagree: SCREEN_SPAN is 32 in C and 33 in Python; no")
    assert not kernel.accepts(torch.zeros(3, 4, 4))
