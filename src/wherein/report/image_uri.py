"""Images as data URIs, so that the report is a single file."""

import base64
import io

from PIL import Image

_MAX_SIDE = 1600
"""Maximum longer side of a scene in the report, in pixels; larger scenes are reduced. A choice: twice the
width at which a 1200 px window shows them, so that they are sharp on screens with a pixel ratio of 2."""

_MIN_SIDE = 320
"""Minimum longer side of a reduced scene in pixels. A choice: the width of a thumbnail on such a screen."""

_HIGH, _LOW = 80, 40
"""WebP qualities, from 0 to 100, with enough room and with too little. Choices: the first can hardly be
distinguished from the scene. Below the second, blocks appear at edges, and a smaller picture is better."""

_GROWTH = 1.4
"""Exponent p of the size in bytes ∝ side^p, a lower bound: measured 1.4 to 1.9 from 320 px on, for four
photographs of scikit-image. With the lower bound, one reduction is usually enough."""

_MAX_CUTOUT_SIDE = 480
"""Maximum longer side of images with alpha. A choice: templates are shown small, and maps have no finer
detail."""


def picture_uri(image: Image.Image, room: int) -> str:
    """A data URI of an RGB image, with at most `room` characters if possible.

    First the quality is reduced, then the size, down to `_MIN_SIDE` pixels. The format is WebP, which needs
    about two thirds of the bytes of JPEG.
    """
    image = _reduced(image, _MAX_SIDE)
    uri, side = _webp_uri(image, _HIGH), max(image.size)
    if len(uri) > room:
        uri = _webp_uri(image, _LOW)
    while len(uri) > room and side > _MIN_SIDE:
        # Solves room / len = (new side / side)^p. At least one pixel less, so that the loop ends.
        side = max(_MIN_SIDE, min(side - 1, int(side * (room / len(uri)) ** (1 / _GROWTH))))
        uri = _webp_uri(_reduced(image, side), _LOW)
    return uri


def cutout_uri(image: Image.Image) -> str:
    """A data URI of an image with alpha."""
    return _webp_uri(_reduced(image, _MAX_CUTOUT_SIDE), _HIGH)


def _reduced(image: Image.Image, side: int) -> Image.Image:
    """The image, or a smaller copy whose longer side has `side` pixels."""
    if max(image.size) <= side:
        return image
    smaller = image.copy()  # `thumbnail` works in place
    smaller.thumbnail((side, side))
    return smaller


def _webp_uri(image: Image.Image, quality: int) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "webp", quality=quality)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
