"""Simulates a user of the studio in a browser: clicks, keys, files, screenshots."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, Request, Route, expect

from studio_page import ARM, BODY, box, crane, png
from wherein.studio.server import Studio

SHOTS = Path(__file__).resolve().parents[1] / "results" / "studio"
FILE = dict[str, Any]


def file(name: str, content: bytes, kind: str = "image/png") -> FILE:
    return {"name": name, "mimeType": kind, "buffer": content}


CRANE = file("crane.png", png(crane()))

PHONE = {
    "viewport": {"width": 390, "height": 800},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}


_SEARCH_TIME = 90_000
"""Maximum duration of a search on a busy machine, in milliseconds."""

_EXPECTED = (
    "Failed to load resource",  # a refused request; the tests check what the page shows of it
    "The Cross-Origin-Opener-Policy header has been ignored",  # at other addresses than 127.0.0.1
)
"""Messages that the browser logs as errors although nothing is wrong."""

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

_TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((e) => e.checkVisibility() && !e.closest("svg, option, #scenes")) // the strip of scenes scrolls
  .filter((e) => {
    const { left, right } = e.getBoundingClientRect();
    return left < -1 || right > innerWidth + 1;
  })
  .map((e) => `${e.tagName} ${e.id} ${e.className}`)"""

_DROP = """([name, data, zone]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name, { type: "image/png" }));
  const send = (kind, target) =>
    target.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
  send("dragenter", document.body);
  send("drop", document.querySelector(zone));
}"""


class User:
    """A user of the page.

    Attributes:
        page: of the browser.
        errors: messages on the page's console, uncaught exceptions and dialogs.
        requests: the URLs that the page requested.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def _dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # unsaved changes
            dialog.accept()
            return
        self.errors.append(dialog.message)
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(words in message.text for words in _EXPECTED):
            self.errors.append(message.text)

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    def __call__(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def shot(self, name: str) -> None:
        """Store a screenshot."""
        self.page.wait_for_timeout(250)  # until animations end
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def state(self, expression: str) -> Any:
        """The value of a JavaScript expression of the page's state `s`."""
        return self.page.evaluate(
            f"async () => {{ const s = (await import('/store.js')).getState(); return {expression}; }}"
        )

    def until(self, expression: str) -> None:
        """Wait until a JavaScript expression of the page's state `s` is true."""
        self.page.wait_for_function(
            f"async () => {{ const s = (await import('/store.js')).getState(); return {expression}; }}"
        )

    def screen(self, x: float, y: float) -> tuple[float, float]:
        """The position in the window of a pixel of the picture."""
        return tuple(self.page.evaluate(_SCREEN, [x, y]))

    def color(self, x: float, y: float) -> tuple[int, ...]:
        """Red, green and blue on the canvas at a pixel of the picture."""
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
        """Click each corner, and the first one again."""
        for x, y in [*corners, corners[0]]:
            self.click(x, y)

    def load(self, what: str, *files: FILE) -> None:
        self(f"#file-{what}").set_input_files(list(files))

    def checked(self) -> None:
        """Wait until the template was checked."""
        expect(self("#findings-state")).to_have_text("")
        expect(self("#status")).to_contain_text("Ready")

    def found(self, count: int) -> None:
        """Wait for a calibrated search with so many detections."""
        expect(self("#calibration")).to_have_attribute("data-kind", "measured", timeout=_SEARCH_TIME)
        expect(self("#results > li")).to_have_count(count, timeout=_SEARCH_TIME)

    def fits(self) -> None:
        """Check that nothing is wider than the window, which would grow on a phone to fit it."""
        assert self.page.viewport_size is not None
        widths = self.page.evaluate("() => [innerWidth, document.documentElement.scrollWidth]")
        assert widths == [self.page.viewport_size["width"]] * 2
        assert self.page.evaluate(_TOO_WIDE) == []

    def drop(self, name: str, content: bytes, zone: str) -> None:
        """Drop a file on one of the two zones."""
        self.page.evaluate(_DROP, [name, base64.b64encode(content).decode(), zone])


class Held:
    """Requests of a page that wait until they are released.

    Arguments:
        page: that sends them.
        pattern: of their URLs.
    """

    def __init__(self, page: Page, pattern: str) -> None:
        self._routes: list[Route] = []
        self._open = False
        page.route(pattern, self._request)

    def _request(self, route: Route) -> None:
        if self._open:
            route.continue_()
        else:
            self._routes.append(route)

    def release_one(self) -> None:
        self._routes.pop(0).continue_()

    def release(self) -> None:
        """Release all, and those to come."""
        self._open = True
        while self._routes:
            self.release_one()


@contextmanager
def open_page(browser: Browser, studio: Studio, **options: Any) -> Iterator[User]:
    """Open the studio; at the end, check that there were no errors and no requests to other servers."""
    defaults = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
    context = browser.new_context(**(defaults | options))
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    user = User(context.new_page())
    try:
        user.page.goto(studio.address)
        expect(user("body.ready")).to_be_attached()
        yield user
        own = studio.address.split("#")[0]
        assert user.errors == []
        assert [url for url in user.requests if not url.startswith((own, f"blob:{own}"))] == []
    finally:
        context.close()


def outlined(user: User) -> None:
    """Load the picture of the crane; outline its body and its arm."""
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.outline(box(*BODY))
    expect(user("#tree li")).to_have_count(1)
    user.page.keyboard.press("p")
    user.outline(box(*ARM))
    expect(user("#tree li")).to_have_count(2)


def downloaded(user: User, selector: str, folder: Path) -> Path:
    """Click, and save the file that the browser downloads."""
    with user.page.expect_download() as waiting:
        user(selector).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path
