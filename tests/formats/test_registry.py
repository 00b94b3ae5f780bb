"""The registry of formats: its modules keep what it promises, and the command line follows from it."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from detecting import walker
from walkers import found
from wherein.cli.main import app
from wherein.formats.export_target import ExportTarget
from wherein.formats.registry import BY_EXTENSION, FORMATS, Format
from wherein.template import Library

ENTRIES = list(FORMATS.values())


def module(entry: Format) -> Any:
    return import_module(f"wherein.formats.{entry.module}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_module_has_the_functions_of_its_entry(entry: Format) -> None:
    function = getattr(module(entry), entry.function)
    assert list(inspect.signature(function).parameters) == ["target", "library"]
    if entry.keys:
        assert list(inspect.signature(module(entry).parse).parameters) == [
            *("record", "path", "image", "object_id"),
        ]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_files_appear_when_they_are_complete_and_not_after_an_error(entry: Format, tmp_path: Path) -> None:
    scene, out = tmp_path / "a.png", tmp_path / f"out{entry.extension}"
    target = ExportTarget(tmp_path, {scene: out}) if entry.file_per_scene else ExportTarget(out)
    with pytest.raises(KeyError, match="halfway"), entry.export(target, Library.of(walker())) as add:
        if not entry.file_per_scene:
            add(scene, found())
        raise KeyError("halfway")
    assert list(tmp_path.iterdir()) == []
    with entry.export(target, Library.of(walker())) as add:
        add(scene, found())
    assert sorted(tmp_path.iterdir()) == sorted((out, *(tmp_path / name for name in entry.more_files)))


def test_formats_can_be_told_apart() -> None:
    assert all(entry.name == name for name, entry in FORMATS.items())
    assert {entry.name for entry in BY_EXTENSION.values()} == {"coco", "csv"}
    readable = [set(entry.keys) for entry in ENTRIES if entry.keys]
    assert not any(one < other for one in readable for other in readable)


def test_the_choices_of_the_command_are_those_of_the_registry() -> None:
    shown = CliRunner().invoke(app, ["detect", "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert "|".join(FORMATS) in shown.stdout


def test_the_registry_does_not_wait_for_torch() -> None:
    code = "import sys, wherein.formats.registry; print({'torch', 'numpy', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
