"""Shared fixtures: shape checking for every annotated function, the data in ../shared, seeds."""

import os
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Before wherein is imported, so that every annotated function is checked under test.
_hook = install_import_hook("wherein", "typecheck.checked")

import torch  # noqa: E402 (after the hook on purpose)

if os.environ.get("PYTEST_XDIST_WORKER"):
    torch.set_num_threads(1)  # two workers on two cores: one thread each


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
