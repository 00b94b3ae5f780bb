"""Running studios with instant calibrations."""

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from studio_page import Page, asked, served
from wherein.errors import ArgumentError
from wherein.studio.bounds import Bounds
from wherein.studio.server import network_address

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from studio_browser import User


@pytest.fixture(scope="session", autouse=True)
def _own_uploads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A temporary folder of this process: tests that run in parallel check theirs for leftovers."""
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path_factory.mktemp("uploads"))
    yield
    tempfile.tempdir = before


@pytest.fixture
def page() -> Iterator[Page]:
    with served() as studio, asked(studio) as made:
        yield made


@pytest.fixture(scope="module")
def strict() -> Iterator[Page]:
    """A studio with small bounds, to test refusals."""
    bounds = Bounds(upload=200_000, message=5_000, pixels=60_000, scenes=2, total_pixels=100_000)
    with served(bounds=bounds) as studio, asked(studio) as made:
        yield made


@pytest.fixture(scope="session")
def network() -> str:
    """An address of this computer that others in the network can reach."""
    try:
        return network_address()
    except ArgumentError as error:
        pytest.skip(f"no address to serve a network with: {error}")


@pytest.fixture
def user(browser: "Browser") -> Iterator["User"]:
    """A user with a mouse and a large window."""
    from studio_browser import open_page

    with served() as studio, open_page(browser, studio) as made:
        yield made


@pytest.fixture
def phone(browser: "Browser") -> Iterator["User"]:
    """A user with a touch screen in the size of a phone."""
    from studio_browser import PHONE, open_page

    with served() as studio, open_page(browser, studio, **PHONE) as made:
        yield made
