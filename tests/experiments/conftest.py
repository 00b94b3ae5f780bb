"""The package's own template, loaded once."""

import pytest

from wherein.experiments.data import Subject


@pytest.fixture(scope="session")
def robot() -> Subject:
    return Subject.load()
