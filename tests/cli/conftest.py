"""A template with a calibration that took no time, and scenes with and without it."""

from pathlib import Path

import pytest

from detecting import empty, scene, toy, write_picture, write_template


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_template(tmp_path / "toy", toy())
    write_picture(tmp_path / "scenes" / "a.png", scene(toy()))
    write_picture(tmp_path / "scenes" / "b.png", empty())
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    (tmp_path / "nothing").mkdir()
    return tmp_path
