"""Files and folders that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to; it takes its place at the end, or is gone where that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # as any other file: mkstemp's are for the owner alone
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def try_folder(path: Path) -> None:
    """See whether files can be put into a folder, or into the nearest above it that exists; leave nothing.

    Raises:
        OSError: they cannot. Permissions would not say so of a disk that is read-only, or to root.
    """
    nearest = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    with tempfile.TemporaryFile(dir=nearest):
        pass


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write to; it takes the place of `path` at the end, or is gone where that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as temporary:
        made, before = Path(temporary) / "made", Path(temporary) / "before"
        made.mkdir()
        yield made
        if path.exists():
            path.replace(before)  # a folder cannot be put in place of one that is not empty
        try:
            made.replace(path)
        except OSError:
            if before.exists():
                before.replace(path)
            raise
