"""A person's whole way through the studio, in a browser: a picture, outlines, a template, and it is found."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio_page import ARM, BODY, box, crane, png, served

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the studio was not tried in a browser"
)

from playwright.sync_api import expect

from detecting import photo
from studio_browser import Person, file, person
from wherein.studio.saving import Target
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CRANE = file("crane.png", png(crane()))
EVIL = "<img src=x onerror=alert(1)>.png"


@pytest.fixture
def someone(browser: "Browser") -> Iterator[Person]:
    with served() as studio, person(browser, studio) as made:
        yield made


def scene_with(template: Template, part: str, seed: int = 0) -> bytes:
    """Turned by 30°, its arm by −20°, in a photograph."""
    where = matrices(template.parts, placed(30.0, 1.0, (150.0, 110.0), template.centre), {part: -20.0})
    pixels = render(photo("coffee", 301, 223, seed), template, where)
    return png((pixels.movedim(0, -1).clamp(0, 1) * 255).round().byte().numpy())


def outlined(someone: Person) -> None:
    """The crane: its picture, its body, and an arm on it."""
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    someone.outline(box(*BODY))
    expect(someone("#tree li")).to_have_count(1)
    someone.page.keyboard.press("p")
    someone.outline(box(*ARM))
    expect(someone("#tree li")).to_have_count(2)


def downloaded(someone: Person, selector: str, folder: Path) -> Path:
    with someone.page.expect_download() as waiting:
        someone(selector).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_the_whole_way(someone: Person, tmp_path: Path) -> None:
    expect(someone("#empty-template")).to_be_visible()
    someone.shot("1-empty")
    outlined(someone)
    # What was guessed: it hangs on the body, about where they meet, above it.
    part = "s.draft.parts[1]"
    assert someone.state(f"[{part}.parent, {part}.static, s.draft.order]") == [1, False, [1, 2]]
    x, y = someone.state(f"{part}.pivot")
    assert BODY[0] < x < ARM[0] + ARM[2] / 2
    # A name, by the tree; the joint, by dragging; how far it turns, by a number and by the fan.
    someone("#tree li").nth(1).dblclick()
    someone("#tree input").fill("arm")
    someone.page.keyboard.press("Enter")
    expect(someone("#tree li").nth(1)).to_contain_text("arm")
    someone.drag((x, y), (75, 61))
    assert someone.state(f"{part}.pivot") == pytest.approx([75, 61], abs=0.5)
    someone('#part [data-field="degrees"]').fill("45")
    expect(someone("#tree li").nth(1)).to_contain_text("±45°")
    someone.checked()
    someone.shot("2-outlined")
    someone("#swing").click()
    someone.page.wait_for_timeout(400)
    assert abs(someone.state("s.pose[2]")) > 5
    someone.shot("3-swing")
    expect(someone("#findings li, #findings-fine:visible").first).to_be_visible()
    # Saved.
    path = downloaded(someone, "#save", tmp_path)
    template = Template.load(path)
    assert (path.name, template.name, list(template.parts)) == (
        "crane.zip",
        "crane",
        ["crane", "body", "arm"],
    )
    assert template.parts["arm"].turn == 45
    assert template.parts["arm"].joint == pytest.approx((75 - BODY[0], 61 - BODY[1]), abs=0.5)
    # Found.
    someone("#tab-find").click()
    expect(someone("#empty-find")).to_be_visible()
    someone.shot("4-no-scenes")
    someone.load("scene", file("cup.png", scene_with(template, "arm")))
    someone.found(1)
    expect(someone("#results .head")).to_contain_text("2 of 2 parts")
    someone.shot("5-found")
    item = someone.state("s.results.get(s.scene).data.detections[0]")
    assert item["angle"] == pytest.approx(30, abs=0.5)
    for number, name in enumerate(("body", "arm"), 1):
        assert_drawn(someone, item["parts"][name]["polygon"], number)


def assert_drawn(someone: Person, polygon: list[list[float]], number: int) -> None:
    """The colour of the part is on the middles of its outline's edges."""
    wanted = someone.page.evaluate(
        "async (id) => { const c = document.createElement('canvas').getContext('2d');"
        " c.fillStyle = (await import('/draft.js')).colorOf(id); c.fillRect(0, 0, 1, 1);"
        " return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); }",
        number,
    )
    middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(polygon)]
    seen = [someone.color(*place) for place in middles]
    near = [all(abs(a - b) < 60 for a, b in zip(one, wanted, strict=True)) for one in seen]
    assert sum(near) >= len(near) / 2, (wanted, seen)


