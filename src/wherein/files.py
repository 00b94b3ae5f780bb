"""Files and folders: atomic writes, errors that name the file, checks of names and archives, the cache."""

import os
import secrets
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from wherein.errors import UnwritableError

if TYPE_CHECKING:  # not at run time: the command line checks files before anything slow is loaded
    from PIL import Image

_ZIP_END, _ZIP_END_SIZE = b"PK\5\6", 22
"""The record at the end of a .zip, and its size in bytes, without the comment of up to 64 KB after it."""

ZARR_MARKS = (".zgroup", ".zarray", "zarr.json")
"""A folder with one of these files is a picture in the format Zarr."""

ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Supported compression methods of archives. bzip2 and LZMA are refused, since they unpack a whole block at
once, however large: a file of 1,384 bytes took 3.2 GB of memory."""

_ZIP64 = b"PK\6\7"
"""Signature 20 bytes before the end record of a Zip64 archive, one of more than 4 GB or 65,535 files."""


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` when the block ends, or is deleted if the block fails.

    So a reader sees the old file or the complete new one, never a part of it, even after Ctrl-C or on a
    full disk. Missing parent folders are created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, not in /tmp: a rename is atomic only within one file system. With the same
    # extension, because Pillow, OpenCV and matplotlib choose the format by it.
    temporary = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    # Not mkstemp, which makes files that only the owner can read. To restore the usual permissions one needs
    # the umask, and reading it means changing it for the whole process.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:  # KeyboardInterrupt too
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` inside the block into an `UnwritableError` about `path`."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(f"cannot write {path}: {error.strerror or error}") from error


def save(picture: "Image.Image", path: Path) -> None:
    """Write a picture atomically; raises `UnwritableError`."""
    with write_errors(path), atomic_file(path) as target:
        picture.save(target)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends, or is deleted if the block fails.

    Raises:
        OSError: `path` is a file or a folder that is not empty. Nothing of it is deleted.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as temporary:
        made = Path(temporary) / "new"
        made.mkdir()
        yield made
        if path.exists():
            path.rmdir()
        made.replace(path)


@contextmanager
def filled_folder(folder: Path, last: str) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved into `folder` when the block ends.

    The file named `last`, which refers to the others, is moved after them and replaces an existing one. So a
    reader sees either the old one with its files, or the new one with its files. The names of the others
    must not exist yet. If the block or a move fails, nothing has changed.
    """
    moved: list[Path] = []
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as temporary:
        yield Path(temporary)
        try:
            for file in sorted(Path(temporary).iterdir(), key=lambda file: file.name == last):
                moved.append(folder / file.name)
                file.replace(folder / file.name)
        except BaseException:  # KeyboardInterrupt too
            for path in moved:
                if path.name != last:
                    path.unlink(missing_ok=True)
            raise


def inside(folder: Path, name: str) -> Path | None:
    """The path of an untrusted name within a folder; None if the name leads out of the folder.

    Such names come from an archive or from template.json. Absolute paths, `..`, backslashes, Windows drives
    and symbolic links to elsewhere lead out, on every system.
    """
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    # Both kinds are tested: a plain name on this system may be a drive or a root on another one.
    if not posix.parts or posix.is_absolute() or windows.drive or windows.root:
        return None
    if ".." in posix.parts or "\\" in name or "\0" in name:
        return None
    path = folder / posix
    try:
        path.is_file()  # raises for a name that is too long or not valid text
        return path if path.resolve().is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return None


def check_writable(folder: Path) -> None:
    """Check that files can be created in a folder, or in its nearest parent that exists.

    It creates a file and deletes it: `os.access` does not detect a read-only file system, and is always
    true for root.

    Raises:
        OSError: no file can be created there.
    """
    absolute = folder.absolute()
    nearest = next(parent for parent in (absolute, *absolute.parents) if parent.exists())
    with tempfile.TemporaryFile(dir=nearest):
        pass


def cache_folder(kind: str) -> Path:
    """Return $XDG_CACHE_HOME/wherein/KIND, by default ~/.cache/wherein/KIND; the folder is not created.

    Raises:
        FileNotFoundError: the user has no home directory, as in many containers.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG specification says that a relative path must be ignored.
        root = Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()
    except RuntimeError as error:
        raise FileNotFoundError("no home directory: set HOME or XDG_CACHE_HOME") from error
    return root / "wherein" / kind


def zip_directory_size(path: Path) -> int | None:
    """The size in bytes of the file list of a .zip, from the record at its end; None for a Zip64 archive.

    Check it before `zipfile` opens the archive, which reads the whole list into memory.
    """
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - _ZIP_END_SIZE - 2**16 - len(_ZIP64) - 16))
        tail = file.read()
    at, largest = tail.find(_ZIP_END), 0
    while at >= 0:  # the comment may contain the same bytes, and readers differ in which record they use
        if tail[max(0, at - 20) : at].startswith(_ZIP64):
            return None
        largest = max(largest, int.from_bytes(tail[at + 12 : at + 16], "little"))
        at = tail.find(_ZIP_END, at + 1)
    return largest


def is_zarr_folder(path: Path) -> bool:
    """Return whether a folder is a picture in the format Zarr."""
    return any((path / mark).is_file() for mark in ZARR_MARKS)
