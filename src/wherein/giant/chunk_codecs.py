"""Decompression of chunks of a known size, without ever allocating more than that size."""

import zlib

from wherein.errors import PictureError
from wherein.extras import require_package

CODECS = ("blosc", "zstd", "lz4", "zlib", "gzip")
"""Names of compressions in Zarr."""

_ANY_HEADER = 47
"""`wbits` of zlib that accepts the headers of both zlib and gzip."""

_ZSTD = b"\x28\xb5\x2f\xfd"


def decoded_chunk(data: bytes, codec: str, size: int, name: str) -> bytes:
    """Decompress a chunk, which must have `size` bytes.

    Arguments:
        data: as stored.
        codec: one of `CODECS`; empty: not compressed.
        size: of the chunk in memory.
        name: of the chunk, for messages.

    Raises:
        PictureError: the chunk is damaged, or has another size.
        MissingError: numcodecs is not installed.
    """
    # numcodecs allocates the size that the chunk's header claims, so that is checked before. zlib is limited
    # while it decompresses.
    if codec in ("zlib", "gzip"):
        return _checked(_inflated(data, size, name), size, name)
    if not codec:
        return _checked(data, size, name)
    claimed = _claimed(data, codec)
    if claimed != size:
        raise PictureError(f"chunk {name} is damaged: it says {claimed} bytes instead of {size}")
    package = require_package("numcodecs", "this Zarr store", "pip install 'wherein[giant]'")
    decoder = {"blosc": package.Blosc, "zstd": package.Zstd, "lz4": package.LZ4}[codec]()
    try:
        return _checked(bytes(decoder.decode(data)), size, name)
    except (RuntimeError, ValueError) as error:
        raise PictureError(f"chunk {name} is damaged ({error})") from error


def _checked(data: bytes, size: int, name: str) -> bytes:
    if len(data) != size:
        raise PictureError(f"chunk {name} is damaged: it has {len(data):,} bytes instead of {size:,}")
    return data


def _inflated(data: bytes, size: int, name: str) -> bytes:
    try:
        # One byte more than expected, so that a chunk that is too long is noticed.
        return zlib.decompressobj(_ANY_HEADER).decompress(data, size + 1)
    except zlib.error as error:
        raise PictureError(f"chunk {name} is damaged ({error})") from error


def _claimed(data: bytes, codec: str) -> int:
    """The uncompressed size in a chunk's header; −1 if it has none."""
    if codec == "lz4":
        return int.from_bytes(data[:4], "little") if len(data) >= 4 else -1
    if codec == "blosc":
        # The header also has the stored size: if the data were shorter, blosc would read beyond its end.
        whole = len(data) >= 16 and int.from_bytes(data[12:16], "little") == len(data)
        return int.from_bytes(data[4:8], "little") if whole else -1
    return _zstd_size(data)


def _zstd_size(data: bytes) -> int:
    """The size in the header of a Zstandard frame (RFC 8878, 3.1.1.1)."""
    if len(data) < 18 or not data.startswith(_ZSTD):  # a header has at most 18 bytes
        data = data + bytes(18)
        if not data.startswith(_ZSTD):
            return -1
    flag, single = data[4] >> 6, bool(data[4] & 32)
    # The field has 1, 2, 4 or 8 bytes; with flag 0 it exists in single-segment frames only.
    length = (0 if not single else 1, 2, 4, 8)[flag]
    if length == 0:
        return -1
    # After magic number and descriptor: the window descriptor, unless single-segment, and the dictionary ID.
    begin = 5 + (0 if single else 1) + (0, 1, 2, 4)[data[4] & 3]
    # A field of 2 bytes has an offset of 256.
    return int.from_bytes(data[begin : begin + length], "little") + (256 if length == 2 else 0)
