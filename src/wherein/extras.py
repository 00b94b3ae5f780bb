"""Optional packages: imported on first use, with an error that says how to install them."""

from importlib import import_module
from typing import Any

from wherein.errors import MissingError


def require_package(package: str, feature: str, remedy: str) -> Any:
    """Import and return an optional package.

    Arguments:
        package: the name to import.
        feature: what needs it, for the error message.
        remedy: the command that installs it.

    Raises:
        MissingError: the package is not installed; the message contains `remedy`.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is installed, but one of its own dependencies is not
            raise
        raise MissingError(f"{feature} needs {package}, which is not installed: {remedy}") from error
