"""Parses HTML pages for tests, as a browser would."""

import base64
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HOSTILE = "<img src=x onerror=alert(1)>.png"
"""A valid file name that is also HTML."""

VOID = {"meta", "img", "input", "image", "line", "circle", "path", "use"}


class ParsedPage(HTMLParser):
    """A page: elements with their attributes, its text, and a check that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        packed = dict(attrs).get("data-packed")
        if packed is not None:  # as the script of the report unpacks it
            inner = fragment(zlib.decompress(base64.b64decode(packed)).decode())
            self.elements += inner.elements
            self.texts += inner.texts

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        """All text, with single spaces."""
        return " ".join(" ".join(self.texts).split())


def parsed(path: Path) -> ParsedPage:
    """A page on disk."""
    return fragment(path.read_text(encoding="utf-8"))


def fragment(markup: str) -> ParsedPage:
    """A page, or a part of one."""
    page = ParsedPage()
    page.feed(markup)
    page.close()
    assert not page.open, "every tag is closed"
    return page


def path_points(d: str) -> list[NDArray[np.float64]]:
    """The points of each line of an SVG path, as absolute coordinates: `M` is absolute, `l` relative."""
    made = []
    for line in re.findall(r"M([^M]*)", d):
        numbers = [float(word) for word in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", line)]
        made.append(np.cumsum(np.array(numbers).reshape(-1, 2), axis=0))
    return made
