"""The drawing tools of the studio in a browser: box, ellipse, on a desktop and on a phone."""

import math

import pytest

from studio_page import BODY

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import CRANE, User

LEFT, TOP, RIGHT, BOTTOM = BODY[0] - 0.5, BODY[1] - 0.5, BODY[0] + BODY[2] - 0.5, BODY[1] + BODY[3] - 0.5


def loaded(user: User) -> None:
    user.load("picture", CRANE)
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
