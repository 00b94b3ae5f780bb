"""Images as data URIs, so that the report is one file."""

import base64
import io

from PIL import Image

_MAX_SIDE = 1600
"""Pixels of the longer side of a scene in the report; larger ones are reduced. A choice: twice the width at
which a 1200 px window shows them, so they stay sharp on screens with two pixels a point."""

_MIN_SIDE = 320
"""A scene is reduced no further, whatever its bytes. A choice: the width of a thumbnail on such a screen."""

_HIGH, _LOW = 80, 40
"""Quality of WebP, from 0 to 100, where there is room and where there is not. A choice: the first is hardly
to be told from the scene. Below the second, blocks show beside edges, and a smaller picture is better."""

_GROWTH = 1.4
"""Bytes grow at least with this power of the side: 1.4 to 1.9 from 320 px on, in four photographs of
scikit-image. So one step is mostly enough."""

_MAX_CUTOUT_SIDE = 480
"""The longer side of images with alpha. A choice: templates are shown small, and maps have no more detail."""


def picture_uri(image: Image.Image, room: int) -> str:
    """A data URI of an RGB image that takes at most `room` characters where that can be had.

    Quality is given up before size, and size down to `_MIN_SIDE` pixels. WebP needs about two thirds of the
    bytes of JPEG.
    """
    image = _reduced(image, _MAX_SIDE)
    uri, side = _webp_uri(image, _HIGH), max(image.size)
    if len(uri) > room:
        uri = _webp_uri(image, _LOW)
    while len(uri) > room and side > _MIN_SIDE:
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
