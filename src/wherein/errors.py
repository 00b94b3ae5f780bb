"""The exceptions of this package. Each message says what was given, what is allowed, and what to do.

Exceptions are for wrong arguments and unreadable files. A fit that does not converge is not an exception: the
result has a `wherein.Status`.
"""

_LONGEST = 300
"""Maximum number of characters of a quoted text. A choice: three lines of a terminal."""


class WhereinError(Exception):
    """Base class of all exceptions that this package raises on purpose."""


class ArgumentError(WhereinError, ValueError):
    """An argument has a wrong value, shape or type; the message says what is allowed."""


class RegionError(ArgumentError):
    """A region to search lies outside of the scene; the message gives the size of the scene."""


class PictureError(WhereinError, ValueError):
    """A picture cannot be read, or cannot be used."""


class TemplateError(WhereinError, ValueError):
    """A template is invalid; the message names the part."""


class MissingError(WhereinError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class UnwritableError(WhereinError):
    """A file cannot be written; the message names it and gives the system's reason."""


class WorkerError(WhereinError, RuntimeError):
    """A worker process ended without a result; the message says why that may be."""


def require(condition: bool, message: str) -> None:
    """Raise `ArgumentError` with `message` unless `condition` holds."""
    if not condition:
        raise ArgumentError(message)


def brief(text: object) -> str:
    """The text of an error of another package, or a name from a file, on one line and not too long.

    Some packages quote the data that they could not read. An error without text gives its type.

    >>> brief(ValueError("bad\\nbytes"))
    'bad bytes'
    """
    line = " ".join(str(text).split()) or type(text).__name__
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
