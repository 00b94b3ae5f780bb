"""HTML pages as a browser would parse them."""

from html.parser import HTMLParser
from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)>.png"
"""What a file may be called."""

VOID = {"meta", "img", "input", "image", "polygon", "line", "circle", "rect", "polyline", "path"}


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
