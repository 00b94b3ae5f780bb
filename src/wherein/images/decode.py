"""Decode picture files with Pillow, strictly: the complete picture as it was saved, or an error.

Pillow tolerates errors that are not acceptable in a measurement. This module handles them as follows:

- It chooses the reader by the first bytes of the file and calls it directly. So only these formats are
  tried. `Image.open` and its limit `PIL.Image.MAX_IMAGE_PIXELS` are not used: the caller's `max_pixels`
  applies, and the global is not changed. (The WebP reader and the frame of a GIF still check against twice
  Pillow's own limit, 179 million pixels unless the caller changed it; the error says so.)
- It sets `ImageFile.LOAD_TRUNCATED_IMAGES` to False while it decodes. This flag and the filter for Pillow's
  warnings are state of the whole process, so a lock guards them, and one picture is decoded at a time.
- It checks PNG checksums, which Pillow skips. The other formats have none: there, damaged pixel data may
  remain undetected, but a truncated file does not.
- It refuses files that Pillow (12.3 to 13.0) is known to misread silently.

For a damaged compressed TIFF, libtiff itself prints a line on standard error. Preventing this would mean
redirecting standard error of the whole process.
"""

import io
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import ExifTags, Image, ImageFile
from PIL.AvifImagePlugin import AvifImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from wherein.errors import PictureError, WhereinError, brief
from wherein.threads import renewed_after_fork

Opened = io.BufferedReader | io.BytesIO
"""An open file, or its bytes."""

FORMATS = "PNG, JPEG, WebP, AVIF, TIFF, BMP or GIF"

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
"""Extensions of the pictures that are read from a folder; a file that is named directly may have any."""

_READERS: tuple[tuple[bytes, type[ImageFile.ImageFile]], ...] = (  # by a pattern for the first bytes
    (rb"\x89PNG\r\n\x1a\n", PngImageFile),
    (rb"\xff\xd8\xff", JpegImageFile),
    (rb"RIFF[\x00-\xff]{4}WEBP", WebPImageFile),
    (rb"II[*+]\x00|MM\x00[*+]", TiffImageFile),
    (rb"BM", BmpImageFile),
    (rb"GIF8[79]a", GifImageFile),
    (rb"[\x00-\xff]{4}ftypavi[fs]", AvifImageFile),
)

_HEIC = rb"[\x00-\xff]{4}ftyp(heic|heix|heim|heis|hevc|hevx|mif1|msf1)"
"""First bytes of HEIC, a format of phones. AVIF may begin with mif1 too, but Pillow and others write avif."""

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_FIRST_TURNED = 5
"""From this orientation on, rows and columns are exchanged."""


class _Decoding:
    """The lock that is held while a picture is decoded."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_decoding = _Decoding()
renewed_after_fork(_decoding.__init__)  # type: ignore[misc]


@contextmanager
def strict_pillow() -> Iterator[None]:
    """Make Pillow reject truncated files and print no warnings; one thread at a time."""
    with _decoding.lock, warnings.catch_warnings():
        # Filtered by module, so that warnings of other code in other threads are still shown.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            yield
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = lenient


@contextmanager
def as_picture_error(name: str) -> Iterator[None]:
    """Turn every exception inside the block into a `PictureError` whose message begins with `name`."""
    try:
        yield
    except MemoryError:  # not the fault of the picture
        raise
    except Exception as error:  # Pillow's readers raise a dozen kinds, AssertionError among them
        raise PictureError(f"{name}: {_explain(error)}") from error


def decode(path: Path, max_pixels: int) -> Image.Image:
    """Decode the first frame of a file and apply its EXIF orientation.

    Call it inside `strict_pillow` and `as_picture_error`, because it raises whatever Pillow raises.
    """
    with _opened(path) as file:
        return decode_open(file, max_pixels)


def begins_like_picture(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a picture."""
    return any(re.match(signature, head) for signature, _ in _READERS)


def size_in_header(path: Path, max_pixels: int) -> tuple[int, int]:
    """The width and height in a file's header, before its EXIF orientation; called like `decode`."""
    with _opened(path) as file:
        return open_picture(file, max_pixels).size


def count_pixels(path: Path, max_pixels: int) -> int:
    """The number of pixels of a picture file; only its header is read.

    Raises:
        PictureError: the file is not a picture, or is too large and of a format whose header allocates
            memory.
    """
    with as_picture_error(str(path)), strict_pillow():
        width, height = size_in_header(path, max_pixels)
    return width * height


def _opened(path: Path) -> io.BufferedReader:
    if path.exists() and not path.is_file():  # reading a pipe would block
        raise PictureError("this is a folder or a device: use the path of a picture file")
    # Pillow gets the open file, not the name: given a name, it may map the file into memory, where other
    # programs can change it.
    return path.open("rb")


def decode_open(file: Opened, max_pixels: int) -> Image.Image:
    """Decode an open file, like `decode`."""
    image = open_picture(file, max_pixels)
    check_size(image.size, max_pixels)
    refuse_misread(image)
    return upright(checked_and_loaded(image, file))


def decoded_frame(image: ImageFile.ImageFile, max_pixels: int) -> Image.Image:
    """Decode the current frame of an open picture; called like `decode`."""
    check_size(image.size, max_pixels)
    refuse_misread(image)
    _allocate(image)
    image.load()
    return upright(image)


