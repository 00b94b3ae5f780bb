"""Nothing is wider than a phone, in every state of the page."""

from typing import TYPE_CHECKING

import pytest

from studio_page import ARM, BODY, box, crane, png, served

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import PHONE, file, open_page
from wherein.studio.session import SaveTarget

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

LONG = "a_name_that_is_much_longer_than_a_phone_is_wide_and_has_no_space_in_it"


@pytest.mark.parametrize("width", [320, 360, 430])
def test_every_state_fits(browser: "Browser", width: int, tmp_path: "Path") -> None:
    options = PHONE | {"viewport": {"width": width, "height": 740}}
    target = SaveTarget(tmp_path / LONG)
    with served(target=target) as studio, open_page(browser, studio, **options) as user:
        user.fits()
        user.load("picture", file(f"{LONG}.png", png(crane())))
        expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
        user.fits()
        for corners in (box(*BODY), box(*ARM)):
            user('[data-tool="outline"]').tap()
            for x, y in [*corners, corners[0]]:
                user.page.touchscreen.tap(*user.screen(x, y))
        assert user.state("s.draft.parts.map(({ points }) => points.length)") == [4, 4]
        user('#part [data-field="name"]').fill(LONG)
        user("#part-reading summary").tap()
        user("#add-reading").tap()
        user.checked()
        user.fits()
        user.shot(f"34-part-{width}")
        user("#save").tap()
        expect(user(".toast").last).to_contain_text("Saved to")
        user.fits()
        user("#help-open").tap()
        user.fits()
        user.page.keyboard.press("Escape")
        user.load("scene", *[file(f"{LONG}-{k}.png", png(crane())) for k in range(3)])
        user.found(1)
        expect(user("#totals")).to_have_text("3 found in 3 of 3 scenes")
        user("#search-more summary").tap()
        user.fits()
        user.shot(f"35-found-{width}")
        user("#results").scroll_into_view_if_needed()
        user.shot(f"36-results-{width}")
        user.load("scene", file(f"{LONG}.png", png(crane())[:300]))
        expect(user(".toast.error")).to_be_visible()
        user.fits()
