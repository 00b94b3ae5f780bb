"""Words in the letters of Pillow's own font, so that any name can be read on a drawing."""

import re
import unicodedata

LETTERS = frozenset(map(chr, range(0x20, 0x7F))) | frozenset("©«°±´·»‘’“”…‹›⁄™")
"""What the font has (Aileron, in the cut that Pillow brings); for all else it draws an empty box."""

_SIGNS = {"×": "x", "−": "-", "–": "-", "—": "-", "→": "->", "≤": "<=", "≥": ">=", "ß": "ss"}
_LATIN = re.compile(r"LATIN (?P<size>SMALL|CAPITAL) (?:LETTER|LIGATURE) (?P<letter>[A-Z]{1,2})(?: WITH .*)?")
"""Names of letters that Unicode does not take apart, such as ø and æ."""


def legible(text: str) -> str:
    r"""The text as the font can write it: letters without accents, others by their number.

    Example:
        >>> print(legible("Öse, bras gauché, løft, 漢"))
        Ose, bras gauche, loft, \u6f22
    """
    return "".join(map(_written, unicodedata.normalize("NFKD", text)))


def _written(letter: str) -> str:
    if letter in LETTERS:
        return letter
    if letter in _SIGNS:
        return _SIGNS[letter]
    if unicodedata.combining(letter):
        return ""
    latin = _LATIN.fullmatch(unicodedata.name(letter, ""))
    if latin is None:
        return rf"\u{ord(letter):04x}"
    return latin["letter"].lower() if latin["size"] == "SMALL" else latin["letter"]