def check_size(size: tuple[int, int], max_pixels: int) -> None:
    """Raise `PictureError` if a `size` (width, height) is empty, or has more than `max_pixels`."""
    pixels = size[0] * size[1]
    if pixels == 0:
        raise PictureError(f"the picture is empty, {size[0]} × {size[1]}: it must have at least one pixel")
    if pixels > max_pixels:
        raise PictureError(
            f"the picture has {size[0]} × {size[1]} = {pixels:,} pixels, more than the maximum of "
            f"{max_pixels:,} (max_pixels): use a smaller picture"
        )


def upright(image: Image.Image) -> Image.Image:
    """Return a loaded `image` rotated or mirrored by its EXIF orientation; the image itself is not changed.

    `ImageOps.exif_transpose` would also rewrite the EXIF block, and fails on unusual ones.
    """
    method = _UPRIGHT.get(_orientation(image))
    return image if method is None else image.transpose(method)


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Width and height of `upright(image)`."""
    return image.size[::-1] if _orientation(image) >= _FIRST_TURNED else image.size


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # a damaged EXIF block: leave the picture as stored, as viewers do
        return 1


def refuse_misread(image: Image.Image) -> None:
    """Raise `PictureError` for files that Pillow would decode to wrong values."""
    if isinstance(image, PngImageFile) and _is_misread_png(image):
        raise PictureError(
            "its transparent colour is not 8-bit, which is not supported: save it with an alpha channel"
        )
    if isinstance(image, TiffImageFile) and _lacks_strips(image):
        raise PictureError("some of its pixels are missing: the file is incomplete, copy it again")
    if isinstance(image, TiffImageFile) and _is_misread_tiff(image):
        raise PictureError(
            "unsupported TIFF (12-bit, signed, white-is-zero, planar or compressed big-endian samples): "
            "save it as plain 8-bit colour or 16-bit grey"
        )


def _is_misread_png(image: PngImageFile) -> bool:
    # Pillow converts the pixels to 8 bits, but leaves the transparent value at the file's bit depth.
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
    # libtiff swaps the bytes, and then Pillow swaps them again.
    swapped = compressed and tags.prefix == b"MM" and (bits == 32 or signed)
    return bits == 12 or white_is_zero or planes or swapped


def open_picture(file: Opened, max_pixels: int) -> ImageFile.ImageFile:
    """Read the header, with the reader for the file's first bytes; called like `decode`."""
    head = file.read(30)
    file.seek(0)
    if not head:
        raise PictureError("the file is empty (0 bytes): copy it again")
    if re.match(_HEIC, head):
        return _open_heic(file)
    for signature, reader in _READERS:
        if re.match(signature, head):
            if reader is WebPImageFile:  # it allocates memory when it opens the file
                check_size(_webp_size(head), max_pixels)
            return _open_tiff(file) if reader is TiffImageFile else reader(file)
    raise PictureError(f"the content is not {FORMATS}: convert the file to one of these formats")


def _open_heic(file: Opened) -> ImageFile.ImageFile:
    """With pi-heif, which only decodes: the wheels of pillow-heif include x265, which is under the GPL."""
    from wherein.extras import require_package

    package = require_package("pi_heif", "a HEIC picture", "pip install 'wherein[heic]', or save it as JPEG")
    opened: ImageFile.ImageFile = package.HeifImageFile(file)
    return opened


def _webp_size(head: bytes) -> tuple[int, int]:
    """Return width and height from the first 30 bytes of a WebP file, for each of its three kinds."""
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        both = int.from_bytes(head[21:25], "little")
        return 1 + (both & 0x3FFF), 1 + (both >> 14 & 0x3FFF)
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def _open_tiff(file: Opened) -> TiffImageFile:
    with warnings.catch_warnings():
        # For a truncated directory Pillow only warns; tags such as the orientation may then be missing.
        warnings.filterwarnings("error", module=r"PIL\.")
        warnings.filterwarnings("ignore", message="Metadata Warning", module=r"PIL\.")
        return TiffImageFile(file)


def checked_and_loaded(image: ImageFile.ImageFile, file: Opened) -> ImageFile.ImageFile:
    """Decode the pixels of the first frame, with checks that Pillow leaves out; called like `decode`."""
    if isinstance(image, PngImageFile):
        image.verify()  # checks the checksums; the image cannot be used afterwards
        file.seek(0)
        image = PngImageFile(file)
    _allocate(image)
    image.load()
    return image


def _allocate(image: ImageFile.ImageFile) -> None:
    """Allocate the pixels of a TIFF that is not loaded: Pillow would check MAX_IMAGE_PIXELS first."""
    if isinstance(image, TiffImageFile) and image.tile:
        image.im = Image.new(image.mode, image._tile_size).im


def _lacks_strips(image: TiffImageFile) -> bool:
    """Return whether some rows are in no strip or tile: Pillow would leave them black."""
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
        return "file not found"
    if isinstance(error, OSError) and error.errno is not None:  # from the system; Pillow's own have no number
        return f"cannot open the file ({error.strerror}): check the path and the permissions"
    if isinstance(error, Image.DecompressionBombError):
        return f"{error} To load it, save it as PNG or TIFF, or raise PIL.Image.MAX_IMAGE_PIXELS"
    detail = brief(error)
    return (
        f"the picture is damaged, incomplete or of an unsupported kind ({detail}): "
        f"copy it again, or save it as PNG"
    )
