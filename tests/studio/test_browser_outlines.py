"""The drawing tools of the studio in a browser: box, ellipse, snap, on a desktop and on a phone."""

import math
import sys

import numpy as np
import pytest

from detecting import photo
from studio_page import BODY, crane, png

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import CRANE, FILE, User, file

LEFT, TOP, RIGHT, BOTTOM = BODY[0] - 0.5, BODY[1] - 0.5, BODY[0] + BODY[2] - 0.5, BODY[1] + BODY[3] - 0.5


def loaded(user: User, picture: FILE = CRANE) -> None:
    user.load("picture", picture)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")


def bounds(points: list[list[float]]) -> tuple[float, ...]:
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def area(points: list[list[float]]) -> float:
    following = [*points[1:], points[0]]
    return abs(sum(a * d - c * b for (a, b), (c, d) in zip(points, following, strict=True))) / 2


def test_a_box_is_dragged(user: User) -> None:
    loaded(user)
    user.page.keyboard.press("b")
    expect(user("#hint")).to_contain_text("Drag from one corner")
    user.drag((RIGHT, BOTTOM), (LEFT, TOP))
    expect(user("#tree li")).to_have_count(1)
    points = user.state("s.draft.parts[0].points")
    assert len(points) == 4
    assert bounds(points) == pytest.approx((LEFT, TOP, RIGHT, BOTTOM), abs=0.5)
    user.checked()
    # A click is not a box, and says what to do.
    user.page.keyboard.press("b")
    user.click(100, 20)
    expect(user(".toast").last).to_contain_text("drag to the opposite corner")
    expect(user("#tree li")).to_have_count(1)
    user.page.keyboard.down("Shift")
    user.drag((90, 20), (130, 40))
    user.page.keyboard.up("Shift")
    left, top, right, bottom = bounds(user.state("s.draft.parts[1].points"))
    assert (right - left, bottom - top) == pytest.approx((40, 40), abs=0.5)


def test_an_ellipse_has_the_area_of_an_ellipse(user: User) -> None:
    loaded(user)
    user.page.keyboard.press("e")
    user.drag((LEFT, TOP), (RIGHT, BOTTOM - 20))
    points = user.state("s.draft.parts[0].points")
    assert 12 <= len(points) <= 40
    assert area(points) == pytest.approx(math.pi * 30 * 20, rel=0.02)
    user.checked()
    user.shot("20-ellipse")


def test_a_box_with_the_keyboard(user: User) -> None:
    loaded(user)
    keys = user.page.keyboard
    keys.press("b")
    keys.press("c")
    for key in ("ArrowLeft", "Space", *["ArrowRight"] * 6, *["ArrowDown"] * 5, "Enter"):
        keys.press(key)
    expect(user("#tree li")).to_have_count(1)
    left, top, right, bottom = bounds(user.state("s.draft.parts[0].points"))
    assert (right - left) / (bottom - top) == pytest.approx(6 / 5)
    # Escape removes a started box, then ends the tool.
    for key in ("b", "c", "ArrowLeft", "Space", "ArrowUp", "Escape"):
        keys.press(key)
    assert user.state("s.tool") == "box"
    keys.press("Escape")
    assert user.state("[s.tool, s.draft.parts.length]") == ["select", 1]


def test_an_ellipse_on_a_phone(phone: User) -> None:
    loaded(phone)
    phone('[data-tool="ellipse"]').tap()
    session = phone.page.context.new_cdp_session(phone.page)
    for kind, place in (("Start", (LEFT, TOP)), ("Move", (50, 70)), ("Move", (RIGHT, BOTTOM)), ("End", None)):
        x, y = phone.screen(*place) if place else (0, 0)
        points = [{"x": x, "y": y}] if place else []
        session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    expect(phone("#tree li")).to_have_count(1)
    assert bounds(phone.state("s.draft.parts[0].points")) == pytest.approx(
        (LEFT, TOP, RIGHT, BOTTOM), abs=1.5
    )
    phone.checked()
    phone.shot("21-phone-ellipse")


