"""For the tests and for the examples in the sources alike: the user's cache is left alone."""

import shutil
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Calibrations are kept in a folder of the session; the compiled library may come from the user's."""
    from wherein.native import kernel  # after the import hook of tests/conftest.py
    from wherein.native.library import cache_folder, private_folder

    compiled = kernel.library()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        if compiled is not None and compiled.source == "compiled" and compiled.file.exists():
            # For the processes that tests start: each of them would compile it otherwise.
            shutil.copy2(compiled.file, private_folder(cache_folder()))
        yield


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home directory, as in many containers."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
