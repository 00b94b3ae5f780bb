"""OME-Zarr by region, and plain arrays in Zarr (versions 2 and 3), from a folder or a .zip on this computer.

The description is JSON and each chunk is a file. Both are read by this module without the zarr package, and a
chunk is decoded only if its sizes are right. So nothing in a store can be executed (as the codec "pickle"
would) or downloaded (as by other kinds of stores). As Zarr specifies, missing chunks have the fill value:
programs leave out chunks of background."""

import itertools
import json
import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherein.errors import MissingError, PictureError, brief
from wherein.files import ZARR_MARKS, ZIP_METHODS, inside, zip_directory_size
from wherein.giant.chunk_codecs import CODECS, decoded_chunk
from wherein.giant.region_source import Box, RegionSource, checked_size, levels_by_reduction

_MAX_JSON = 4 * 2**20
"""Maximum size in bytes of a description. A choice: a thousand times the usual size."""

_MAX_CHUNK = 256 * 2**20
"""Maximum size in bytes of a chunk in memory. A choice: chunks usually have 1 MB or less."""

_MAX_LEVELS, _MAX_AXES, _MAX_CHUNKS = 32, 5, 10**6  # to read as many chunks of a picture takes a minute
_MAX_LIST = 64 * 2**20
"""Maximum size in bytes of the file list of a .zip. A choice: that of 65,535 files has a tenth of it."""

_SAMPLES = (1, 3, 4)


class _Files(ABC):
    """The files of a store, by their names."""

    @abstractmethod
    def read(self, name: str, most: int) -> bytes | None:
        """The bytes of a file, None if it does not exist; `PictureError` if there are more than `most`."""

    def close(self) -> None:  # noqa: B027  # a folder is not opened
        """Close the archive."""


class _Folder(_Files):
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str, most: int) -> bytes | None:
        path = inside(self._path, name)
        if path is None:
            raise PictureError(f"the name {name!r} leads out of the store")
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return _limited(file.read(most + 1), name, most)


class _Zip(_Files):
    def __init__(self, path: Path) -> None:
        size = zip_directory_size(path)
        if size is None or size > _MAX_LIST:
            raise PictureError("the archive has too many files: unpack it into a folder")
        self._archive = zipfile.ZipFile(path)
        self._members = {member.filename: member for member in self._archive.infolist()}
        marks = [name for name in self._members if name.rsplit("/", 1)[-1] in ZARR_MARKS]
        # Programs often pack a folder instead of its files: the shortest name shows the root of the store.
        self._root = (min(marks, key=len).rpartition("/")[0] + "/" if marks else "").removeprefix("/")

    def read(self, name: str, most: int) -> bytes | None:
        member = self._members.get(self._root + name)
        if member is None:
            return None
        if member.compress_type not in ZIP_METHODS:
            raise PictureError(f"the archive compresses {name} in another way than by deflate")
        with self._archive.open(member) as file:  # not more than its declared size
            return _limited(file.read(most + 1), name, most)

    def close(self) -> None:
        self._archive.close()


def _limited(data: bytes, name: str, most: int) -> bytes:
    if len(data) > most:
        raise PictureError(f"{name} has more than the maximum of {most:,} bytes")
    return data


@dataclass(frozen=True)
class _Array:
    """An array of a store.

    Attributes:
        path: its folder in the store, with a slash at the end; empty: the store itself.
        shape, chunks: size of the array and of a chunk along each axis.
        dtype: of its values.
        fill: the value of missing chunks.
        codec: the name of its compression; empty: none.
        prefix, separator: parts of the names of chunks.
        order: "C" or "F".
    """

    path: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: float
    codec: str
    prefix: str
    separator: str
    order: str


