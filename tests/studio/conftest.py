"""Studios that are served for real, on a socket, with calibrations that take no time."""

from collections.abc import Iterator

import pytest
from studio_page import Page, asked, served

from wherein.studio.limits import Limits


@pytest.fixture
def page() -> Iterator[Page]:
    with served() as studio, asked(studio) as made:
        yield made


@pytest.fixture(scope="module")
def strict() -> Iterator[Page]:
    """A studio that takes little, for the tests of what it refuses."""
    limits = Limits(upload=200_000, message=5_000, pixels=60_000, scenes=2, held=100_000)
    with served(limits=limits) as studio, asked(studio) as made:
        yield made


