"""Templates as .zip files: packing, and unpacking that is safe for files from unknown sources."""

import zipfile
import zlib
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from wherein.errors import TemplateError
from wherein.files import inside, zip_directory_size

MAX_BYTES = 512 * 2**20
"""Maximum size of the unpacked files. A choice: far more than a template needs, and no danger to a disk."""

MAX_FILES = 10_000
"""Maximum number of files in an archive. A choice: far more than any template has."""

MAX_DIRECTORY = 4 * 2**20
"""Maximum size of an archive's list of files in bytes. A choice: 400 for each of `MAX_FILES`, where names of
30 letters need about 100. Python's `zipfile` reads the whole list before it can be counted."""

MAX_RATIO, FREE_BYTES = 100, 16 * 2**20
"""Maximum ratio of unpacked to packed size, for what unpacks to more than `FREE_BYTES`. Choices: pictures do
not shrink, text shrinks to a tenth, and zeros to a thousandth."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Supported compression methods. bzip2 and LZMA unpack a whole block at once, however large: a file of 1,384
bytes took 3.2 GB."""

_ERRORS = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    UnicodeDecodeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What `zipfile` raises for archives that are damaged, encrypted or compressed in an unknown way."""


def pack(folder: Path, path: Path) -> None:
    """Write the files of a folder into an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)


def unpack(path: Path, folder: Path, description: str) -> None:
    """Unpack the files beside and below the description into a folder.

    The description may be in a subfolder: programs often pack a folder instead of its files.

    Raises:
        TemplateError: the archive is damaged or too large, has a file name that leads outside of it, or does
            not have exactly one description.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            files = _files(path, archive)
            _check(path, files, folder)
            root = _template_folder(path, files, description)
            for name, info in files.items():
                if name.is_relative_to(root):
                    target = folder / name.relative_to(root)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(info) as packed, target.open("wb") as file:
                        copyfileobj(packed, file)  # in chunks, and not more than its declared size
    except _ERRORS as error:
        raise TemplateError(f"{path} cannot be unpacked: {error}") from error


def _check_directory(path: Path) -> None:
    """Refuse an archive by the size of its list of files, before that is read."""
    size = zip_directory_size(path)
    if size is None:
        raise TemplateError(f"{path} is a Zip64 archive, for more than 4 GB: use a usual .zip")
    if size > MAX_DIRECTORY:
        raise TemplateError(
            f"{path} cannot be unpacked: its list of files has {size:,} bytes: the maximum is "
            f"{MAX_DIRECTORY:,}"
        )


def _files(path: Path, archive: zipfile.ZipFile) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """The files of an archive, without its folders, by their paths in it."""
    members = archive.infolist()
    if not all(member.filename for member in members):  # `is_dir` would fail
        raise TemplateError(f"{path} has a file without a name")
    return {PurePosixPath(member.filename): member for member in members if not member.is_dir()}


def _check(path: Path, files: dict[PurePosixPath, zipfile.ZipInfo], folder: Path) -> None:
    """Refuse an archive by its list of files, before anything is unpacked."""
    if len(files) > MAX_FILES:
        raise TemplateError(f"{path} has {len(files)} files: the maximum is {MAX_FILES}")
    unpacked = sum(info.file_size for info in files.values())
    if unpacked > MAX_BYTES:
        raise TemplateError(f"{path} unpacks to more than the maximum of {MAX_BYTES // 2**20} MB")
    ratio = unpacked / path.stat().st_size
    if unpacked > FREE_BYTES and ratio > MAX_RATIO:
        raise TemplateError(f"{path} unpacks to {ratio:.0f} times its size: the maximum is {MAX_RATIO}")
    for name, info in files.items():
        if inside(folder, info.filename) is None:
            raise TemplateError(f"{path} has a file {info.filename!r} outside the archive")
        if info.compress_type not in _METHODS:
            raise TemplateError(
                f"{path} has a file {str(name)!r} with unsupported compression: use deflate, the default of "
                "zip programs"
            )


def _template_folder(
    path: Path, files: dict[PurePosixPath, zipfile.ZipInfo], description: str
) -> PurePosixPath:
    """The folder in the archive that has the description."""
    folders = [name.parent for name in files if name.name == description]
    if len(folders) != 1:
        raise TemplateError(f"{path} has {len(folders)} files named {description}: there must be exactly one")
    return folders[0]
