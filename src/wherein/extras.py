"""Packages that one thing needs and the rest of wherein does not."""

from importlib import import_module
from typing import Any

from wherein.errors import MissingError


def needed(package: str, what: str, remedy: str) -> Any:
    """The package, imported when it is first asked for.

    Raises:
        MissingError: it is not installed; the message says what to do.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # it is here, and something that it needs is not
            raise
        raise MissingError(f"{what} needs {package}, which is not installed: {remedy}") from error
