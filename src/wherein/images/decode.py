"""Picture files to Pillow images, strictly: the whole picture as it was saved, or an error.

Pillow forgives where a measurement must not. What is done about it, and why:

- The reader is picked by the file's first bytes, and called directly. So only the six formats
  are ever tried, and `Image.open`, with its cap `PIL.Image.MAX_IMAGE_PIXELS`, is not involved:
  the caller's `max_pixels` counts, and that global is not changed. (Inside its WebP reader, and
  for the frame of a GIF, Pillow asks twice its own cap still, 179 million pixels unless the
  caller changed it; the error says so.)
- `ImageFile.LOAD_TRUNCATED_IMAGES` is put to False while a file is decoded. Together with
  Pillow's warnings, which are kept quiet the same way, that is state of the whole process:
  one lock holds it, so decoding is one picture at a time.
- PNG checksums, which Pillow skips, are checked. The other formats have none: damage inside
  their pixel data can pass for a picture, a missing end cannot.
- What Pillow (12.3 to 13.0) is known to misread without a word is refused.

A damaged compressed TIFF makes libtiff write a line of its own to standard error, which cannot be
kept from it without redirecting that of the whole process.
"""

import io
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import ExifTags, Image, ImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from wherein.errors import PictureError, WhereinError

Opened = io.BufferedReader | io.BytesIO
"""A file that is open, or its bytes."""

FORMATS = "PNG, JPEG, WebP, TIFF, BMP or GIF"

_READERS: tuple[tuple[bytes, type[ImageFile.ImageFile]], ...] = (  # by a pattern for the first bytes
    (rb"\x89PNG\r\n\x1a\n", PngImageFile),
    (rb"\xff\xd8\xff", JpegImageFile),
    (rb"RIFF[\x00-\xff]{4}WEBP", WebPImageFile),
    (rb"II[*+]\x00|MM\x00[*+]", TiffImageFile),
    (rb"BM", BmpImageFile),
    (rb"GIF8[79]a", GifImageFile),
)

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

_decoding = threading.Lock()


@contextmanager
def strict_pillow() -> Iterator[None]:
    """Hold Pillow to whole pictures and no warnings, in one thread at a time."""
    with _decoding, warnings.catch_warnings():
        # By module, so that what other threads warn about meanwhile is still heard.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            yield
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = lenient


