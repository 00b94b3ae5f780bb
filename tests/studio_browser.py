"""A person in front of the studio: what they see, press and drop."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, Request, expect

from wherein.studio.server import Studio

SHOTS = Path(__file__).resolve().parents[1] / "results" / "studio"
FILE = dict[str, Any]


def file(name: str, content: bytes, kind: str = "image/png") -> FILE:
    return {"name": name, "mimeType": kind, "buffer": content}


_SEARCHES = 90_000
"""Milliseconds that a machine with much else to do may take for them."""

_SCREEN = """async ([x, y]) => {
  const { view } = await import("/canvas.js");
  const [sx, sy] = view.toScreen([x, y]);
  const box = document.querySelector("#canvas").getBoundingClientRect();
  return [box.left + sx, box.top + sy];
}"""

_COLOR = """async ([x, y]) => {
  const { view } = await import("/canvas.js");
  const [sx, sy] = view.toScreen([x, y]).map((v) => Math.round(v * devicePixelRatio));
  const context = document.querySelector("#canvas").getContext("2d");
  return [...context.getImageData(sx, sy, 1, 1).data].slice(0, 3);
}"""

_DROP = """([name, data, zone]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name, { type: "image/png" }));
  const send = (kind, target) =>
    target.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
  send("dragenter", document.body);
  send("drop", document.querySelector(zone));
}"""


class Person:
    """Uses a page.

    Attributes:
        page: the browser's.
        wrong: what the page complained about to itself; nothing, in a page that works.
        asked: the addresses that it asked.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        self.asked: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", self._asked)
        page.on("request", self._saw)

    def _asked(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # whether to leave what is not saved
            dialog.accept()
            return
        self.wrong.append(dialog.message)
        dialog.dismiss()

    def _heard(self, message: ConsoleMessage) -> None:
        # A refused request is told by the browser too; whether the page told the person is for the tests.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.wrong.append(message.text)

    def _saw(self, request: Request) -> None:
        self.asked.append(request.url)

    def __call__(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def shot(self, name: str) -> None:
        """A picture of what they see, kept."""
        self.page.wait_for_timeout(250)  # for what fades
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def state(self, expression: str) -> Any:
        """Something of what the page knows, `s`."""
        return self.page.evaluate(
            f"async () => {{ const s = (await import('/store.js')).getState(); return {expression}; }}"
        )

    def screen(self, x: float, y: float) -> tuple[float, float]:
        """Where a pixel of the picture is in the window."""
        return tuple(self.page.evaluate(_SCREEN, [x, y]))

    def color(self, x: float, y: float) -> tuple[int, ...]:
        """Red, green and blue that are painted there."""
        return tuple(self.page.evaluate(_COLOR, [x, y]))

    def click(self, x: float, y: float, **options: Any) -> None:
        self.page.mouse.click(*self.screen(x, y), **options)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*self.screen(*start))
        self.page.mouse.down()
        self.page.mouse.move(*self.screen((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
        self.page.mouse.move(*self.screen(*end))
        self.page.mouse.up()

    def outline(self, corners: list[list[float]]) -> None:
        """Click around, and on the first corner again."""
        for x, y in [*corners, corners[0]]:
            self.click(x, y)

    def load(self, what: str, *files: FILE) -> None:
        self(f"#file-{what}").set_input_files(list(files))

    def checked(self) -> None:
        """Wait until the template was checked."""
        expect(self("#findings-state")).to_have_text("")
        expect(self("#status")).to_contain_text("Ready")

    def found(self, count: int) -> None:
        """Wait until so many are found, and scores mean something."""
        expect(self("#calibration")).to_have_attribute("data-kind", "measured", timeout=_SEARCHES)
        expect(self("#results > li")).to_have_count(count, timeout=_SEARCHES)

    def drop(self, name: str, content: bytes, zone: str) -> None:
        """Drop a file on one of the two zones."""
        self.page.evaluate(_DROP, [name, base64.b64encode(content).decode(), zone])


@contextmanager
def person(browser: Browser, studio: Studio, **options: Any) -> Iterator[Person]:
    """Somebody who has opened the studio; in the end nothing was wrong, and nobody else was asked."""
    usual = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
    context = browser.new_context(**(usual | options))
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    someone = Person(context.new_page())
    try:
        someone.page.goto(studio.address)
        expect(someone("body.ready")).to_be_attached()
        yield someone
        own = studio.address.split("#")[0]
        assert someone.wrong == []
        assert [url for url in someone.asked if not url.startswith((own, f"blob:{own}"))] == []
    finally:
        context.close()
