"""Running studios with instant calibrations."""

import tempfile
from collections.abc import Iterator

import pytest

from studio_page import Page, asked, served
from wherein.studio.bounds import Bounds


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
