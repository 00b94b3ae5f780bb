"""Running studios with instant calibrations, and a browser."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio_page import Page, asked, served
from wherein.errors import ArgumentError
from wherein.studio.bounds import Bounds
from wherein.studio.server import network_address

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from studio_browser import User

SHOTS = Path(__file__).resolve().parents[2] / "results" / "studio"
"""Screenshots."""


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


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """The Chromium of the system; none is downloaded."""
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="playwright is not installed: no browser tests of the studio",
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed (apt-get install chromium): no browser tests of the studio")
    SHOTS.mkdir(parents=True, exist_ok=True)
    quiet = [
        "--no-sandbox",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
    ]
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=program, args=quiet)
        yield made
        made.close()


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
