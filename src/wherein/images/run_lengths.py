"""Run lengths of masks in COCO's format: of zeros, ones, zeros, …, column by column."""

import numpy as np
from numpy.typing import NDArray

from wherein.errors import TemplateError

_FIRST_CHARACTER = ord("0")
_VALUE_BITS, _SIGN_BIT, _MORE_BIT, _SHIFT = 0x1F, 0x10, 0x20, 5
"""Compressed run lengths are numbers in base 32 as text, lowest digits first. Each character has five bits of
the number and a sixth bit that says whether more follow; bit four of the last character is the sign."""

_MAX_BITS = 64
"""Maximum size of a run length: no picture has more pixels. Without a limit, a long text takes quadratic
time."""


def encode_run_lengths(mask: NDArray[np.bool_]) -> str:
    """A mask (H, W) as compressed run lengths.

    >>> encode_run_lengths(np.array([[0, 1, 0], [1, 0, 0]], dtype=bool))
    '123'
    """
    values = mask.T.ravel()  # column by column
    changes = np.flatnonzero(np.diff(values, prepend=False))  # the first run is of zeros, and may be empty
    runs = np.diff(changes, prepend=0, append=values.size).tolist()
    # COCO stores differences to the last run of the same value, except for the first three runs.
    return "".join(_compressed(run - (runs[k - 2] if k > 2 else 0)) for k, run in enumerate(runs))


def _compressed(number: int) -> str:
    """A number in base 32, with as many digits as it needs to preserve its sign."""
    text = ""
    while True:
        bits = number & _VALUE_BITS
        number >>= _SHIFT
        more = number != (-1 if bits & _SIGN_BIT else 0)
        text += chr(bits + (_MORE_BIT if more else 0) + _FIRST_CHARACTER)
        if not more:
            return text


def decode_run_lengths(counts: str | list[int], width: int, height: int, what: str) -> NDArray[np.float32]:
    """The mask (H, W) from run lengths: the numbers of consecutive zeros, ones, zeros, …, column by column.

    Arguments:
        counts: the run lengths, or their compressed text.
        width, height: of the picture.
        what: the name of the object, for error messages.

    Raises:
        TemplateError: the run lengths do not fill the picture, or are damaged.

    >>> decode_run_lengths([1, 2, 3], 3, 2, "it")
    array([[0., 1., 0.],
           [1., 0., 0.]], dtype=float32)
    """
    lengths = _decompressed(counts, what) if isinstance(counts, str) else counts
    if min(lengths, default=0) < 0 or sum(lengths) != width * height:  # before they become 64-bit numbers
        raise TemplateError(
            f"{what} has a run-length mask of {_number(sum(lengths))} pixels instead of {width} × {height}: "
            "it is damaged, or belongs to another picture"
        )
    runs = np.array(lengths, dtype=np.int64)
    values = np.arange(len(runs)) % 2
    return np.repeat(values, runs).reshape(width, height).T.astype(np.float32)


def _number(value: int) -> str:
    return f"{value}" if abs(value) < 10**18 else "more than 10¹⁸"


def _decompressed(text: str, what: str) -> list[int]:
    """The run lengths in a text, where each from the fourth on is a difference to the one two before it."""
    runs: list[int] = []
    number, shift = 0, 0
    for character in text:
        bits = ord(character) - _FIRST_CHARACTER
        if not 0 <= bits < 2 * _MORE_BIT:
            raise TemplateError(
                f"{what} has the character {character!r} in its run-length mask, which COCO does not use"
            )
        number |= (bits & _VALUE_BITS) << shift
        shift += _SHIFT
        if shift > _MAX_BITS:
            raise TemplateError(f"{what} has a number of more than {_MAX_BITS} bits in its run-length mask")
        if bits & _MORE_BIT:
            continue
        if bits & _SIGN_BIT:
            number -= 1 << shift
        runs.append(number + (runs[-2] if len(runs) > 2 else 0))
        number, shift = 0, 0
    if shift:
        raise TemplateError(f"{what} has an incomplete run-length mask")
    return runs
