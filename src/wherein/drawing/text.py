"""Transliteration of text to the letters of Pillow's built-in font, so that every name is legible."""

import re
import unicodedata

from PIL import ImageFont

Font = ImageFont.ImageFont | ImageFont.FreeTypeFont

LETTERS = frozenset(map(chr, range(0x20, 0x7F))) | frozenset("©«°±´·»‘’“”…‹›⁄™")
"""The letters of the font (the subset of Aileron in Pillow). It draws an empty box for every other letter."""

_REPLACEMENTS = {"×": "x", "−": "-", "–": "-", "—": "-", "→": "->", "≤": "<=", "≥": ">=", "ß": "ss"}
_LATIN = re.compile(r"LATIN (?P<size>SMALL|CAPITAL) (?:LETTER|LIGATURE) (?P<letter>[A-Z]{1,2})(?: WITH .*)?")
"""Unicode names of letters that NFKD does not decompose, such as ø and æ."""


def legible(text: str) -> str:
    r"""The text in letters of the font: without accents, and with escapes (\u…) for other letters.

    Example:
        >>> print(legible("Öse, bras gauché, løft, 漢"))
        Ose, bras gauche, loft, \u6f22
    """
    return "".join(map(_replaced, unicodedata.normalize("NFKD", text)))


def _replaced(letter: str) -> str:
    if letter in LETTERS:
        return letter
    if letter in _REPLACEMENTS:
        return _REPLACEMENTS[letter]
    if unicodedata.combining(letter):
        return ""
    latin = _LATIN.fullmatch(unicodedata.name(letter, ""))
    if latin is None:
        return rf"\u{ord(letter):04x}"
    return latin["letter"].lower() if latin["size"] == "SMALL" else latin["letter"]
