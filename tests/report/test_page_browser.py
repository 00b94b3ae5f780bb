"""A report on 200 scenes in a browser, in a window and on a phone: grid, filters, order, details."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no tests in a browser")

from playwright.sync_api import Page, expect

from detecting import detector, scene, toy
from report_scenes import kind, write_report
from wherein.report.page import page as report_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RESULTS = Path(__file__).resolve().parents[2] / "results" / "report"
"""Screenshots, and how long the first paint took."""

SCENES = 200
KINDS = [kind(number) for number in range(SCENES)]
WINDOW: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
SCREENS = pytest.mark.parametrize(("name", "screen"), [("window", WINDOW), ("phone", PHONE)])

_TOO_WIDE = """() => [...document.querySelectorAll("body, body *")]
  .filter((e) => e.checkVisibility() && !e.closest("svg, .shared, thead, legend"))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 ||
    e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`)"""
"""What reaches beyond the screen, or is wider than its box."""

_LETTER_BY_LETTER = """() => {
  const lines = (e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
  };
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.checkVisibility() && !e.closest("svg") && !e.children.length && e.textContent.trim())
    .filter((e) => e.textContent.trim().length / lines(e) < Math.min(4, e.textContent.trim().length))
    .map((e) => `${e.tagName} ${e.textContent}`);
}"""
"""Texts whose lines have fewer than four letters on average."""

_SHOWN = (
    """() => [...document.querySelectorAll(".card")].filter((e) => e.checkVisibility()).map((e) => e.id)"""
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("report") / "robots.html", SCENES)


@contextmanager
def opened(browser: "Browser", path: Path, screen: dict[str, Any], **options: Any) -> Iterator[Page]:
    """The report on a screen. At the end there were no errors, and no requests but for the page itself."""
    context = browser.new_context(color_scheme="light", **screen, **options)
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    made, errors, requests = context.new_page(), list[str](), list[str]()
    made.on("console", lambda message: errors.append(message.text))
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("request", lambda request: requests.append(request.url))
    try:
        made.goto(path.as_uri())
        yield made
        assert errors == []
        assert [url for url in requests if not url.startswith((path.as_uri(), "data:"))] == []
    finally:
        context.close()


def shot(page: Page, name: str) -> None:
    page.screenshot(path=RESULTS / f"{name}.png")


def fits(page: Page) -> None:
    """Nothing is wider than the screen or than its box, and no text is broken letter by letter."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    assert page.evaluate(_TOO_WIDE) == []
    assert page.evaluate(_LETTER_BY_LETTER) == []


def only(*kinds: str) -> list[str]:
    """The ids of the cards of some kinds, in the order of input."""
    return [f"s{number}" for number, one in enumerate(KINDS) if one in kinds]


def test_200_scenes_take_less_than_5_megabytes(report: Path) -> None:
    assert report.stat().st_size < 5_000_000


@SCREENS
def test_the_first_scene_is_on_the_first_screen(
    browser: "Browser", report: Path, name: str, screen: dict[str, Any]
) -> None:
    with opened(browser, report, screen) as page:
        expect(page.locator(".card")).to_have_count(SCENES)
        box = page.locator(".card").first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < screen["viewport"]["height"] * 0.6
        columns = page.evaluate(
            "getComputedStyle(document.querySelector('.grid')).gridTemplateColumns.split(' ')"
        )
        assert len(columns) == (5 if name == "window" else 2)
        fits(page)
        shot(page, f"1-grid-{name}")


@SCREENS
def test_the_first_paint_is_measured(
    browser: "Browser", report: Path, name: str, screen: dict[str, Any]
) -> None:
    """Not asserted: it depends on the machine and on what else runs there."""
    with opened(browser, report, screen) as page:
        # The browser reports a paint after the page has loaded, on a busy machine some time after.
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        paints = page.evaluate("performance.getEntriesByType('paint').map((e) => [e.name, e.startTime])")
    measured = {"scenes": SCENES, "bytes": report.stat().st_size, "milliseconds": dict(paints)}
    assert "first-contentful-paint" in measured["milliseconds"]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"paint-{name}.json").write_text(json.dumps(measured, indent=1))


@SCREENS
def test_filters_show_the_scenes_of_one_kind(
    browser: "Browser", report: Path, name: str, screen: dict[str, Any]
) -> None:
    with opened(browser, report, screen) as page:
        for label, one in (
            ("Found", "found"),
            ("Near miss", "near"),
            ("Nothing", "nothing"),
            ("Error", "error"),
        ):
            chip = page.locator("label.chip", has_text=label)
            expect(chip).to_have_text(f"{label} {KINDS.count(one)}")
            chip.click()
            assert page.evaluate(_SHOWN) == only(one)
        fits(page)
        page.locator("label.chip", has_text="Near miss").click()
        shot(page, f"2-near-misses-{name}")
        page.keyboard.press("ArrowLeft")  # as all radio buttons
        assert page.evaluate(_SHOWN) == only("found")
        page.locator("label.chip", has_text="All").click()
        assert len(page.evaluate(_SHOWN)) == SCENES


def test_near_misses_are_dashed_and_missing_parts_dotted(browser: "Browser", report: Path) -> None:
    style = "(e) => [getComputedStyle(e).strokeDasharray, getComputedStyle(e).display]"
    with opened(browser, report, WINDOW) as page:
        assert page.locator("#s3n1").evaluate(style) == ["4px, 3px", "inline"]
        assert page.locator("#s1 path.missing").evaluate(style) == ["2px, 4px", "inline"]
        assert page.locator("#s0d1p1").evaluate(style) == ["none", "inline"]
        page.locator("#s3 > summary").click()
        assert page.locator("#s3n1").evaluate(style) == ["7px, 5px", "inline"]
        page.locator("#s3").get_by_label("near misses").uncheck()
        assert page.locator("#s3n1").evaluate(style)[1] == "none"


def test_scenes_are_sorted_by_score_time_and_name(browser: "Browser", report: Path) -> None:
    with opened(browser, report, WINDOW) as page:
        choice = page.get_by_label("Sort by")
        for key, attribute in (("score", "score"), ("search time", "seconds")):
            choice.select_option(label=key)
            values = page.evaluate(
                f"[...document.querySelectorAll('.card')].map((e) => e.dataset.{attribute} ?? -1)"
            )
            assert values != sorted(values, key=float)
            assert [*map(float, values)] == sorted(map(float, values), reverse=True)
        kinds = page.evaluate("[...document.querySelectorAll('.card')].map((e) => e.className)")
        assert kinds[-1] == "card error"
        choice.select_option(label="name")
        names = page.locator(".name").all_text_contents()
        assert names == [f"photographs/scene {number}.jpg" for number in range(1, SCENES + 1)]
        choice.select_option(label="input order")
        assert page.evaluate(_SHOWN) == [f"s{number}" for number in range(SCENES)]


@SCREENS
def test_details_on_demand(browser: "Browser", report: Path, name: str, screen: dict[str, Any]) -> None:
    with opened(browser, report, screen) as page:
        assert page.locator(".detection:visible, .switches:visible").count() == 0
        page.locator("#s1 > summary").click()
        card = page.locator("#s1")
        for words in ("640 × 480 px · 1 found", "10 of 11 parts", "not found", "False alarms with at least"):
            expect(card).to_contain_text(words)
        picture = card.locator(".image").bounding_box()
        assert picture is not None
        assert picture["width"] > 0.85 * screen["viewport"]["width"]
        assert picture["y"] >= 0, "the opened card is scrolled to"
        fits(page)
        shot(page, f"3-details-{name}")
        # Plots are unpacked when they are opened, once.
        assert card.locator("figure").count() == 0
        for _ in range(3):
            card.locator(".convergence > summary").click()
        expect(card.locator("figure")).to_have_count(10)
        assert card.locator("figure .fit").first.evaluate("(e) => e.getTotalLength()") > 100
        fits(page)
        card.locator(".convergence").screenshot(path=RESULTS / f"4-convergence-{name}.png")
        # Opening another closes this one.
        page.locator("#s2 > summary").click()
        expect(page.locator("details.card[open]")).to_have_count(1)
        page.locator("#s2 > summary").click()
        expect(page.locator("details.card[open]")).to_have_count(0)


def test_layers_are_switched_in_the_card_that_is_open(browser: "Browser", report: Path) -> None:
    with opened(browser, report, WINDOW) as page:
        page.locator("#s1 > summary").click()
        card = page.locator("#s1")
        torso, group = (card.locator(".image path", has_text=f": {one},") for one in ("torso", "arm_left"))
        other, missing = page.locator("#s7 .image path", has_text="torso"), card.locator("path.missing")
        assert [torso.is_visible(), group.is_visible()] == [True, False]
        card.get_by_label("torso").uncheck()
        card.get_by_label("arm_left", exact=True).check()
        assert [torso.is_visible(), group.is_visible()] == [False, True]
        assert other.evaluate("(e) => getComputedStyle(e).display") == "inline"
        card.locator("a", has_text="torso").click()
        assert torso.is_visible(), "a part whose link was followed is shown"
        card.get_by_role("button", name="Reset").click()
        assert torso.is_visible() and missing.is_visible()
        card.get_by_label("found parts only").check()
        assert torso.is_visible() and not missing.is_visible()


def test_the_address_is_that_of_the_open_card(browser: "Browser", report: Path) -> None:
    link = report.as_uri()
    with opened(browser, report, WINDOW) as page:
        card = page.locator("details.card[open]")
        page.locator("#s1 > summary").click()
        expect(card).to_have_id("s1")
        page.wait_for_url(f"{link}#s1")
        page.locator("#s2 > summary").click()
        page.wait_for_url(f"{link}#s2")
        page.go_back()
        expect(card).to_have_id("s1")
        page.go_back()
        expect(card).to_have_count(0)
        assert page.url == link
        page.go_forward()
        expect(card).to_have_id("s1")
        page.locator("#s1 a", has_text="torso").click()  # a part of it
        page.wait_for_url(f"{link}#s1d1p*")
        expect(card).to_have_id("s1")
        page.locator("#s1 > summary").click()
        page.wait_for_url(link)
        page.wait_for_timeout(200)  # no address comes back by itself
        assert page.url == link
        page.goto(f"{link}#s3")
        expect(card).to_have_id("s3")
        page.goto("about:blank")
        page.goto(f"{link}#s3")
        expect(card).to_have_id("s3")
        expect(card).to_be_in_viewport()
        assert page.evaluate("history.length") < 12


def test_keys_go_from_card_to_card(browser: "Browser", report: Path) -> None:
    focused = "document.activeElement.closest('.card')?.id"
    with opened(browser, report, WINDOW) as page:
        page.locator("label.chip", has_text="Near miss").click()
        first, second, *_ = only("near")
        page.keyboard.press("Tab")  # the order
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == first
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.locator("details.card[open]")).to_have_id(second)
        page.keyboard.press("ArrowLeft")
        expect(page.locator("details.card[open]")).to_have_id(first)
        page.keyboard.press("ArrowLeft")  # there is none
        page.keyboard.press("Escape")
        expect(page.locator("details.card[open]")).to_have_count(0)
        assert page.evaluate(focused) == first


@SCREENS
def test_what_is_known_of_template_and_times_is_there(
    browser: "Browser", report: Path, name: str, screen: dict[str, Any]
) -> None:
    with opened(browser, report, screen) as page:
        page.locator(".about > summary").click()
        expect(page.get_by_role("heading", name="Scores and threshold")).to_be_visible()
        fits(page)
        shot(page, f"5-about-{name}")
        # A link leads to a scene that the filter hides.
        page.locator("label.chip", has_text="Error").click()
        link = page.locator(".times a").first
        page.locator(link.get_attribute("href") or "").evaluate("(e) => { e.open = false; }")
        link.click()
        expect(page.locator("details.card[open]")).to_be_in_viewport()
        assert page.get_by_label("All").is_checked()


@SCREENS
def test_without_scripts(browser: "Browser", report: Path, name: str, screen: dict[str, Any]) -> None:
    with opened(browser, report, screen, java_script_enabled=False) as page:
        expect(page.locator("#s0")).to_be_visible()
        expect(page.locator(".sort")).to_be_hidden()
        page.locator("label.chip", has_text="Near miss").click()
        expect(page.locator("#s0")).to_be_hidden()
        page.locator("#s3 > summary").click()
        expect(page.locator("#s3")).to_contain_text("Best candidate: score 0.420 (threshold 0.500)")
        shot(page, f"6-no-script-{name}")


def test_long_names_on_a_phone(browser: "Browser", tmp_path: Path) -> None:
    body, arm = "body_" + "of_the_very_long_kind_" * 4, "arm" * 30
    template = toy("toy" * 25, body, arm)
    finder = detector(template)
    names = [f"{'a_folder_with_a_name/' * 5}{k}{'x' * 80}<b>.jpg" for k in range(2)]
    with report_page(tmp_path / "a.html", template) as made:
        for one in names:
            made.add(one, finder(scene(template)), finder, maps=True)
        made.unreadable("b" * 90, f"no such file: {'c' * 90}")
    with opened(browser, tmp_path / "a.html", PHONE) as page:
        fits(page)
        page.locator("#s0 > summary").click()
        page.locator(".about > summary").click()
        page.locator("#s0 .convergence > summary").click()
        page.locator("#s0 .matrix > summary").click()
        expect(page.locator("#s0 figure")).to_have_count(2)
        fits(page)
        page.screenshot(path=RESULTS / "7-long-names-phone.png", full_page=True)


def test_the_only_scene_is_open(browser: "Browser", tmp_path: Path) -> None:
    finder = detector(toy())
    with report_page(tmp_path / "a.html", toy()) as made:
        made.add("a.png", finder(scene(toy())), finder)
    with opened(browser, tmp_path / "a.html", PHONE) as page:
        expect(page.locator("#s0 .detection")).to_be_visible()
        assert page.evaluate("scrollY") == 0