@contextmanager
def as_picture_error(name: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into one `PictureError` whose sentence begins with `name`."""
    try:
        yield
    except MemoryError:  # says nothing about the picture
        raise
    except Exception as error:  # Pillow's readers raise a dozen kinds, AssertionError among them
        raise PictureError(f"{name}: {_explain(error)}") from error


def decode(path: Path, max_pixels: int) -> Image.Image:
    """Decode the first frame of a file, upright by its EXIF orientation.

    Call it inside `strict_pillow`, and inside `as_picture_error`: it raises what Pillow raises.
    """
    if path.exists() and not path.is_file():  # a pipe would block, a folder has no bytes
        raise PictureError("this is a folder or a device, not a file: give the path of one picture")
    # Pillow is given the file and not its name, so that it maps no memory that others can change.
    with path.open("rb") as file:
        return decode_open(file, max_pixels)


def decode_open(file: Opened, max_pixels: int) -> Image.Image:
    """As `decode`, of a file that is open already."""
    image = _open(file, max_pixels)
    check_size(image.size, max_pixels)
    refuse_misread(image)
    return upright(_load(image, file))


def check_size(size: tuple[int, int], max_pixels: int) -> None:
    """Raise `PictureError` where a `size` (width, height) is empty, or more than `max_pixels`."""
    pixels = size[0] * size[1]
    what = f"the picture is {size[0]} × {size[1]} = {pixels:,} pixels"
    if pixels == 0:
        raise PictureError(f"{what}: give one that is not empty")
    if pixels > max_pixels:
        raise PictureError(
            f"{what}, more than the {max_pixels:,} that are taken (max_pixels): give a smaller picture"
        )


def upright(image: Image.Image) -> Image.Image:
    """Turn a loaded `image` as its EXIF orientation says; the image itself is left alone.

    Not by `ImageOps.exif_transpose`, which writes the EXIF block anew and fails on odd ones.
    """
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # a damaged EXIF block says nothing: as stored, which is what viewers show
        return image
    method = _UPRIGHT.get(orientation)
    return image if method is None else image.transpose(method)


def refuse_misread(image: Image.Image) -> None:
    """Raise `PictureError` for what Pillow would decode to other values than were saved."""
    if isinstance(image, PngImageFile) and _is_misread_png(image):
        raise PictureError("its transparency is one colour, not of 8 bits: save it with an alpha channel")
    if isinstance(image, TiffImageFile) and _lacks_strips(image):
        raise PictureError("a part of its pixels is missing: was it copied whole?")
    if isinstance(image, TiffImageFile) and _is_misread_tiff(image):
        raise PictureError(
            "its samples are 12-bit, signed, white-is-zero, in planes or compressed big-endian in a way "
            "that is not supported: save it as plain 8-bit colour or 16-bit grey"
        )


def _is_misread_png(image: PngImageFile) -> bool:
    # The transparent value stays at the file's depth while the pixels become 8-bit.
    rescaled = bool(image.tile) and image.tile[0].args in ("L;2", "L;4", "RGB;16B")
    return rescaled and "transparency" in image.info


def _is_misread_tiff(image: TiffImageFile) -> bool:
    tags = image.tag_v2
    bits = max(tags.get(ExifTags.Base.BitsPerSample, (1,)))
    signed = 2 in tags.get(ExifTags.Base.SampleFormat, (1,))
    if bits <= 8:
        return signed  # read as unsigned
    white_is_zero = tags.get(ExifTags.Base.PhotometricInterpretation, 0) == 0  # not inverted
    compressed = tags.get(ExifTags.Base.Compression, 1) != 1
    planes = tags.get(ExifTags.Base.PlanarConfiguration, 1) == 2 and not compressed  # read as 8-bit
    # libtiff swaps the bytes, and then Pillow swaps them once more.
    swapped = compressed and tags.prefix == b"MM" and (bits == 32 or signed)
    return bits == 12 or white_is_zero or planes or swapped


def _open(file: Opened, max_pixels: int) -> ImageFile.ImageFile:
    """Read the header only, with the reader that the file's first bytes ask for."""
    head = file.read(30)
    file.seek(0)
    if not head:
        raise PictureError("the file is empty (0 bytes): was it copied whole?")
    for signature, reader in _READERS:
        if re.match(signature, head):
            if reader is WebPImageFile:  # which allocates as it opens
                check_size(_webp_size(head), max_pixels)
            return _open_tiff(file) if reader is TiffImageFile else reader(file)
    raise PictureError(f"this is not a {FORMATS} file, whatever its name says: convert it to one of them")


def _webp_size(head: bytes) -> tuple[int, int]:
    """The width and height in the first 30 bytes of a WebP file, of whichever of its three kinds."""
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        both = int.from_bytes(head[21:25], "little")
        return 1 + (both & 0x3FFF), 1 + (both >> 14 & 0x3FFF)
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def _open_tiff(file: Opened) -> TiffImageFile:
    with warnings.catch_warnings():
        # A directory that is cut off only warns, and then lacks its orientation, say.
        warnings.filterwarnings("error", module=r"PIL\.")
        warnings.filterwarnings("ignore", message="Metadata Warning", module=r"PIL\.")
        return TiffImageFile(file)


def _load(image: ImageFile.ImageFile, file: Opened) -> ImageFile.ImageFile:
    """Decode the pixels, after the checks that Pillow leaves out."""
    if isinstance(image, PngImageFile):
        image.verify()  # of the checksums; uses the image up
        file.seek(0)
        image = PngImageFile(file)
    elif isinstance(image, TiffImageFile):
        # Allocated here, because Pillow would ask MAX_IMAGE_PIXELS before it does.
        image.im = Image.new(image.mode, image._tile_size).im
    image.load()
    return image


def _lacks_strips(image: TiffImageFile) -> bool:
    """Say whether some rows are in no strip or tile: Pillow leaves them black."""
    if not image.tile:  # loaded already
        return False
    in_planes = image.tile[0].codec_name == "raw" and image.tag_v2.get(ExifTags.Base.PlanarConfiguration) == 2
    area = image.width * image.height * (len(image.getbands()) if in_planes else 1)
    boxes = [tile.extents for tile in image.tile if tile.extents is not None]
    return sum((right - left) * (bottom - top) for left, top, right, bottom in boxes) < area


def _explain(error: Exception) -> str:
    if isinstance(error, WhereinError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "there is no such file: check the path"
    if isinstance(error, OSError) and error.errno is not None:  # the system's; Pillow's have no number
        return f"the file cannot be opened ({error.strerror}): check its path and permissions"
    if isinstance(error, Image.DecompressionBombError):
        return f"{error} To load it, save it as PNG or TIFF, or raise PIL.Image.MAX_IMAGE_PIXELS"
    detail = " ".join(str(error).split()) or type(error).__name__
    return (
        f"the picture is damaged, cut off or of a kind that is not supported ({detail}): "
        f"copy it again, or save it anew as PNG"
    )
