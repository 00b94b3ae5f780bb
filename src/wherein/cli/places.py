"""Places that commands write to: whether they can, before any work, and in words where they cannot."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wherein.errors import WhereinError
from wherein.files import check_writable


class UnwritableError(WhereinError):
    """A file that a command was to write cannot be written."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let what goes wrong inside be told as about `path`."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(f"{path} cannot be written: {error.strerror or error}") from error


def check_file(path: Path) -> None:
    """Before any work: `UnwritableError` where no file can be put there, though its folder may be made."""
    with writing(path):
        check_writable(path.parent)


def check_folder(path: Path) -> None:
    """Before any work: `UnwritableError` where no file can be put into this folder, nor the folder made."""
    with writing(path):
        check_writable(path)
