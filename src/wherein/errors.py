"""What can go wrong, in words: what came, what is allowed, and what to do.

Exceptions are for wrong arguments and unreadable files. A fit that fails is not an
exception but a `wherein.Status`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class WhereinError(Exception):
    """The root of every exception this package raises on purpose."""


class ArgumentError(WhereinError, ValueError):
    """An argument has a wrong value, shape or type; the message says which is allowed."""


class PictureError(WhereinError, ValueError):
    """A picture cannot be read, or what was read is not a picture to work with."""


class TemplateError(WhereinError, ValueError):
    """A template is not as it must be; the message names the part."""


class MissingError(WhereinError, ImportError):
    """A package that is not installed is needed for this; the message says how to get it."""


class WorkerError(WhereinError, RuntimeError):
    """Work that went on in another process ended without a result; the message says why that may be."""


def require(condition: bool, message: str) -> None:
    """Raise `ArgumentError` with `message` unless `condition` holds."""
    if not condition:
        raise ArgumentError(message)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Let errors that are raised inside begin with what they are about; an empty word changes nothing."""
    try:
        yield
    except (ArgumentError, PictureError) as error:
        raise type(error)(f"{what}: {error}" if what else str(error)) from error
