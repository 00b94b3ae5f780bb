"""What the page tells in a browser: notifications that go away, a server that has gone, a second tab."""

from typing import TYPE_CHECKING

import pytest

from studio_page import BODY, box

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import CRANE, User, file, outlined

if TYPE_CHECKING:
    pass


def test_notifications_go_away(user: User) -> None:
    user.page.clock.install()
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.load("template", file("a.zip", b"PK", "application/zip"))
    expect(user(".toast.error")).to_have_count(1)
    user.outline(box(*BODY))
    expect(user(".toast.note")).to_have_count(1)
    user.page.clock.run_for(5_500)
    expect(user(".toast.note")).to_have_count(0)
    expect(user(".toast.error")).to_have_count(1)
    user.page.clock.run_for(10_000)
    expect(user(".toast")).to_have_count(0)


def test_notes_go_away_with_what_they_are_about(user: User) -> None:
    outlined(user)
    expect(user(".toast.note")).to_contain_text("Part added")
    user.page.keyboard.press("2")
    expect(user(".toast")).to_have_count(0)
    user.page.keyboard.press("1")
    # Undo in the notification must not undo another step.
    user("#delete-part").click()
    expect(user(".toast.note")).to_contain_text("Undo")
    user("#object-name").fill("lifter")
    user.page.keyboard.press("Enter")
    expect(user(".toast")).to_have_count(0)
