"""The studio in a browser, from a picture to outlines, a template, detections and exported results."""

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio_page import ARM, BODY, box, crane, png, served

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from detecting import photo
from studio_browser import CRANE, User, downloaded, file, open_page, outlined
from walkers import HEIGHT, WIDTH, renamed, tilted
from wherein.demo import ROBOT
from wherein.drawing.palette import colors
from wherein.studio.session import SaveTarget
from wherein.template import Reading, Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = "<img src=x onerror=alert(1)>.png"


def scene_with(template: Template, part: str, seed: int = 0) -> bytes:
    """The template rotated by 30°, one part by −20°, in a photograph."""
    where = matrices(template.parts, placed(30.0, 1.0, (150.0, 110.0), template.centre), {part: -20.0})
    pixels = render(photo("coffee", 301, 223, seed), template, where)
    return png((pixels.movedim(0, -1).clamp(0, 1) * 255).round().byte().numpy())


def test_from_a_picture_to_detections(user: User, tmp_path: Path) -> None:
    expect(user("#empty-template")).to_be_visible()
    user.shot("1-empty")
    outlined(user)
    # Guessed: the parent is the body, the joint where they overlap, the layer above it.
    part = "s.draft.parts[1]"
    assert user.state(f"[{part}.parent, {part}.static, s.draft.paintOrder]") == [1, False, [1, 2]]
    x, y = user.state(f"{part}.pivot")
    assert BODY[0] < x < ARM[0] + ARM[2] / 2
    # Rename it in the tree, drag the joint, type the rotation range.
    user("#tree li").nth(1).dblclick()
    user("#tree input").fill("arm")
    user.page.keyboard.press("Enter")
    expect(user("#tree li").nth(1)).to_contain_text("arm")
    user.drag((x, y), (75, 61))
    assert user.state(f"{part}.pivot") == pytest.approx([75, 61], abs=0.5)
    user('#part [data-field="degrees"]').fill("45")
    expect(user("#tree li").nth(1)).to_contain_text("±45°")
    user.checked()
    user.shot("2-outlined")
    user("#play-joint").click()
    user.page.wait_for_timeout(400)
    assert abs(user.state("s.pose[2]")) > 5
    user.shot("3-preview")
    expect(user("#findings li, #findings-none:visible").first).to_be_visible()
    # Save.
    path = downloaded(user, "#save", tmp_path)
    template = Template.load(path)
    assert (path.name, template.name, list(template.parts)) == (
        "crane.zip",
        "crane",
        ["crane", "body", "arm"],
    )
    assert template.parts["arm"].turn == 45
    assert template.parts["arm"].joint == pytest.approx((75 - BODY[0], 61 - BODY[1]), abs=0.5)
    # Detect.
    user("#tab-detect").click()
    expect(user("#empty-detect")).to_be_visible()
    user.shot("4-no-scenes")
    user.load("scene", file("cup.png", scene_with(template, "arm")))
    user.found(1)
    expect(user("#results .head")).to_contain_text("2 of 2 parts")
    user.shot("5-found")
    item = user.state("s.results.get(s.scene).data.detections[0]")
    assert item["angle"] == pytest.approx(30, abs=0.5)
    for name, color in colors(("body", "arm")).items():
        assert_drawn(user, item["parts"][name]["polygon"], color)


def slide(user: User, field: str, value: float) -> None:
    """Move a slider of the part's panel."""
    user(f'#part [data-field="{field}"]').evaluate(
        f"(e) => {{ e.value = {value}; e.dispatchEvent(new Event('input', {{ bubbles: true }})); }}"
    )


