"""Pages as a browser would see them."""

from html.parser import HTMLParser
from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)>.png"
"""What a file may be called."""

VOID = {"meta", "img", "input", "image", "polygon", "line", "circle", "rect", "polyline", "path"}
OPTIONAL = {"th", "td", "tr", "li", "p"}


class Seen(HTMLParser):
    """What a browser would make of a page: elements with their attributes, text, and whether tags match."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID | OPTIONAL:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID | OPTIONAL:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def parsed(path: Path) -> Seen:
    """A page."""
    return fragment(path.read_text(encoding="utf-8"))


def fragment(markup: str) -> Seen:
    """A piece of a page."""
    seen = Seen()
    seen.feed(markup)
    assert not seen.open, "every tag is closed"
    return seen


def said(seen: Seen) -> str:
    """All words, a blank between them."""
    return " ".join(" ".join(seen.words).split())