def test_turning_knobs_is_seen_at_once_and_taken_home(someone: Person, tmp_path: Path) -> None:
    outlined(someone)
    someone.checked()
    template = Template.load(downloaded(someone, "#save", tmp_path))
    someone.page.keyboard.press("2")
    someone.load(
        "scene", file("one.png", scene_with(template, "part")), file(EVIL, scene_with(template, "part", 1))
    )
    expect(someone(".scene .count.some")).to_have_count(2)
    someone(".scene").first.click()
    someone.found(1)
    someone('#search [data-field="score"]').fill("0.99")
    expect(someone("#nothing")).to_be_visible()
    expect(someone("#nearly")).to_contain_text("What came nearest has score")
    expect(someone("#results-summary")).to_contain_text("Nothing found in 301 × 223 px")
    someone("#calibrated").click()
    someone.found(1)
    expect(someone("#nearly")).to_be_hidden()
    someone('#search [data-field="degrees"]').fill("5")
    expect(someone("#nothing")).to_be_visible()
    someone('#search [data-field="rotation"]').evaluate(
        "(e) => { e.value = 60; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    someone.found(1)
    someone('#scales [data-scale="0.8 1.25"]').click()
    expect(someone('#search [data-field="high"]')).to_have_value("1.25")
    someone.found(1)
    # The name of a file is text, wherever it stands.
    someone(".scene").nth(1).click()
    expect(someone(".scene .name").nth(1)).to_have_text(EVIL)
    assert someone('img[src="x"]').count() == 0
    someone.shot("6-knobs")
    lines = downloaded(someone, '[data-export="json"]', tmp_path).read_text().splitlines()
    assert [json.loads(line)["scene"] for line in lines] == ["one.png", EVIL]
    coco = json.loads(downloaded(someone, '[data-export="coco"]', tmp_path).read_text())
    assert {category["name"] for category in coco["categories"]} == {"crane", "body", "part"}
    report = downloaded(someone, '[data-export="report"]', tmp_path)
    someone.page.context.new_page().goto(report.as_uri())
    assert (report.name, EVIL in report.read_text()) == ("crane.html", False)


def test_a_file_whose_name_is_markup(someone: Person) -> None:
    someone.load("picture", file(EVIL, png(crane())))
    expect(someone("#object-name")).to_have_value(EVIL.removesuffix(".png"))
    someone.outline(box(*BODY))
    someone("#tree li").dblclick()
    someone("#tree input").fill(EVIL)
    someone.page.keyboard.press("Enter")
    expect(someone("#tree .name")).to_have_text(EVIL)
    expect(someone("#part-title")).to_have_text(EVIL)
    someone.checked()
    someone.load("scene", file(EVIL, png(crane())))
    someone.found(1)
    expect(someone(".found-parts .name")).to_have_text(EVIL)
    assert someone('img[src="x"], body script, iframe').count() == 0


def test_steps_are_undone_and_done_again(someone: Person) -> None:
    outlined(someone)
    keys = someone.page.keyboard
    before = someone.state("s.draft.parts[1].points[2]")
    someone.drag((before[0], before[1]), (150, 90))
    moved = someone.state("s.draft.parts[1].points[2]")
    assert moved == pytest.approx([150, 90], abs=0.5)
    keys.press("Control+z")
    assert someone.state("s.draft.parts[1].points[2]") == before
    keys.press("Control+z")
    expect(someone("#tree li")).to_have_count(1)
    keys.press("Control+z")
    keys.press("Control+z")
    expect(someone("#empty-template")).to_be_visible()
    expect(someone("#undo")).to_be_disabled()
    for _ in range(4):
        keys.press("Control+Shift+z")
    assert someone.state("s.draft.parts[1].points[2]") == moved
    expect(someone("#redo")).to_be_disabled()


def test_corners_are_added_and_removed(someone: Person) -> None:
    outlined(someone)
    count = "s.draft.parts[1].points.length"
    right, middle = ARM[0] + ARM[2] - 0.5, ARM[1] + ARM[3] / 2 - 0.5
    someone.drag((right, middle), (150, middle))  # the + in the middle of the edge
    assert someone.state(count) == 5
    someone.click(150, middle, button="right")
    expect(someone('[role="menu"]')).to_be_visible()
    someone.page.get_by_role("menuitem", name="Remove this corner").click()
    assert someone.state(count) == 4
    someone.page.mouse.dblclick(*someone.screen(ARM[0] + 20, ARM[1] - 0.5))
    assert someone.state(count) == 5
    someone.drag((30, 90), (10, 20))  # nothing to take hold of: the picture moves
    assert someone.state(count) == 5


def test_undoing_while_an_outline_is_drawn_takes_back_its_corners(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    corners = box(*BODY)
    for x, y in [*corners[:3], (150, 10)]:
        someone.click(x, y)
    someone.page.keyboard.press("Control+z")
    assert someone.state("s.draft.picture.name") == "crane.png"
    # Moving the picture in between takes nothing away.
    someone.page.keyboard.press("h")
    someone.drag((100, 60), (110, 65))
    someone.page.keyboard.press("p")
    someone.click(*corners[3])
    someone.click(*corners[0])
    points = someone.state("s.draft.parts[0].points")
    assert [place for corner in points for place in corner] == pytest.approx(
        [place for corner in corners for place in corner], abs=0.5
    )
    # With no corner left it is the steps that are undone.
    for _ in range(2):
        someone.page.keyboard.press("Control+z")
    expect(someone("#empty-template")).to_be_visible()


def test_corners_belong_to_the_picture_that_they_were_set_on(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone("#object-name")).to_have_value("crane")
    someone.click(10, 10)
    someone.click(150, 10)
    someone.load("picture", file("other.png", png(crane())))
    expect(someone("#object-name")).to_have_value("other")
    someone.outline(box(*BODY))
    assert someone.state("s.draft.parts[0].points.length") == 4


def test_quick_clicks_near_each_other_are_corners(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    for x, y in box(*BODY):
        someone.click(x, y)
    # To a browser the second of these is a double click; nothing is closed by it.
    mouse, (x, y) = someone.page.mouse, someone.screen(40, 110)
    mouse.click(x, y)
    mouse.move(x + 10, y)
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    assert someone.state("s.draft.parts.length") == 0
    mouse.dblclick(x + 30, y)
    assert someone.state("s.draft.parts[0].points.length") == 7


def test_an_outline_that_crosses_itself_is_told(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    one, two, three, four = box(*BODY)
    someone.outline([one, three, two, four])
    expect(someone(".toast").last).to_contain_text("crosses itself")
    expect(someone("#tree li")).to_have_count(0)
    someone.page.keyboard.press("p")
    someone.outline([one, three, [140, 45], four])
    someone.checked()
    expect(someone(".finding.warning").first).to_contain_text("crosses itself")
    someone.page.keyboard.press("Control+z")
    someone.page.keyboard.press("p")
    someone.outline([one, two, three, four])
    someone.checked()
    expect(someone("#findings")).not_to_contain_text("crosses itself")


def test_a_part_is_not_lost_with_a_corner(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    someone.outline(box(*BODY)[:3])
    someone.page.mouse.dblclick(*someone.screen(*box(*BODY)[0]))
    expect(someone(".toast").last).to_contain_text("three corners at least")
    assert someone.state("s.draft.parts[0].points.length") == 3
    # Removed on purpose, it comes back by what is said about it.
    someone("#remove-part").click()
    expect(someone("#tree li")).to_have_count(0)
    someone(".toast").get_by_role("button", name="Undo").click()
    expect(someone("#tree li")).to_have_count(1)


def test_enter_ends_a_name(someone: Person) -> None:
    outlined(someone)
    someone('#part [data-field="name"]').fill("arm")
    someone.page.keyboard.press("Enter")
    someone.page.keyboard.press("p")
    assert someone.state("[s.draft.parts[1].name, s.tool]") == ["arm", "outline"]


def test_words_do_not_stand_in_the_way_of_drawing(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    someone.load("picture", file("broken.png", png(crane())[:300]))
    words = someone(".toast.error span")
    expect(words).to_be_visible()
    place = words.bounding_box()
    assert place
    someone.page.mouse.click(place["x"] + 9, place["y"] + 9)
    someone.page.keyboard.press("Control+z")  # a corner was set, and is taken back
    assert someone.state("s.draft.picture.name") == "crane.png"


def test_the_fan_is_dragged(someone: Person) -> None:
    outlined(someone)
    ends = (
        "(await (async () => { const [{ fanOf }, { view }] = await Promise.all([import('/paint/fan.js'),"
        " import('/stage.js')]); return fanOf(s.draft, s.draft.parts[1], view).ends; })())"
    )
    start = someone.state(ends)[1]
    pivot = someone.state("s.draft.parts[1].pivot")
    someone.drag((start[0], start[1]), (pivot[0], pivot[1] + 40))
    assert someone.state("s.draft.parts[1].turn") == pytest.approx(90, abs=8)
    someone.shot("7-fan")


def test_parts_are_arranged_by_dragging(someone: Person) -> None:
    outlined(someone)
    someone.page.keyboard.press("l")
    someone.page.mouse.move(*someone.screen(100, 80))
    someone.page.mouse.down()
    for x, y in ((125, 80), (127, 100), (101, 102), (100, 82)):
        someone.page.mouse.move(*someone.screen(x, y), steps=4)
    someone.page.mouse.up()
    expect(someone("#tree li")).to_have_count(3)
    third = "s.draft.parts.find((p) => p.id === 3).parent"
    assert someone.state(third) == 1
    grip, target = (
        someone('#tree li[data-id="3"] .grip').bounding_box(),
        someone('#tree li[data-id="2"]').bounding_box(),
    )
    assert grip
    assert target
    mouse = someone.page.mouse
    mouse.move(grip["x"] + 5, grip["y"] + 10)
    mouse.down()
    mouse.move(target["x"] + 60, target["y"] + 4, steps=3)
    mouse.move(target["x"] + 60, target["y"] + target["height"] / 2, steps=2)
    expect(someone('[data-drop="on"]')).to_have_count(1)
    mouse.up()
    assert someone.state(third) == 2
    expect(someone('#tree li[data-id="3"]')).to_have_attribute("aria-level", "3")
    # And by the list, and fixed, and its layer.
    someone('#part [data-field="parent"]').select_option("1")
    assert someone.state(third) == 1
    someone("label#part-moves").click()
    expect(someone('#tree li[data-id="3"]')).to_contain_text("fixed")
    order = someone.state("s.draft.order")
    someone("#lower").click()
    assert someone.state("s.draft.order") != order
    someone.checked()


def test_without_a_mouse(someone: Person) -> None:
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    keys = someone.page.keyboard

    def outline(moves: list[tuple[str, int]]) -> None:
        keys.press("c")
        for key, times in moves:
            for _ in range(times):
                keys.press(key)
            keys.press("Space")
        keys.press("Enter")

    outline([("ArrowLeft", 14), ("ArrowDown", 14), ("ArrowRight", 16), ("ArrowUp", 12)])
    expect(someone("#tree li")).to_have_count(1)
    keys.press("p")
    outline([("ArrowUp", 3), ("ArrowRight", 20), ("ArrowDown", 8), ("ArrowLeft", 19)])
    expect(someone("#tree li")).to_have_count(2)
    # The joint, a corner, the tree.
    pivot = someone.state("s.draft.parts[1].pivot")
    keys.press("j")
    keys.press("c")
    keys.press("Shift+ArrowRight")
    assert someone.state("s.draft.parts[1].pivot") == pytest.approx([pivot[0] + 10, pivot[1]])
    keys.press("Escape")
    keys.press("]")
    corner = someone.state("s.draft.parts[1].points[0]")
    keys.press("ArrowUp")
    assert someone.state("s.draft.parts[1].points[0]") == pytest.approx([corner[0], corner[1] - 1])
    keys.press("i")
    assert someone.state("s.draft.parts[1].points.length") == 5
    keys.press("Delete")
    assert someone.state("s.draft.parts[1].points.length") == 4
    someone('#tree [aria-selected="true"]').focus()
    keys.press("Alt+ArrowLeft")
    assert someone.state("s.draft.parts.map((p) => p.parent)") == [None, None]
    keys.press("Alt+ArrowRight")
    assert someone.state("s.draft.parts.map((p) => p.parent)") == [None, 1]
    keys.press("F2")
    keys.type("arm")
    keys.press("Enter")
    expect(someone('#tree [aria-selected="true"]')).to_contain_text("arm")
    keys.press("ArrowUp")
    expect(someone('#tree [aria-selected="true"]')).to_contain_text("body")
    keys.press("?")
    expect(someone("#help")).to_be_visible()
    someone.shot("8-keys")
    keys.press("Escape")
    expect(someone("#help")).not_to_be_visible()
    someone.checked()
    with someone.page.expect_download():
        keys.press("Control+s")


def test_everything_has_a_name_for_those_who_cannot_see_it(someone: Person) -> None:
    outlined(someone)
    roles = {
        "button",
        "textbox",
        "slider",
        "spinbutton",
        "combobox",
        "switch",
        "checkbox",
        "tab",
        "treeitem",
        "link",
    }
    for key in ("1", "2"):
        someone.page.keyboard.press(key)
        session = someone.page.context.new_cdp_session(someone.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
        assert len(shown) > 15
        nameless = [node for node in shown if not node.get("name", {}).get("value")]
        assert nameless == []


def test_fingers(browser: "Browser") -> None:
    phone = {
        "viewport": {"width": 390, "height": 800},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    }
    with served() as studio, person(browser, studio, **phone) as someone:
        someone.shot("9-phone-empty")
        outline = box(*BODY)
        someone.load("picture", CRANE)
        expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
        for x, y in [*outline, outline[0]]:
            someone.page.touchscreen.tap(*someone.screen(x, y))
        expect(someone("#tree li")).to_have_count(1)
        someone.checked()
        someone.shot("10-phone")
        session = someone.page.context.new_cdp_session(someone.page)

        def touch(kind: str, *places: tuple[float, float]) -> None:
            points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        zoom = "(await import('/stage.js')).view.scale"
        before, (x, y) = someone.state(zoom), someone.screen(50, 70)
        touch("touchStart", (x - 20, y))
        touch("touchStart", (x - 20, y), (x + 20, y))
        touch("touchMove", (x - 30, y), (x + 30, y))
        touch("touchMove", (x - 40, y), (x + 40, y))
        touch("touchEnd")
        assert someone.state(zoom) == pytest.approx(2 * before, rel=0.05)
        assert someone.state("s.draft.parts.length") == 1
        touch("touchStart", someone.screen(50, 70))
        expect(someone('[role="menu"]')).to_be_visible()
        touch("touchEnd")
        someone.shot("11-phone-menu")
        someone.page.get_by_role("menuitem", name="Remove").tap()
        expect(someone("#tree li")).to_have_count(0)
        wide = someone.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_dark_by_the_system_and_by_the_switch(browser: "Browser") -> None:
    ground = "() => getComputedStyle(document.body).backgroundColor"
    with served() as studio, person(browser, studio, color_scheme="dark") as someone:
        dark = someone.page.evaluate(ground)
        someone("#demo").click()
        expect(someone("#tree li")).to_have_count(14)
        someone(
            "#tree li",
        ).filter(has_text="forearm_right").click()
        someone.checked()
        someone.shot("12-dark")
        someone.page.keyboard.press("2")
        someone.found(3)
        someone.shot("13-dark-found")
        someone("#theme").click()
        assert someone.page.evaluate(ground) != dark
        someone.shot("14-light-found")
        someone.page.reload()
        expect(someone("body.ready")).to_be_attached()
        assert someone.page.evaluate(ground) != dark
        someone.page.set_viewport_size({"width": 390, "height": 800})
        someone.found(3)
        someone.shot("15-phone-found")


def test_a_page_that_is_loaded_anew_goes_on(someone: Person) -> None:
    outlined(someone)
    someone.page.reload()  # at once
    expect(someone("#tree li")).to_have_count(2)
    someone.checked()
    expect(someone("#save.unsaved")).to_have_count(1)
    with someone.page.expect_download():
        someone("#save").click()
    expect(someone("#save.unsaved")).to_have_count(0)
    someone.page.reload()
    expect(someone("#tree li")).to_have_count(2)
    expect(someone("#save.unsaved")).to_have_count(0)


def test_what_goes_wrong_is_told_in_words(someone: Person) -> None:
    someone.load("picture", file("broken.png", png(crane())[:300]))
    expect(someone(".toast.error")).to_contain_text("broken.png: the picture is damaged, incomplete")
    someone.shot("16-error")
    someone(".toast button").click()
    someone.load("template", file("a.zip", b"PK", "application/zip"))
    expect(someone(".toast.error")).to_contain_text("a.zip")
    someone.load("picture", CRANE)
    expect(someone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    someone.outline(box(*BODY))
    someone.page.keyboard.press("p")
    someone.outline([[10, 10], [10.5, 10], [11, 10]])
    expect(someone(".toast").last).to_contain_text("too small to be a part")
    expect(someone("#tree li")).to_have_count(1)


def test_a_page_without_the_token(browser: "Browser") -> None:
    with served() as studio:
        page = browser.new_page()
        page.goto(studio.address.split("#")[0])
        expect(page.locator(".toast.error")).to_contain_text("open the address that the studio printed")
        page.close()


def test_a_studio_that_has_ended(browser: "Browser") -> None:
    with served() as studio:
        page = browser.new_page()
        page.goto(studio.address)
        expect(page.locator("body.ready")).to_be_attached()
        assert "#" not in page.url  # the token is not left where it can be seen
    page.locator("#file-picture").set_input_files([CRANE])
    expect(page.locator(".toast.error")).to_contain_text("The studio does not answer")
    page.close()


def test_files_are_dropped_and_saved_where_the_command_line_says(browser: "Browser", tmp_path: Path) -> None:
    target = tmp_path / "made" / "crane"
    with served(target=Target(target)) as studio, person(browser, studio) as someone:
        someone.drop("crane.png", png(crane()), '[data-drop-for="picture"]')
        expect(someone("#object-name")).to_have_value("crane")
        someone.outline(box(*BODY))
        someone.checked()
        expect(someone("#save")).to_contain_text("Save to crane")
        someone("#save").click()
        expect(someone(".toast").last).to_contain_text("Saved to crane.")
        assert list(Template.load(target).parts) == ["body"]
        someone.drop("scene.png", png(crane()), '[data-drop-for="scene"]')
        someone.found(1)


def test_a_template_is_opened_changed_and_saved(someone: Person, tmp_path: Path) -> None:
    outlined(someone)
    someone.checked()
    path = downloaded(someone, "#save", tmp_path)
    before = Template.load(path)
    someone.load("template", file("crane.zip", path.read_bytes(), "application/zip"))
    expect(someone(".toast").last).to_contain_text("Began a new template")
    expect(someone("#tree li")).to_have_count(2)
    someone("#tree li").nth(1).click()
    someone('#part [data-field="degrees"]').fill("12")
    someone.checked()
    after = Template.load(downloaded(someone, "#save", tmp_path))
    assert after.parts["part"].turn == 12
    motif, kept = before.parts["part"].motif, after.parts["part"].motif
    assert motif is not None
    assert kept is not None
    assert (motif.pixels == kept.pixels).all()