def test_a_reading_says_what_a_rotation_means(user: User, tmp_path: Path) -> None:
    outlined(user)
    expect(user("#reading-summary")).to_have_text("none")
    user("#part-reading summary").click()
    user('[data-reading="unit"]').fill("bar")
    for number, (turn, value) in enumerate(((-20, 1.5), (25, 6)), 1):
        slide(user, "angle", turn)
        expect(user("#add-reading")).to_contain_text(f"({'−' * (turn < 0)}{abs(turn)}.0°)")
        user("#add-reading").click()
        field = user.page.get_by_label(f"Value of point {number}")
        expect(field).to_be_focused()
        expect(user("#reading-summary")).to_have_text("needs two values")
        assert user.state("s.pose[2]") == turn, "the preview stays as it was"
        field.fill(str(value))
    expect(user("#reading-summary")).to_have_text("1.5 to 6 bar")
    user.shot("17-reading")
    user.checked()
    reading = Template.load(downloaded(user, "#save", tmp_path)).parts["part"].reading
    assert reading == Reading("bar", ((-20.0, 1.5), (25.0, 6.0)))
    # Two values at one rotation are refused, until one is removed; steps can be undone.
    user("#add-reading").click()
    user.page.get_by_label("Rotation of point 3 in degrees").fill("-20")
    user.page.get_by_label("Value of point 3").fill("7")
    expect(user("#status")).to_contain_text("two values at turn -20: keep one")
    user.page.get_by_role("button", name="Remove point 3").click()
    user.checked()
    user("#undo").click()
    assert user.state("s.draft.parts[1].reading.at.length") == 3
    user("#redo").click()
    user.checked()
    # The value is shown with the detection.
    user.page.keyboard.press("2")
    user.load("scene", file("cup.png", scene_with(Template.load(tmp_path / "crane.zip"), "part")))
    user.found(1)
    value = user.state("s.results.get(s.scene).data.detections[0].parts.part.value")
    assert value == pytest.approx(1.5, abs=0.1)
    expect(user("#results .head")).to_contain_text(f"{float(f'{value:.4g}'):g} bar")
    user.shot("18-value")


def test_a_detection_in_perspective_is_drawn(user: User) -> None:
    some = renamed(tilted(), {"dial": "body", "needle": "part"})  # the parts of the page's template
    record = some.to_dict() | {"calibration_kind": "measured", "threshold": 0.5, "calibrated_threshold": 0.5}
    record["detections"][0] |= {"tilt": round(some[0].tilt, 2), "rarity": "rare"}
    idle = {"running": False, "fraction": 0.0, "step": "", "error": ""}
    record |= {"best_candidate": None, "warnings": [], "calibration": idle}
    user.page.route("**/api/detections", lambda route: route.fulfill(json=record))
    outlined(user)
    user.checked()
    user("#tab-detect").click()
    user.load("scene", file("grey.png", png(np.full((HEIGHT, WIDTH, 3), 128, dtype=np.uint8))))
    user.found(1)
    expect(user("#results .head")).to_contain_text(f"tilt {some[0].tilt:.1f}°")
    expect(user("#results .head")).to_contain_text("70 °C")
    user('#search [data-field="tiltDegrees"]').fill("55")
    user("#search-more summary").click()
    for number, value in enumerate((10, 20, 100, 90)):
        user(f'[data-region="{number}"]').fill(str(value))
    user('#search [data-field="inverted"]').click()
    settings = "[s.settings.tilt, s.settings.region, s.settings.polarity]"
    assert user.state(settings) == [55, [10, 20, 100, 90], "any"]
    user.found(1)
    user.shot("19-perspective")
    corners = record["detections"][0]["parts"]["body"]["polygon"]
    assert_drawn(user, [*corners, corners[0]], colors(("body", "part"))["body"])


def assert_drawn(user: User, polygon: list[list[float]], wanted: tuple[int, int, int]) -> None:
    """The colour of the part is on the middles of its outline's edges."""
    middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(polygon)]
    painted = [user.color(*point) for point in middles]
    near = [all(abs(a - b) < 60 for a, b in zip(one, wanted, strict=True)) for one in painted]
    assert sum(near) >= len(near) / 2, (wanted, painted)


