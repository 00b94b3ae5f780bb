"""Templates as .zip files: pack a folder, and unpack archives from untrusted sources safely."""

import zipfile
import zlib
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from wherein.errors import TemplateError, brief
from wherein.files import ZIP_METHODS, inside, zip_directory_size

MAX_BYTES = 512 * 2**20
"""Maximum total size of the unpacked files. A choice: far more than a template needs, too little to fill a
disk."""

MAX_FILES = 10_000
"""Maximum number of files in an archive. A choice: far more than any template has."""

MAX_DIRECTORY = 4 * 2**20
"""Maximum size of an archive's central directory (its list of files) in bytes. A choice: 400 bytes for each
of `MAX_FILES`; an entry with a name of 30 letters needs about 100. The size is checked separately because
Python's `zipfile` reads the whole directory before its entries can be counted."""

MAX_RATIO, FREE_BYTES = 100, 16 * 2**20
"""Maximum ratio of unpacked to packed size, for archives that unpack to more than `FREE_BYTES`. Choices:
deflate hardly shrinks pictures, shrinks text to a tenth, and zeros to a thousandth."""

_ERRORS = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    UnicodeDecodeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""The exceptions that `zipfile` raises for damaged, encrypted or unsupported archives."""


def pack(folder: Path, path: Path) -> None:
    """Write the files of a folder into an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)


def unpack(path: Path, folder: Path, description: str) -> None:
    """Unpack the folder that contains the description, with its subfolders, into `folder`.

    The description may be in a subfolder of the archive: many programs pack the folder and not its files.

    Arguments:
        path: of the archive.
        folder: to unpack into.
        description: the name of the file that marks the template's folder, template.json.

    Raises:
        TemplateError: the archive is damaged or too large, has a file name that leads outside of it, or does
            not have exactly one description.
    """
    try:
        _check_directory(path)  # before ZipFile() reads the directory into memory
        with zipfile.ZipFile(path) as archive:
            files = _files(path, archive)
            _check(path, files, folder)
            root = _template_folder(path, files, description)
            for name, info in files.items():
                if name.is_relative_to(root):
                    target = folder / name.relative_to(root)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(info) as packed, target.open("wb") as file:
                        # `packed` ends at the size that the directory declares, which `_check` has limited:
                        # a file that unpacks to more cannot fill the disk.
                        copyfileobj(packed, file)
    except _ERRORS as error:
        raise TemplateError(f"{path} cannot be unpacked: {brief(error)}") from error


def _check_directory(path: Path) -> None:
    """Refuse an archive whose list of files is too large, before the list is read."""
    size = zip_directory_size(path)
    if size is None:
        raise TemplateError(f"{path} is a Zip64 archive, for more than 4 GB: use a usual .zip")
    if size > MAX_DIRECTORY:
        raise TemplateError(
            f"{path} cannot be unpacked: its list of files has {size:,} bytes: the maximum is "
            f"{MAX_DIRECTORY:,}"
        )


def _files(path: Path, archive: zipfile.ZipFile) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """The files of an archive by their path, without entries of folders."""
    members = archive.infolist()
    if not all(member.filename for member in members):  # `is_dir` reads the last letter of the name
        raise TemplateError(f"{path} has a file without a name")
    return {PurePosixPath(member.filename): member for member in members if not member.is_dir()}


def _check(path: Path, files: dict[PurePosixPath, zipfile.ZipInfo], folder: Path) -> None:
    """Check the list of files against the limits, before anything is unpacked."""
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
            raise TemplateError(f"{path} has a file {brief(repr(info.filename))} outside the archive")
        if info.compress_type not in ZIP_METHODS:
            raise TemplateError(
                f"{path} has a file {str(name)!r} with unsupported compression: use deflate, the default of "
                "zip programs"
            )


def _template_folder(
    path: Path, files: dict[PurePosixPath, zipfile.ZipInfo], description: str
) -> PurePosixPath:
    """The folder in the archive that contains the description."""
    folders = [name.parent for name in files if name.name == description]
    if len(folders) != 1:
        raise TemplateError(f"{path} has {len(folders)} files named {description}: there must be exactly one")
    return folders[0]
