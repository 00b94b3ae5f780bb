"""A template's .zip: packed as it is, unpacked with nothing that chooses a place outside."""

import zipfile
import zlib
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from wherein.errors import TemplateError

LARGEST, MOST = 512 * 2**20, 10_000
"""Bytes that the files may unpack to, and how many there may be."""

_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Those that unpack as many bytes as are asked for; the others unpack a whole block, however large."""

_DAMAGE = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    UnicodeDecodeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading an archive raises where it is damaged, encrypted or packed in a way we cannot undo."""


def pack(folder: Path, path: Path) -> None:
    """The files of a folder into an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)


def unpack(path: Path, folder: Path, description: str) -> None:
    """The files beside and below the description, wherever in the archive that is, into a folder.

    Raises:
        TemplateError: it is damaged, too large, holds a name that leads outside, or not one description.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = {PurePosixPath(i.filename): i for i in archive.infolist() if not i.is_dir()}
            _check(path, files)
            home = _home(path, files, description)
            for name, info in files.items():
                if name.is_relative_to(home):
                    target = folder / name.relative_to(home)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(info) as packed, target.open("wb") as file:
                        copyfileobj(packed, file)  # in pieces, and no more than the size it declares
    except _DAMAGE as error:
        raise TemplateError(f"{path} cannot be unpacked: {error}") from error


def _check(path: Path, files: dict[PurePosixPath, zipfile.ZipInfo]) -> None:
    """Refuse at once what the list of files already tells."""
    if len(files) > MOST:
        raise TemplateError(f"{path} holds {len(files)} files: a template has at most {MOST}")
    if sum(info.file_size for info in files.values()) > LARGEST:
        raise TemplateError(f"{path} unpacks to more than {LARGEST // 2**20} MB")
    for name, info in files.items():
        if name.is_absolute() or ".." in name.parts:
            raise TemplateError(f"{path} holds {str(name)!r}, which would leave its folder")
        if info.compress_type not in _PACKINGS:
            raise TemplateError(
                f"{path} packs {str(name)!r} in a way that is not read here: pack it with deflate, "
                "as zip programs do by default"
            )


def _home(path: Path, files: dict[PurePosixPath, zipfile.ZipInfo], description: str) -> PurePosixPath:
    """The folder of the one description."""
    homes = [name.parent for name in files if name.name == description]
    if len(homes) != 1:
        raise TemplateError(f"{path} has {len(homes)} files {description}: one is needed")
    return homes[0]
