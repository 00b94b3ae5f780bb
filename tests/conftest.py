"""Shared fixtures: run-time checks of annotated shapes, the data in ../shared, a browser, fixed seeds."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jaxtyping import install_import_hook

# Before wherein is imported, so that every annotated function is checked under test.
_hook = install_import_hook("wherein", "typecheck.checked")

import torch  # noqa: E402 (after the hook on purpose)

if os.environ.get("PYTEST_XDIST_WORKER"):
    torch.set_num_threads(1)  # two workers on two cores: one thread each


if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ../shared beside the checkout; tests that need it are skipped without it."""
    if not (SHARED / "contract.md").exists():
        pytest.skip("the folder ../shared with the paper's data is not beside this checkout")
    return SHARED


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """The Chromium of the system; none is downloaded. One for all tests: two cannot run in one thread."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no tests in a browser"
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed (apt-get install chromium): no tests in a browser")
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
