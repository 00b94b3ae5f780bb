"""Unpack a template's .zip: one folder of it, and nothing that chooses a place outside."""

import lzma
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from wherein.errors import TemplateError

LARGEST = 512 * 2**20
"""Bytes that the files may unpack to."""

_DAMAGE = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What reading an archive raises where it is damaged, encrypted or packed in a way we cannot undo."""


def unpack(path: Path, folder: Path, description: str) -> None:
    """The files beside and below the description, wherever in the archive that is, into a folder.

    Raises:
        TemplateError: it is damaged, too large, holds a name that leads outside, or not one description.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = {PurePosixPath(i.filename): i for i in archive.infolist() if not i.is_dir()}
            home = _home(path, files, description)
            for name, info in files.items():
                if name.is_relative_to(home):
                    target = folder / name.relative_to(home)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(info))
    except _DAMAGE as error:
        raise TemplateError(f"{path} cannot be unpacked: {error}") from error


def _home(path: Path, files: dict[PurePosixPath, zipfile.ZipInfo], description: str) -> PurePosixPath:
    """The folder of the one description."""
    if sum(info.file_size for info in files.values()) > LARGEST:
        raise TemplateError(f"{path} unpacks to more than {LARGEST // 2**20} MB")
    for name in files:
        if name.is_absolute() or ".." in name.parts:
            raise TemplateError(f"{path} holds {str(name)!r}, which would leave its folder")
    homes = [name.parent for name in files if name.name == description]
    if len(homes) != 1:
        raise TemplateError(f"{path} has {len(homes)} files {description}: one is needed")
    return homes[0]
