"""Scenes for runs of several workers: small ones, some without the object, one that is no picture."""

import shutil
from pathlib import Path

import pytest

from detecting import empty, scene, toy, write_picture, write_template

COUNT = 10


@pytest.fixture
def many(tmp_path: Path, pictures: Path) -> Path:
    """A folder with the template `toy` and ten `scenes`, of which one is unreadable."""
    shutil.copytree(pictures, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, made once."""
    tmp_path = tmp_path_factory.mktemp("many")
    write_template(tmp_path / "toy", toy())
    for k in range(COUNT - 1):
        pixels = scene(toy(), at=(70.0 + k, 55.0 + k), turn=2.0 * k - 8) if k % 3 else empty()
        write_picture(tmp_path / "scenes" / f"{k}.png", pixels)
    (tmp_path / "scenes" / "5-broken.png").write_bytes(b"not a picture")
    return tmp_path