class ZarrSource(RegionSource):
    """A Zarr store in a folder or a .zip: the first image of an OME-Zarr, or an array.

    If there are several times or depths, the first is read.

    Raises:
        PictureError: the store cannot be read.
        MissingError: its compression needs numcodecs, which is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._files: _Files | None = None
        try:
            self._files = _Folder(path) if path.is_dir() else _Zip(path)
            self._open(self._files)
        except MissingError:
            self.close()
            raise
        except Exception as error:  # any kind, from unexpected JSON and from zipfile
            self.close()
            raise self._damaged(error) from error

    def _open(self, files: _Files) -> None:
        names, axes = _image(files)
        arrays = [_array(files, name) for name in names]
        first = arrays[0]
        self._axes = axes or _usual_axes(first.shape)
        _check_axes(self._axes, first.shape)
        sizes = {number: self._size_of(one) for number, one in enumerate(arrays)}
        self.size = checked_size(self.name, *sizes.pop(0))
        self._levels = {1: first}
        for reduction, number in sorted(levels_by_reduction(self.size, sizes).items()):
            if arrays[number].dtype == first.dtype and len(arrays[number].shape) == len(first.shape):
                self._levels[reduction] = arrays[number]
        self.reductions = tuple(self._levels)

    def _size_of(self, array: _Array) -> tuple[int, int]:
        along = dict(zip(self._axes, array.shape, strict=True))
        return along["x"], along["y"]

    def stored(self, box: Box, reduction: int) -> NDArray[Any]:  # noqa: D102
        array, (left, top, right, bottom) = self._levels[reduction], box
        spans = {"x": (left, right), "y": (top, bottom)}
        # The first time and depth, but all channels.
        wanted = [
            spans.get(axis, (0, length if axis == "c" else 1))
            for axis, length in zip(self._axes, array.shape, strict=True)
        ]
        made = np.full([last - first for first, last in wanted], array.fill, array.dtype)
        try:
            self._fill(array, wanted, made)
        except (MemoryError, MissingError):
            raise
        except Exception as error:
            raise self._damaged(error) from error
        keep = [k for k, axis in enumerate(self._axes) if axis in "yxc"]
        values = made.reshape([made.shape[k] for k in keep])
        names = [self._axes[k] for k in keep]
        return values.transpose([names.index(axis) for axis in "yxc" if axis in names])

    def _fill(self, array: _Array, wanted: Sequence[tuple[int, int]], made: NDArray[Any]) -> None:
        """Write the chunks that a region overlaps into the array of the region's values."""
        ranges = [
            range(first // chunk, math.ceil(last / chunk))
            for (first, last), chunk in zip(wanted, array.chunks, strict=True)
        ]
        for index in itertools.product(*ranges):
            chunk = self._chunk(array, index)
            if chunk is None:
                continue
            begins = [k * size for k, size in zip(index, array.chunks, strict=True)]
            # The overlap of chunk and region, in pixels of the array.
            low = [max(begin, first) for begin, (first, _) in zip(begins, wanted, strict=True)]
            high = [
                min(begin + size, last)
                for begin, size, (_, last) in zip(begins, array.chunks, wanted, strict=True)
            ]
            there = tuple(
                slice(a - first, b - first) for a, b, (first, _) in zip(low, high, wanted, strict=True)
            )
            own = tuple(slice(a - begin, b - begin) for a, b, begin in zip(low, high, begins, strict=True))
            made[there] = chunk[own]

    def _chunk(self, array: _Array, index: tuple[int, ...]) -> NDArray[Any] | None:
        """A chunk; None if it is missing."""
        assert self._files is not None, "an open store"
        name = array.path + array.prefix + array.separator.join(map(str, index))
        size = math.prod(array.chunks) * array.dtype.itemsize
        data = self._files.read(name, 2 * size + 4096)
        if data is None:
            return None
        values = np.frombuffer(decoded_chunk(data, array.codec, size, name), array.dtype)
        return values.reshape(array.chunks, order="F" if array.order == "F" else "C")

    def close(self) -> None:  # noqa: D102
        if self._files is not None:
            self._files.close()

    def _damaged(self, error: Exception) -> PictureError:
        detail = brief(error)
        if isinstance(error, PictureError):
            return PictureError(f"{self.name}: {detail}")
        return PictureError(f"{self.name}: the Zarr store is damaged or incomplete ({detail}): copy it again")


def _json(files: _Files, name: str) -> dict[str, Any] | None:
    data = files.read(name, _MAX_JSON)
    if data is None:
        return None
    found = json.loads(data)
    if not isinstance(found, dict):
        raise PictureError(f"{name} is not a JSON object")
    return found


def _image(files: _Files) -> tuple[list[str], str]:
    """The folders of the levels of the first image, finest first, and its axes; both "" for a plain array."""
    version_3 = _json(files, "zarr.json")
    if version_3 is not None:
        attributes = version_3.get("attributes", {})
        attributes = attributes.get("ome", attributes)
        single = version_3.get("node_type") == "array"
    else:
        attributes, single = _json(files, ".zattrs") or {}, files.read(".zarray", _MAX_JSON) is not None
    if single:
        return [""], ""
    images = attributes.get("multiscales")
    if not images:
        raise PictureError(
            "the Zarr store has no image: use an OME-Zarr (multiscales), or a folder of one array"
        )
    names = [str(level["path"]).strip("/") + "/" for level in images[0]["datasets"]]
    if not 1 <= len(names) <= _MAX_LEVELS:
        raise PictureError(f"the image has {len(names)} levels: 1 to {_MAX_LEVELS} are allowed")
    axes = images[0].get("axes", [])
    return names, "".join(str(axis["name"] if isinstance(axis, dict) else axis) for axis in axes)


def _usual_axes(shape: tuple[int, ...]) -> str:
    """The usual axes of an array without names of axes."""
    if len(shape) == 3:
        return "yxc" if shape[2] in _SAMPLES else "cyx"
    return "tczyx"[-len(shape) :] if len(shape) != 2 else "yx"


def _check_axes(axes: str, shape: tuple[int, ...]) -> None:
    if len(axes) != len(shape) or len(set(axes)) != len(axes) or not set("yx") <= set(axes) <= set("tczyx"):
        raise PictureError(
            f"its axes are {axes!r} of shape {shape}: they must be x and y, and t, c or z besides"
        )
    count = dict(zip(axes, shape, strict=True)).get("c", 1)
    if count not in _SAMPLES:
        raise PictureError(
            f"it has {count} channels: a scene has 1, 3 (RGB) or 4: save those that show the object"
        )


def _array(files: _Files, path: str) -> _Array:
    """The array in a folder of a store, after checks of its description."""
    version_3 = _json(files, f"{path}zarr.json")
    described = version_3 or _json(files, f"{path}.zarray")
    if described is None:
        raise PictureError(f"level {path.strip('/') or '/'!r} is missing")
    made = _version_3(path, described) if version_3 else _version_2(path, described)
    if not 2 <= len(made.shape) <= _MAX_AXES or len(made.chunks) != len(made.shape):
        raise PictureError(
            f"its shape is {made.shape} in chunks of {made.chunks}: 2 to {_MAX_AXES} axes are allowed"
        )
    if min(made.shape) < 1 or min(made.chunks) < 1:
        raise PictureError(f"its shape is {made.shape} in chunks of {made.chunks}: both must be positive")
    if made.dtype.kind not in "buf" or made.dtype.itemsize > 8:
        raise PictureError(f"its values have type {made.dtype}: they must be uint8, uint16, bool or float")
    if math.prod(made.chunks) * made.dtype.itemsize > _MAX_CHUNK:
        raise PictureError(f"its chunks are {made.chunks}: the maximum is {_MAX_CHUNK // 2**20} MB")
    counts = sorted(math.ceil(a / b) for a, b in zip(made.shape, made.chunks, strict=True))
    if math.prod(counts[-2:]) > _MAX_CHUNKS:  # of the other axes, such as time, one step is read
        raise PictureError(f"its shape is {made.shape} in chunks of {made.chunks}: these are too many")
    if made.codec and made.codec not in CODECS:
        raise PictureError(f"its compression {made.codec!r} is not supported: use one of {', '.join(CODECS)}")
    return made


def _version_2(path: str, described: dict[str, Any]) -> _Array:
    if described.get("filters"):
        raise PictureError("its chunks have filters, which are not supported: save it without")
    compressor = described.get("compressor")
    return _Array(
        path,
        tuple(map(int, described["shape"])),
        tuple(map(int, described["chunks"])),
        _dtype(str(described["dtype"])),
        _fill_value(described.get("fill_value")),
        str(compressor["id"]) if compressor else "",
        "",
        "/" if described.get("dimension_separator") == "/" else ".",
        str(described.get("order", "C")),
    )


def _version_3(path: str, described: dict[str, Any]) -> _Array:
    codecs = [(str(one["name"]), one.get("configuration") or {}) for one in described["codecs"]]
    names = [name for name, _ in codecs]
    if names[:1] != ["bytes"] or len(names) > 2:
        raise PictureError(
            f"its codecs are {', '.join(names)}: only bytes and one compression are supported, without shards"
        )
    big = codecs[0][1].get("endian") == "big"
    keys = described.get("chunk_key_encoding") or {"name": "default"}
    plain = keys["name"] == "default"
    separator = (keys.get("configuration") or {}).get("separator", "/" if plain else ".")
    return _Array(
        path,
        tuple(map(int, described["shape"])),
        tuple(map(int, described["chunk_grid"]["configuration"]["chunk_shape"])),
        _dtype(str(described["data_type"])).newbyteorder(">" if big else "<"),
        _fill_value(described.get("fill_value")),
        names[1] if len(names) > 1 else "",
        f"c{'/' if separator == '/' else '.'}" if plain else "",
        "/" if separator == "/" else ".",
        "C",
    )


def _dtype(name: str) -> np.dtype[Any]:
    if len(name) > 10 or "O" in name:
        raise PictureError(f"its values have type {name[:20]!r}: they must be uint8, uint16, bool or float")
    return np.dtype(name)


def _fill_value(given: object) -> float:
    return float(given) if isinstance(given, int | float) else 0.0
