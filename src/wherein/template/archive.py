"""Templates as .zip files: packing, and unpacking that is safe for files from unknown sources."""

import zipfile
import zlib
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from wherein.errors import TemplateError

MAX_BYTES = 512 * 2**20
"""Maximum size of the unpacked files. A choice: far more than a template needs, and no danger to a disk."""

MAX_FILES = 10_000
"""Maximum number of files in an archive. A choice: far more than any template has."""

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
        with zipfile.ZipFile(path) as archive:
            files = {PurePosixPath(i.filename): i for i in archive.infolist() if not i.is_dir()}
            _check(path, files)
            root = _template_folder(path, files, description)
            for name, info in files.items():
                if name.is_relative_to(root):
                    target = folder / name.relative_to(root)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(info) as packed, target.open("wb") as file:
                        copyfileobj(packed, file)  # in chunks, and not more than its declared size
    except _ERRORS as error:
        raise TemplateError(f"{path} cannot be unpacked: {error}") from error


def _check(path: Path, files: dict[PurePosixPath, zipfile.ZipInfo]) -> None:
    """Refuse an archive by its list of files, before anything is unpacked."""
    if len(files) > MAX_FILES:
        raise TemplateError(f"{path} has {len(files)} files: the maximum is {MAX_FILES}")
    if sum(info.file_size for info in files.values()) > MAX_BYTES:
        raise TemplateError(f"{path} unpacks to more than the maximum of {MAX_BYTES // 2**20} MB")
    for name, info in files.items():
        if name.is_absolute() or ".." in name.parts:
            raise TemplateError(f"{path} has a file {str(name)!r} outside the archive")
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
