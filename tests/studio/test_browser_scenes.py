"""Several scenes in a browser: which is shown, which wait, and the totals, on a desktop and on a phone."""

import io
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from studio_page import BODY, at_once, box, crane, png, served

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import CRANE, FILE, PHONE, Held, User, file, open_page
from wherein.studio.bounds import Bounds

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from wherein.detect import Calibration

NAMES = ("one.png", "two.png", "three.png")


def scenes() -> list[FILE]:
    """The crane, an empty scene, the crane."""
    empty = crane()
    empty[:] = 200
    return [file(name, png(pixels)) for name, pixels in zip(NAMES, (crane(), empty, crane()), strict=True)]


def one_part(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.page.keyboard.press("b")
    left, _, right, _ = box(*BODY)
    user.drag((left[0], left[1]), (right[0], right[1]))
    expect(user("#tree li")).to_have_count(1)
    user.checked()


@pytest.fixture(params=["desktop", "phone"])
def someone(request: pytest.FixtureRequest, browser: "Browser") -> Iterator[tuple[str, User]]:
    options = PHONE if request.param == "phone" else {}
    with served() as studio, open_page(browser, studio, **options) as made:
        yield request.param, made


def test_the_first_scene_is_shown_and_the_others_wait(someone: tuple[str, User]) -> None:
    size, user = someone
    one_part(user)
    searches = Held(user.page, "**/api/detections")
    user.load("scene", *scenes())
    expect(user(".scene")).to_have_count(3)
    names = user.state("s.scenes.map(({ id, name }) => [name, id === s.scene])")
    assert names == [["one.png", True], ["two.png", False], ["three.png", False]]
    expect(user("#scenes .count")).to_have_text(["searching", "waiting", "waiting"])
    expect(user("#totals")).to_have_text("3 scenes waiting")
    expect(user("#status")).to_have_text("Searching one.png…")
    user.shot(f"29-waiting-{size}")
    user.fits()
    # The scene that the user chooses is the next; the one that is being searched is not searched twice.
    user(".scene").nth(2).click()
    searches.release()
    expect(user("#scenes .count")).to_have_text(["1", "0", "1"])
    expect(user("#totals")).to_have_text("2 found in 2 of 3 scenes")
    expect(user("#status")).to_have_text("1 found in this scene; 2 found in 2 of 3 scenes.")
    expect(user("#results .head")).not_to_contain_text("parts")  # there is only one
    assert len([url for url in user.requests if url.endswith("/api/detections")]) == 3
    # On a phone the detections come before the settings; below them they would be out of sight.
    settings, detections = user("#search").bounding_box(), user("#results").bounding_box()
    assert settings and detections
    assert (detections["y"] < settings["y"]) == (size == "phone")
    user.shot(f"30-totals-{size}")
    user.fits()
    # Another threshold: all are searched again. Totals follow what is removed.
    user('#search [data-field="score"]').fill("0.99")
    user('#search [data-field="score"]').blur()
    user('#search [data-field="maximum"]').fill("3")
    user("#calibrated").click()
    expect(user("#totals")).to_have_text("2 found in 2 of 3 scenes")
    user.page.get_by_role("button", name="Remove one.png").click()
    expect(user("#totals")).to_have_text("1 found in 1 of 2 scenes")
    user.page.get_by_role("button", name="Remove two.png").click()
    expect(user("#totals")).to_be_hidden()


def test_a_new_scene_is_scrolled_into_view(phone: User) -> None:
    one_part(phone)
    phone.load("scene", *[file(f"{k}.png", png(crane())) for k in range(6)])
    expect(phone(".scene")).to_have_count(6)
    phone.load("scene", file("new.png", png(crane())))
    expect(phone('.scene[aria-pressed="true"] .name')).to_have_text("new.png")
    expect(phone('.scene[aria-pressed="true"]')).to_be_in_viewport(ratio=0.9)
    phone.shot("37-new-scene-phone")


def test_fingers_are_not_told_to_drop(someone: tuple[str, User]) -> None:
    size, user = someone
    one_part(user)
    user.page.keyboard.press("2")
    for words in ("#empty-detect", "#status"):
        expect(user(words)).to_be_visible()
        shown = user(words).inner_text()
        assert ("drop or paste" in shown) == (size == "desktop"), shown


def test_hints_are_for_the_fingers_or_for_the_mouse(someone: tuple[str, User]) -> None:
    size, user = someone
    one_part(user)
    do = "Tap" if size == "phone" else "Click"
    expect(user("#hint")).to_contain_text(f"{do} a part to select it.")
    user.load("scene", *scenes()[:2])
    point = "Tap" if size == "phone" else "Point at"
    expect(user("#hint")).to_have_text(f"{point} a detection to highlight its parts.")
    user.shot(f"42-hint-{size}")
    user(".scene").nth(1).click()
    expect(user("#totals")).to_have_text("1 found in 1 of 2 scenes")
    expect(user("#hint")).to_be_hidden()  # there is no detection


def test_no_shortcut_stands_without_its_heading(user: User) -> None:
    user("#help-open").click()
    sections = user("#keys section").evaluate_all(
        "all => all.map((one) => new Set([...one.children].map((e) => e.getBoundingClientRect().left)).size)"
    )
    assert sections == [1] * 6
    tops = user("#keys h3").evaluate_all(
        "all => all.map((one) => Math.round(one.getBoundingClientRect().top))"
    )
    assert tops.count(tops[0]) == 2, "the columns begin at the same height"
    user.shot("38-shortcuts")


def test_scenes_wait_for_their_upload(user: User) -> None:
    one_part(user)
    uploads = Held(user.page, "**/api/upload/scene*")
    user.load("scene", *scenes())
    expect(user(".upload .count")).to_have_text(["loading", "waiting", "waiting"])
    expect(user(".upload .name")).to_have_text(list(NAMES))
    expect(user("#empty-detect")).to_be_hidden()
    user.shot("31-uploads")
    uploads.release_one()
    expect(user(".scene")).to_have_count(1)
    expect(user(".upload .count")).to_have_text(["loading", "waiting"])
    expect(user("#totals")).to_contain_text("3 scenes")
    uploads.release()
    expect(user(".scene")).to_have_count(3)
    expect(user(".upload")).to_have_count(0)
    user.found(1)


def test_scenes_wait_for_the_calibration(browser: "Browser") -> None:
    done = threading.Event()

    def slow(*arguments: object) -> "Calibration":
        done.wait(60)
        return at_once(*arguments)  # type: ignore[arg-type]

    with served(slow) as studio, open_page(browser, studio) as user:
        one_part(user)
        user.load("scene", *scenes())
        expect(user("#calibration")).to_contain_text("Provisional")
        expect(user("#scenes .count").nth(1)).to_have_text("waiting")
        expect(user("#totals")).to_contain_text("of 3 scenes, 2 waiting")
        user("#scenes .scene").nth(1).click()
        expect(user("#status")).to_contain_text("This scene waits to be searched; ")
        expect(user("#status")).to_contain_text("2 waiting.")
        done.set()
        expect(user("#totals")).to_have_text("2 found in 2 of 3 scenes")


def film(count: int) -> FILE:
    """An animated GIF: an empty scene, then the crane."""
    frames = [Image.fromarray(pixels) for pixels in (np.full_like(crane(), 200), *(count - 1) * [crane()])]
    for k, frame in enumerate(frames):
        frame.putpixel((0, 0), (60 * k, 0, 0))  # equal frames would be merged
    content = io.BytesIO()
    frames[0].save(content, "gif", save_all=True, append_images=frames[1:])
    return file("film.gif", content.getvalue(), "image/gif")


def test_every_frame_of_an_animation_is_a_scene(someone: tuple[str, User]) -> None:
    size, user = someone
    one_part(user)
    user.load("scene", film(3))
    expect(user(".toast")).to_contain_text("film.gif has 3 frames. Each of them is a scene.")
    expect(user(".scene .name")).to_have_text(["film.gif: 0", "film.gif: 1", "film.gif: 2"])
    expect(user("#scenes .count")).to_have_text(["0", "1", "1"])
    expect(user("#totals")).to_have_text("2 found in 2 of 3 scenes")
    user.shot(f"39-frames-{size}")
    user.fits()


def test_frames_beyond_the_limit_are_not_left_out_silently(browser: "Browser") -> None:
    with served(bounds=Bounds(scenes=2)) as studio, open_page(browser, studio) as user:
        user.load("scene", film(4))
        expect(user(".toast.error")).to_contain_text("film.gif has 4 frames. Only the first 2 are added")
        expect(user(".scene")).to_have_count(2)


def test_of_a_picture_to_outline_the_first_frame_is_used(user: User) -> None:
    user.load("picture", film(3))
    expect(user(".toast")).to_contain_text("film.gif has 3 frames: this is the first one.")


def test_a_scene_that_cannot_be_read_does_not_stop_the_others(user: User) -> None:
    one_part(user)
    first, _, third = scenes()
    user.load("scene", file("broken.png", png(crane())[:300]), first, third)
    expect(user(".toast.error")).to_contain_text("broken.png")
    expect(user("#totals")).to_have_text("2 found in 2 of 2 scenes")
    assert user.state("s.scenes.find(({ id }) => id === s.scene).name") == "one.png"