def disc() -> FILE:
    """A dark disc of radius 40 about (80, 60) on a photograph's background."""
    sheet = (photo("coffee", 161, 121, 0).movedim(0, -1).numpy() * 60 + 180).astype(np.uint8)
    ys, xs = np.indices(sheet.shape[:2])
    sheet[np.hypot(xs - 80, ys - 60) < 40] = (40, 60, 90)
    return file("disc.png", png(sheet))


def rim(degrees: float, radius: float = 40) -> tuple[float, float]:
    return 80 + radius * math.cos(math.radians(degrees)), 60 + radius * math.sin(math.radians(degrees))


def assert_disc(user: User) -> None:
    points = user.state("s.draft.parts[0].points")
    assert len(points) > 12
    assert area(points) == pytest.approx(math.pi * 40**2, rel=0.03)


def test_an_outline_snaps_to_the_edge(user: User) -> None:
    loaded(user, disc())
    user.page.keyboard.press("s")
    # Beside the edge: corners within reach move onto it.
    for degrees in (0, 90, 180):
        user.click(*rim(degrees, 41))
    user.page.mouse.move(*user.screen(*rim(270)))
    preview = "(await import('/tools/snap.js')).snapTool.preview.length"
    user.until(f"{preview} > 4")
    user.shot("22-snap")
    user.click(*rim(270, 39))
    user.click(*rim(0))
    expect(user("#tree li")).to_have_count(1)
    assert_disc(user)
    user.checked()
    user.shot("23-snapped")
    # Ctrl+Z removes corners first; Enter closes.
    user.page.keyboard.press("Control+z")
    user.page.keyboard.press("s")
    for degrees in (0, 90, 180, 225):
        user.click(*rim(degrees))
    user.page.keyboard.press("Control+z")
    user.click(*rim(270))
    user.page.keyboard.press("Enter")
    expect(user("#tree li")).to_have_count(1)
    assert_disc(user)


def test_an_outline_snaps_to_the_edge_on_a_phone(phone: User) -> None:
    loaded(phone, disc())
    phone('[data-tool="snap"]').tap()
    for degrees in (0, 90, 180, 270, 0):
        phone.page.touchscreen.tap(*phone.screen(*rim(degrees, 42 if degrees else 40)))
    expect(phone("#tree li")).to_have_count(1)
    assert_disc(phone)
    phone.checked()
    phone.shot("24-phone-snapped")


def test_without_opencv_the_lines_stay_straight(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    loaded(user, disc())
    user.page.keyboard.press("s")
    user.click(*rim(0))
    expect(user(".toast.error")).to_contain_text("pip install 'wherein[video]'")
    for degrees in (120, 240, 0):
        user.click(*rim(degrees))
    expect(user("#tree li")).to_have_count(1)
    assert user.state("s.draft.parts[0].points.length") == 3


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_alpha_is_the_first_outline(size: str, request: pytest.FixtureRequest) -> None:
    user: User = request.getfixturevalue("user" if size == "desktop" else "phone")
    ys, xs = np.indices((120, 161))
    alpha = np.where(np.hypot(xs - 80, ys - 60) < 40, 255, 0).astype(np.uint8)
    user.load("picture", file("cut out.png", png(np.dstack((crane(), alpha)))))
    expect(user("#tree li")).to_have_count(1)
    expect(user(".toast")).to_contain_text("transparent background")
    points = user.state("s.draft.parts[0].points")
    assert area(points) == pytest.approx(math.pi * 40**2, rel=0.02)
    assert user.state("[s.tool, s.selected, s.draft.parts[0].parent]") == ["select", 1, None]
    user.checked()
    user.shot(f"25-alpha-{size}")
    user("#undo").click()
    expect(user("#empty-template")).to_be_visible()
