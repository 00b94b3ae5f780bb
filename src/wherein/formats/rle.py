"""COCO's run lengths ↔ masks: how many zeros, ones, zeros, … there are, column by column."""

import numpy as np
from numpy.typing import NDArray

from wherein.errors import TemplateError

_FIRST = ord("0")
_DIGIT, _NEGATIVE, _MORE, _BITS = 0x1F, 0x10, 0x20, 5
"""A character of the compressed form holds five bits of a number, the lowest first, and whether there are
more; the last of them tells the sign."""


def decoded(counts: str | list[int], width: int, height: int, whose: str) -> NDArray[np.float32]:
    """The mask (H, W), of run lengths or of the text that they are compressed to.

    Raises:
        TemplateError: they do not fill the picture, or are no run lengths.

    >>> decoded([1, 2, 3], 3, 2, "it")
    array([[0., 1., 0.],
           [1., 0., 0.]], dtype=float32)
    """
    runs = np.array(_decompressed(counts, whose) if isinstance(counts, str) else counts, dtype=np.int64)
    if (runs < 0).any() or runs.sum() != width * height:
        raise TemplateError(
            f"{whose} has run lengths that sum up to {runs.sum()} pixels, not to {width} × {height}: "
            "they are damaged, or of another picture"
        )
    values = np.arange(len(runs)) % 2
    return np.repeat(values, runs).reshape(width, height).T.astype(np.float32)


def _decompressed(text: str, whose: str) -> list[int]:
    """Numbers, each from the third on as the difference to the one before the last."""
    runs: list[int] = []
    number, shift = 0, 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE:
            raise TemplateError(
                f"{whose} has run lengths with {character!r}: this is not COCO's compressed form"
            )
        number |= (bits & _DIGIT) << shift
        shift += _BITS
        if bits & _MORE:
            continue
        if bits & _NEGATIVE:
            number -= 1 << shift
        runs.append(number + (runs[-2] if len(runs) > 2 else 0))
        number, shift = 0, 0
    if shift:
        raise TemplateError(f"{whose} has compressed run lengths that end in the middle of a number")
    return runs
