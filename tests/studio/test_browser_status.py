"""What the page tells in a browser: notifications that go away, a server that has gone, a second tab."""

from typing import TYPE_CHECKING

import pytest
import torch

from studio_page import BODY, box, crane, png, served

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import CRANE, PHONE, User, file, open_page, outlined
from wherein.images.motif import Motif
from wherein.studio.bounds import Bounds
from wherein.template import Template

if TYPE_CHECKING:
    from playwright.sync_api import Browser


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


GONE = "No connection to the studio. Check that it is still running in the terminal."


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_status_bar_knows_when_the_server_has_gone(browser: "Browser", size: str) -> None:
    with served() as studio:
        port = studio.socket.getsockname()[1]
        context = browser.new_context(**(PHONE if size == "phone" else {}))
        user = User(context.new_page())
        user.page.goto(studio.address)
        expect(user("body.ready")).to_be_attached()
        user.load("picture", CRANE)
        expect(user("#status")).to_have_text("Outline the object, or its largest part.")
    expect(user("#status")).to_have_text(GONE)  # without doing anything
    expect(user("body.disconnected")).to_be_attached()
    user.shot(f"32-disconnected-{size}")
    user.fits()
    # Another studio on the same port is another session.
    with served(port=port):
        expect(user("#status")).to_contain_text("started again. Open the address that it printed.")
    context.close()


def test_after_an_interruption_everything_goes_on(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.page.context.set_offline(True)
    user.page.keyboard.press("b")
    user.drag((19.5, 39.5), (79.5, 99.5))
    expect(user("#status")).to_have_text(GONE)
    user.page.context.set_offline(False)
    user.checked()
    user.load("scene", file("crane.png", png(crane())))
    user.found(1)
    user.page.context.set_offline(True)
    user('#search [data-field="score"]').fill("0.6")
    expect(user("#status")).to_have_text(GONE)
    user.page.context.set_offline(False)
    expect(user("#scenes .count")).to_have_text("1")
    user.found(1)


def test_the_same_address_in_a_second_tab(user: User) -> None:
    """The address in the tab has no token: it is taken from the first tab, as is the draft."""
    outlined(user)
    user.checked()
    user.page.wait_for_timeout(400)  # until the draft is stored
    assert "#" not in user.page.url
    second = User(user.page.context.new_page())
    second.page.goto(user.page.url)
    expect(second("#tree li")).to_have_count(2)
    expect(second("#object-name")).to_have_value("crane")
    second.checked()
    # From then on each has its own draft, also after a reload.
    second("#tree li").nth(1).click()
    second("#delete-part").click()
    expect(second("#tree li")).to_have_count(1)
    second.page.wait_for_timeout(400)
    user.page.reload()
    expect(user("#tree li")).to_have_count(2)
    second.page.reload()
    expect(second("#tree li")).to_have_count(1)
    assert second.errors == []


def test_another_browser_gets_a_copy_of_the_template(browser: "Browser") -> None:
    with served() as studio, open_page(browser, studio) as user:
        outlined(user)
        user.checked()
        user.load("scene", file("crane.png", png(crane())))
        user.found(1)
        user('#search [data-field="degrees"]').fill("90")
        user.until("[...s.results.values()][0]?.data && s.settings.rotation === 90")
        user.found(1)
        with open_page(browser, studio, **PHONE) as phone:
            expect(phone(".toast")).to_contain_text("a copy of the template that another browser has made")
            expect(phone("#tree li")).to_have_count(2)
            expect(phone("#object-name")).to_have_value("crane")
            phone.checked()
            phone.shot("40-copy-phone")
            phone("#tab-detect").click()
            phone.found(1)  # with the same settings: nothing is calibrated again
            assert phone.state("s.settings.rotation") == 90
            phone.shot("41-copy-detect-phone")
            phone.fits()
            # It is a copy: neither browser changes the work of the other, also after a reload.
            phone("#tab-template").click()
            phone("#tree li").nth(1).click()
            phone("#delete-part").click()
            expect(phone("#tree li")).to_have_count(1)
            phone.page.wait_for_timeout(400)
            user.page.reload()
            expect(user("#tree li")).to_have_count(2)
            phone.page.reload()
            expect(phone("#tree li")).to_have_count(1)


def test_another_browser_gets_the_changed_template_and_not_the_first(browser: "Browser") -> None:
    first = Template.rigid("card", Motif.whole(torch.rand(3, 30, 40)))
    with served(template=first) as studio, open_page(browser, studio) as user:
        user("#object-name").fill("ticket")
        user.page.keyboard.press("Enter")
        user.checked()
        with open_page(browser, studio) as other:
            expect(other("#object-name")).to_have_value("ticket")
            other.checked()


def test_a_template_that_other_browsers_have_displaced_is_made_again(browser: "Browser") -> None:
    """The server keeps the newest templates only, whichever browser made them."""
    with served(bounds=Bounds(templates=1)) as studio, open_page(browser, studio) as user:
        outlined(user)
        user.checked()
        with open_page(browser, studio) as other:
            other.checked()
            user.load("scene", file("crane.png", png(crane())))
            user.found(1)
            expect(user("#scenes .count")).to_have_text("1")
        assert user(".toast.error").count() == 0


def test_a_tab_of_an_earlier_session(browser: "Browser") -> None:
    """Its draft refers to pictures that the new session does not have: it is not restored."""
    with served() as studio, open_page(browser, studio) as user:
        port = studio.socket.getsockname()[1]
        outlined(user)
        user.page.wait_for_timeout(400)
        studio.server.should_exit = True
        expect(user("body.disconnected")).to_be_attached()
        with served(port=port) as later:
            other = User(user.page.context.new_page())
            other.page.goto(later.address)
            expect(other("#empty-template")).to_be_visible()
            assert other.errors == []


def test_a_phone_in_the_network(browser: "Browser", network: str) -> None:
    """The page needs nothing that browsers allow on the computer itself only."""
    with served(host=network) as studio, open_page(browser, studio, **PHONE) as user:
        assert user.page.url == f"http://{network}:{studio.socket.getsockname()[1]}/"
        user.load("picture", CRANE)
        expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
        corners = box(*BODY)
        for x, y in [*corners, corners[0]]:
            user.page.touchscreen.tap(*user.screen(x, y))
        user.checked()
        user.load("scene", file("crane.png", png(crane())))
        user.found(1)
        user.shot("33-phone-in-the-network")
        user.fits()