def swatches(user: User, rows: str) -> dict[str, tuple[int, ...]]:
    """The colour beside each name of a list of parts."""
    found = user(rows).evaluate_all(
        "(rows) => rows.filter((row) => row.querySelector('.swatch')).map((row) => ["
        "  row.querySelector('.name').textContent,"
        "  getComputedStyle(row.querySelector('.swatch')).backgroundColor.match(/\\d+/g).map(Number)])"
    )
    return {name: tuple(color) for name, color in found}


def test_a_part_has_one_color_everywhere(user: User, tmp_path: Path) -> None:
    user("#demo").click()
    expect(user("#tree li")).to_have_count(14)
    robot = colors(Template.load(ROBOT).parts.leaves)
    assert swatches(user, "#tree li") == robot
    torso = user.state("s.draft.parts.find(({ name }) => name === 'torso').points")
    assert_drawn(user, torso, robot["torso"])
    user.page.keyboard.press("2")
    user.found(3)
    assert swatches(user, ".found-parts li") == robot
    # A new draft: the colours change with the number of parts, as those of the drawings do.
    outlined(user)
    names = ("body", "part")
    expect(user('#tree li[data-id="2"] .swatch')).to_have_css(
        "background-color", "rgb({}, {}, {})".format(*colors(names)["part"])
    )
    assert swatches(user, "#tree li") == colors(names)
    template = Template.load(downloaded(user, "#save", tmp_path))
    assert template.parts.leaves == names


