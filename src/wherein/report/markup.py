"""Words, numbers and pictures as HTML."""

import base64
import html
import io
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

LARGEST = 1600
"""Pixels of the longer side of a picture in a page; what is larger is reduced."""

_SMALL = 480
"""The same for pictures with alpha, which take more room."""


def text(words: object) -> str:
    """Safe between tags and in quoted attributes, also where a file's name is no proper text."""
    proper = str(words).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return html.escape(proper)


def number(value: float, digits: int = 2) -> str:
    """With a proper minus sign, and never −0."""
    rounded = round(value, digits) + 0.0
    return f"{rounded:.{digits}f}".replace("-", "−")


def pair(at: Iterable[float]) -> str:
    """A place as (x, y)."""
    return "(" + ", ".join(number(value, 1) for value in at) + ")"


def matrix(values: NDArray[np.float64]) -> str:
    """Rows of numbers that can be copied into Python."""
    rows = ("[" + ", ".join(f"{value:.6g}" for value in row) + "]" for row in values)
    return "<pre>[" + ",\n ".join(rows) + "]</pre>"


def photograph(image: Image.Image) -> str:
    """A data URI of a picture, as a JPEG."""
    image = image.convert("RGB")
    image.thumbnail((LARGEST, LARGEST))
    return _uri(image, "jpeg", quality=85)


def cutout(image: Image.Image) -> str:
    """A data URI of a picture with alpha, as a PNG."""
    image = image.copy()
    image.thumbnail((_SMALL, _SMALL))
    return _uri(image, "png", optimize=True)


def _uri(image: Image.Image, kind: str, **options: int | bool) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
