"""For the tests and for the examples in the sources alike: the user's cache is left alone."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Calibrations are kept in a folder of the session; the compiled library may come from the user's."""
    from wherein.native import bindings  # after the import hook of tests/conftest.py

    bindings.available()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home directory, as in many containers."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