def test_settings_search_at_once_and_results_are_exported(user: User, tmp_path: Path) -> None:
    outlined(user)
    user.checked()
    template = Template.load(downloaded(user, "#save", tmp_path))
    user.page.keyboard.press("2")
    user.load(
        "scene", file("one.png", scene_with(template, "part")), file(EVIL, scene_with(template, "part", 1))
    )
    expect(user(".scene .count.some")).to_have_count(2)
    user(".scene").first.click()
    user.found(1)
    user('#search [data-field="score"]').fill("0.99")
    expect(user("#no-detections")).to_be_visible()
    expect(user("#best-candidate")).to_contain_text("Best candidate: ")
    expect(user("#results-summary")).to_contain_text("No detections in 301 × 223 pixels")
    user("#calibrated").click()
    user.found(1)
    expect(user("#best-candidate")).to_be_hidden()
    user('#search [data-field="degrees"]').fill("5")
    expect(user("#no-detections")).to_be_visible()
    user('#search [data-field="rotation"]').evaluate(
        "(e) => { e.value = 60; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    user.found(1)
    user('#scales [data-scale="0.8 1.25"]').click()
    expect(user('#search [data-field="high"]')).to_have_value("1.25")
    user.found(1)
    # A file name is shown as text, never as markup.
    user(".scene").nth(1).click()
    expect(user(".scene .name").nth(1)).to_have_text(EVIL)
    assert user('img[src="x"]').count() == 0
    user.shot("6-settings")
    lines = downloaded(user, '[data-export="json"]', tmp_path).read_text().splitlines()
    assert [json.loads(line)["scene"] for line in lines] == ["one.png", EVIL]
    coco = json.loads(downloaded(user, '[data-export="coco"]', tmp_path).read_text())
    assert {category["name"] for category in coco["categories"]} == {"crane", "body", "part"}
    report = downloaded(user, '[data-export="report"]', tmp_path)
    user.page.context.new_page().goto(report.as_uri())
    assert (report.name, EVIL in report.read_text()) == ("crane.html", False)


def test_a_file_whose_name_is_markup(user: User) -> None:
    user.load("picture", file(EVIL, png(crane())))
    expect(user("#object-name")).to_have_value(EVIL.removesuffix(".png"))
    user.outline(box(*BODY))
    user("#tree li").dblclick()
    user("#tree input").fill(EVIL)
    user.page.keyboard.press("Enter")
    expect(user("#tree .name")).to_have_text(EVIL)
    expect(user("#part-title")).to_have_text(EVIL)
    user.checked()
    user.load("scene", file(EVIL, png(crane())))
    user.found(1)
    expect(user(".found-parts .name")).to_have_text(EVIL)
    assert user('img[src="x"], body script, iframe').count() == 0


def test_undo_and_redo(user: User) -> None:
    outlined(user)
    keys = user.page.keyboard
    before = user.state("s.draft.parts[1].points[2]")
    user.drag((before[0], before[1]), (150, 90))
    moved = user.state("s.draft.parts[1].points[2]")
    assert moved == pytest.approx([150, 90], abs=0.5)
    keys.press("Control+z")
    assert user.state("s.draft.parts[1].points[2]") == before
    keys.press("Control+z")
    expect(user("#tree li")).to_have_count(1)
    keys.press("Control+z")
    keys.press("Control+z")
    expect(user("#empty-template")).to_be_visible()
    expect(user("#undo")).to_be_disabled()
    for _ in range(4):
        keys.press("Control+Shift+z")
    assert user.state("s.draft.parts[1].points[2]") == moved
    expect(user("#redo")).to_be_disabled()


def test_corners_are_inserted_and_deleted(user: User) -> None:
    outlined(user)
    count = "s.draft.parts[1].points.length"
    right, middle = ARM[0] + ARM[2] - 0.5, ARM[1] + ARM[3] / 2 - 0.5
    user.drag((right, middle), (150, middle))  # the + on the edge
    assert user.state(count) == 5
    user.click(150, middle, button="right")
    expect(user('[role="menu"]')).to_be_visible()
    user.page.get_by_role("menuitem", name="Delete corner").click()
    assert user.state(count) == 4
    user.page.mouse.dblclick(*user.screen(ARM[0] + 20, ARM[1] - 0.5))
    assert user.state(count) == 5
    user.drag((30, 90), (10, 20))  # no handle there: the picture is panned
    assert user.state(count) == 5


def test_undo_removes_the_corners_of_an_unfinished_outline(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    corners = box(*BODY)
    for x, y in [*corners[:3], (150, 10)]:
        user.click(x, y)
    user.page.keyboard.press("Control+z")
    assert user.state("s.draft.picture.name") == "crane.png"
    # Panning in between keeps the corners.
    user.page.keyboard.press("h")
    user.drag((100, 60), (110, 65))
    user.page.keyboard.press("p")
    user.click(*corners[3])
    user.click(*corners[0])
    points = user.state("s.draft.parts[0].points")
    assert [place for corner in points for place in corner] == pytest.approx(
        [place for corner in corners for place in corner], abs=0.5
    )
    # Without corners, undo takes back steps.
    for _ in range(2):
        user.page.keyboard.press("Control+z")
    expect(user("#empty-template")).to_be_visible()


def test_a_new_picture_discards_an_unfinished_outline(user: User) -> None:
    user.load("picture", CRANE)
    expect(user("#object-name")).to_have_value("crane")
    user.click(10, 10)
    user.click(150, 10)
    user.load("picture", file("other.png", png(crane())))
    expect(user("#object-name")).to_have_value("other")
    user.outline(box(*BODY))
    assert user.state("s.draft.parts[0].points.length") == 4


def test_quick_clicks_apart_are_not_a_double_click(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    for x, y in box(*BODY):
        user.click(x, y)
    # The browser reports the second as a double click; it must not close the outline.
    mouse, (x, y) = user.page.mouse, user.screen(40, 110)
    mouse.click(x, y)
    mouse.move(x + 10, y)
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    assert user.state("s.draft.parts.length") == 0
    mouse.dblclick(x + 30, y)
    assert user.state("s.draft.parts[0].points.length") == 7


def test_an_outline_that_crosses_itself_is_reported(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    one, two, three, four = box(*BODY)
    user.outline([one, three, two, four])
    expect(user(".toast").last).to_contain_text("crosses itself")
    expect(user("#tree li")).to_have_count(0)
    user.page.keyboard.press("p")
    user.outline([one, three, [140, 45], four])
    user.checked()
    expect(user(".finding.warning").first).to_contain_text("crosses itself")
    user.page.keyboard.press("Control+z")
    user.page.keyboard.press("p")
    user.outline([one, two, three, four])
    user.checked()
    expect(user("#findings")).not_to_contain_text("crosses itself")


def test_an_outline_keeps_three_corners(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.outline(box(*BODY)[:3])
    user.page.mouse.dblclick(*user.screen(*box(*BODY)[0]))
    expect(user(".toast").last).to_contain_text("at least three corners")
    assert user.state("s.draft.parts[0].points.length") == 3
    # Deleting the part can be undone in the notification.
    user("#delete-part").click()
    expect(user("#tree li")).to_have_count(0)
    user(".toast").get_by_role("button", name="Undo").click()
    expect(user("#tree li")).to_have_count(1)


def test_enter_ends_a_name(user: User) -> None:
    outlined(user)
    user('#part [data-field="name"]').fill("arm")
    user.page.keyboard.press("Enter")
    user.page.keyboard.press("p")
    assert user.state("[s.draft.parts[1].name, s.tool]") == ["arm", "outline"]


def test_notifications_do_not_block_drawing(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.load("picture", file("broken.png", png(crane())[:300]))
    words = user(".toast.error span")
    expect(words).to_be_visible()
    place = words.bounding_box()
    assert place
    user.page.mouse.click(place["x"] + 9, place["y"] + 9)
    user.page.keyboard.press("Control+z")  # removes the corner that was added
    assert user.state("s.draft.picture.name") == "crane.png"


def test_the_arc_is_dragged(user: User) -> None:
    outlined(user)
    ends = (
        "(await (async () => { const [{ arcOf }, { view }] = await Promise.all([import('/paint/arc.js'),"
        " import('/canvas.js')]); return arcOf(s.draft, s.draft.parts[1], view).ends; })())"
    )
    start = user.state(ends)[1]
    pivot = user.state("s.draft.parts[1].pivot")
    user.drag((start[0], start[1]), (pivot[0], pivot[1] + 40))
    assert user.state("s.draft.parts[1].turn") == pytest.approx(90, abs=8)
    user.shot("7-arc")


def test_parts_are_arranged_by_dragging(user: User) -> None:
    outlined(user)
    user.page.keyboard.press("l")
    user.page.mouse.move(*user.screen(100, 80))
    user.page.mouse.down()
    for x, y in ((125, 80), (127, 100), (101, 102), (100, 82)):
        user.page.mouse.move(*user.screen(x, y), steps=4)
    user.page.mouse.up()
    expect(user("#tree li")).to_have_count(3)
    third = "s.draft.parts.find((p) => p.id === 3).parent"
    assert user.state(third) == 1
    grip, target = (
        user('#tree li[data-id="3"] .grip').bounding_box(),
        user('#tree li[data-id="2"]').bounding_box(),
    )
    assert grip
    assert target
    mouse = user.page.mouse
    mouse.move(grip["x"] + 5, grip["y"] + 10)
    mouse.down()
    mouse.move(target["x"] + 60, target["y"] + 4, steps=3)
    mouse.move(target["x"] + 60, target["y"] + target["height"] / 2, steps=2)
    expect(user('[data-drop="on"]')).to_have_count(1)
    mouse.up()
    assert user.state(third) == 2
    expect(user('#tree li[data-id="3"]')).to_have_attribute("aria-level", "3")
    # The parent by the list; fixed; the layer.
    user('#part [data-field="parent"]').select_option("1")
    assert user.state(third) == 1
    user("label#part-rotates").click()
    expect(user('#tree li[data-id="3"]')).to_contain_text("fixed")
    order = user.state("s.draft.paintOrder")
    user("#lower").click()
    assert user.state("s.draft.paintOrder") != order
    user.checked()


def test_keyboard_only(user: User) -> None:
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    keys = user.page.keyboard

    def outline(moves: list[tuple[str, int]]) -> None:
        keys.press("c")
        for key, times in moves:
            for _ in range(times):
                keys.press(key)
            keys.press("Space")
        keys.press("Enter")

    outline([("ArrowLeft", 14), ("ArrowDown", 14), ("ArrowRight", 16), ("ArrowUp", 12)])
    expect(user("#tree li")).to_have_count(1)
    keys.press("p")
    outline([("ArrowUp", 3), ("ArrowRight", 20), ("ArrowDown", 8), ("ArrowLeft", 19)])
    expect(user("#tree li")).to_have_count(2)
    # The joint, a corner, the tree.
    pivot = user.state("s.draft.parts[1].pivot")
    keys.press("j")
    keys.press("c")
    keys.press("Shift+ArrowRight")
    assert user.state("s.draft.parts[1].pivot") == pytest.approx([pivot[0] + 10, pivot[1]])
    keys.press("Escape")
    keys.press("]")
    corner = user.state("s.draft.parts[1].points[0]")
    keys.press("ArrowUp")
    assert user.state("s.draft.parts[1].points[0]") == pytest.approx([corner[0], corner[1] - 1])
    keys.press("i")
    assert user.state("s.draft.parts[1].points.length") == 5
    keys.press("Delete")
    assert user.state("s.draft.parts[1].points.length") == 4
    user('#tree [aria-selected="true"]').focus()
    keys.press("Alt+ArrowLeft")
    assert user.state("s.draft.parts.map((p) => p.parent)") == [None, None]
    keys.press("Alt+ArrowRight")
    assert user.state("s.draft.parts.map((p) => p.parent)") == [None, 1]
    keys.press("F2")
    keys.type("arm")
    keys.press("Enter")
    expect(user('#tree [aria-selected="true"]')).to_contain_text("arm")
    keys.press("ArrowUp")
    expect(user('#tree [aria-selected="true"]')).to_contain_text("body")
    keys.press("?")
    expect(user("#help")).to_be_visible()
    user.shot("8-keys")
    keys.press("Escape")
    expect(user("#help")).not_to_be_visible()
    user.checked()
    with user.page.expect_download():
        keys.press("Control+s")


def test_every_control_has_an_accessible_name(user: User) -> None:
    outlined(user)
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
        user.page.keyboard.press(key)
        session = user.page.context.new_cdp_session(user.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
        assert len(shown) > 15
        unnamed = [node for node in shown if not node.get("name", {}).get("value")]
        assert unnamed == []


def test_touch(phone: User) -> None:
    user = phone
    user.shot("9-phone-empty")
    outline = box(*BODY)
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    for x, y in [*outline, outline[0]]:
        user.page.touchscreen.tap(*user.screen(x, y))
    expect(user("#tree li")).to_have_count(1)
    user.checked()
    user.shot("10-phone")
    session = user.page.context.new_cdp_session(user.page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    zoom = "(await import('/canvas.js')).view.scale"
    before, (x, y) = user.state(zoom), user.screen(50, 70)
    touch("touchStart", (x - 20, y))
    touch("touchStart", (x - 20, y), (x + 20, y))
    touch("touchMove", (x - 30, y), (x + 30, y))
    touch("touchMove", (x - 40, y), (x + 40, y))
    touch("touchEnd")
    assert user.state(zoom) == pytest.approx(2 * before, rel=0.05)
    assert user.state("s.draft.parts.length") == 1
    touch("touchStart", user.screen(50, 70))
    expect(user('[role="menu"]')).to_be_visible()
    touch("touchEnd")
    user.shot("11-phone-menu")
    user.page.get_by_role("menuitem", name="Delete").tap()
    expect(user("#tree li")).to_have_count(0)
    wide = user.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    # On a phone, the window itself grows with what does not fit in it.
    assert user.page.evaluate("() => innerWidth") == 390


def test_dark_theme_of_the_system_and_of_the_switch(browser: "Browser") -> None:
    ground = "() => getComputedStyle(document.body).backgroundColor"
    with served() as studio, open_page(browser, studio, color_scheme="dark") as user:
        dark = user.page.evaluate(ground)
        user("#demo").click()
        expect(user("#tree li")).to_have_count(14)
        user(
            "#tree li",
        ).filter(has_text="forearm_right").click()
        user.checked()
        user.shot("12-dark")
        user.page.keyboard.press("2")
        user.found(3)
        user.shot("13-dark-found")
        user("#theme").click()
        assert user.page.evaluate(ground) != dark
        user.shot("14-light-found")
        user.page.reload()
        expect(user("body.ready")).to_be_attached()
        assert user.page.evaluate(ground) != dark
        user.page.set_viewport_size({"width": 390, "height": 800})
        user.found(3)
        user.shot("15-phone-found")


def test_reloading_restores_the_page(user: User) -> None:
    outlined(user)
    user.page.reload()  # at once
    expect(user("#tree li")).to_have_count(2)
    user.checked()
    expect(user("#save.unsaved")).to_have_count(1)
    with user.page.expect_download():
        user("#save").click()
    expect(user("#save.unsaved")).to_have_count(0)
    user.page.reload()
    expect(user("#tree li")).to_have_count(2)
    expect(user("#save.unsaved")).to_have_count(0)


def test_errors_are_shown(user: User) -> None:
    user.load("picture", file("broken.png", png(crane())[:300]))
    expect(user(".toast.error")).to_contain_text("broken.png: the picture is damaged, incomplete")
    user.shot("16-error")
    user(".toast button").click()
    user.load("template", file("a.zip", b"PK", "application/zip"))
    expect(user(".toast.error")).to_contain_text("a.zip")
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.outline(box(*BODY))
    user.page.keyboard.press("p")
    user.outline([[10, 10], [10.5, 10], [11, 10]])
    expect(user(".toast").last).to_contain_text("too small")
    expect(user("#tree li")).to_have_count(1)


def test_a_page_without_the_token(browser: "Browser") -> None:
    with served() as studio:
        page = browser.new_page()
        page.goto(studio.address.split("#")[0])
        expect(page.locator(".toast.error")).to_contain_text("Open the address that the studio printed")
        page.close()


def test_a_studio_that_was_stopped(browser: "Browser") -> None:
    with served() as studio:
        page = browser.new_page()
        page.goto(studio.address)
        expect(page.locator("body.ready")).to_be_attached()
        assert "#" not in page.url  # the token is removed from the address
    page.locator("#file-picture").set_input_files([CRANE])
    expect(page.locator(".toast.error")).to_contain_text("The studio does not respond")
    page.close()


def test_files_are_dropped_and_saved_to_the_target(browser: "Browser", tmp_path: Path) -> None:
    target = tmp_path / "made" / "crane"
    with served(target=SaveTarget(target)) as studio, open_page(browser, studio) as user:
        user.drop("crane.png", png(crane()), '[data-drop-for="picture"]')
        expect(user("#object-name")).to_have_value("crane")
        user.outline(box(*BODY))
        user.checked()
        expect(user("#save")).to_contain_text("Save to crane")
        user("#save").click()
        expect(user(".toast").last).to_contain_text("Saved to crane.")
        assert list(Template.load(target).parts) == ["crane"]
        user.drop("scene.png", png(crane()), '[data-drop-for="scene"]')
        user.found(1)


def test_a_template_is_opened_edited_and_saved(user: User, tmp_path: Path) -> None:
    outlined(user)
    user.checked()
    path = downloaded(user, "#save", tmp_path)
    before = Template.load(path)
    user.load("template", file("crane.zip", path.read_bytes(), "application/zip"))
    expect(user(".toast").last).to_contain_text("Started a new template")
    expect(user("#tree li")).to_have_count(2)
    user("#tree li").nth(1).click()
    user('#part [data-field="degrees"]').fill("12")
    user.checked()
    after = Template.load(downloaded(user, "#save", tmp_path))
    assert after.parts["part"].turn == 12
    motif, kept = before.parts["part"].motif, after.parts["part"].motif
    assert motif is not None
    assert kept is not None
    assert (motif.pixels == kept.pixels).all()
