"""Parts that are moved, duplicated, mirrored and redrawn in a browser, on a desktop and on a phone."""

from pathlib import Path

import pytest

from studio_page import ARM, BODY, box

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: no browser tests of the studio"
)

from playwright.sync_api import expect

from studio_browser import CRANE, User, downloaded, outlined
from wherein.template import Template

ARM_MIDDLE = (ARM[0] + ARM[2] / 2, ARM[1] + ARM[3] / 2)


def part(number: int, what: str = "points") -> str:
    return f"s.draft.parts[{number}].{what}"


def flat(points: list[list[float]]) -> list[float]:
    return [value for point in points for value in point]


def shifted(points: list[list[float]], dx: float, dy: float) -> list[float]:
    return flat([[x + dx, y + dy] for x, y in points])


def test_a_part_is_dragged_with_its_joint(user: User) -> None:
    outlined(user)
    points, pivot = user.state(f"[{part(1)}, {part(1, 'pivot')}]")
    x, y = ARM_MIDDLE
    user.drag((x, y + 4), (x - 12, y + 24))
    assert flat(user.state(part(1))) == pytest.approx(shifted(points, -12, 20), abs=0.5)
    assert user.state(part(1, "pivot")) == pytest.approx([pivot[0] - 12, pivot[1] + 20], abs=0.5)
    # Only as far as the picture reaches; as one step.
    user.drag((x - 12, y + 24), (x + 80, y + 24))
    assert max(user.state(f"{part(1)}.map(([x]) => x)")) == 160.5
    user.page.keyboard.press("Control+z")
    user.page.keyboard.press("Control+z")
    assert user.state(part(1)) == points
    # With the keyboard: Alt and the arrow keys.
    user("#canvas").focus()
    for key in ("Alt+ArrowDown", "Alt+Shift+ArrowLeft"):
        user.page.keyboard.press(key)
    assert flat(user.state(part(1))) == pytest.approx(shifted(points, -10, 1))
    # A click selects what is on top, as before.
    user.click(30, 90)
    assert user.state("s.selected") == 1
    user.checked()


def test_a_part_is_duplicated(user: User, tmp_path: Path) -> None:
    outlined(user)
    points = user.state(part(1))
    user("#duplicate").click()
    expect(user("#tree li")).to_have_count(3)
    expect(user(".toast").last).to_contain_text("“part 2” is a copy. Drag it to its place.")
    (dx, dy) = (a - b for a, b in zip(user.state(part(2))[0], points[0], strict=True))
    assert (abs(dx), abs(dy)) == pytest.approx((10.5, 10.5), abs=0.2)
    assert flat(user.state(part(2))) == pytest.approx(shifted(points, dx, dy), abs=0.2)
    assert user.state("[s.selected, s.draft.paintOrder]") == [3, [1, 2, 3]]
    assert user.state(part(2, "parent")) == 1
    user.checked()
    user.shot("26-duplicated")
    template = Template.load(downloaded(user, "#save", tmp_path))
    assert template.parts.leaves == ("body", "part", "part 2")
    user("#undo").click()
    expect(user("#tree li")).to_have_count(2)


def test_the_only_part_has_the_name_of_the_object(user: User, tmp_path: Path) -> None:
    """As with `wherein template new` and a picture as a template: results have the same names."""
    names = "s.draft.parts.map(({ name }) => name)"
    user.load("picture", CRANE)
    expect(user('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    user.outline(box(*BODY))
    expect(user("#tree li")).to_have_count(1)
    assert user.state(names) == ["crane"]
    user("#object-name").fill("lifter")
    user.page.keyboard.press("Enter")
    user.checked()
    template = Template.load(downloaded(user, "#save", tmp_path))
    assert (template.name, list(template.parts)) == ("lifter", ["lifter"])
    # With a further part, the name of the object is that of the group.
    user.page.keyboard.press("p")
    user.outline(box(*ARM))
    expect(user("#tree li")).to_have_count(2)
    assert user.state(names) == ["body", "part"]
    user.checked()
    template = Template.load(downloaded(user, "#save", tmp_path))
    assert list(template.parts) == ["lifter", "body", "part"]
    user("#delete-part").click()
    assert user.state(names) == ["lifter"]
    user("#undo").click()
    user("#undo").click()
    assert user.state(names) == ["lifter"]


def test_a_part_is_mirrored_to_the_other_side_of_its_parent(user: User) -> None:
    outlined(user)
    user('#part [data-field="name"]').fill("arm_right")
    user.page.keyboard.press("Enter")
    # To the left of the body there are 20 pixels: the arm is mirrored as far as it fits.
    user.page.keyboard.press("m")
    expect(user("#tree li").nth(2)).to_contain_text("arm_left")
    points, copy = user.state(f"[{part(1)}, {part(2)}]")
    assert min(x for x, _ in copy) == -0.5
    assert [y for _, y in copy] == [y for _, y in points]
    assert copy[0][0] > copy[1][0], "its left and right are exchanged"
    user.checked()
    user.shot("27-mirrored")
    user.page.keyboard.press("Control+z")
    expect(user("#tree li")).to_have_count(2)


def test_a_mirrored_group_has_all_below_it(user: User) -> None:
    user("#demo").click()
    expect(user("#tree li")).to_have_count(14)
    user("#tree li").filter(has_text="arm_left").first.click()
    user.page.keyboard.press("m")
    expect(user("#tree li")).to_have_count(17)
    names = ["arm_right 2", "forearm_right 2", "upper_arm_right 2"]
    assert sorted(user.state("s.draft.parts.slice(-3).map(({ name }) => name)")) == names
    # About the middle of the torso.
    named = "s.draft.parts.find(({{ name }}) => name === '{}').{}"
    left, right = user.state(
        f"[{named.format('forearm_left', 'pivot')}, {named.format('forearm_right 2', 'pivot')}]"
    )
    xs = [x for x, _ in user.state(named.format("torso", "points"))]
    assert right == pytest.approx([min(xs) + max(xs) - left[0], left[1]], abs=0.11)
    user.checked()


_MIRRORED = """async () => {
  const { mirrorPart } = await import("/placement.js");
  const square = [[10, 10], [20, 10], [20, 20], [10, 20]];
  const parts = [
    { id: 1, name: "dial", parent: null, points: [[0, 0], [50, 0], [50, 40]], pivot: null },
    { id: 4, name: "Left 2", parent: 1, points: square, pivot: [12, 15], pixels_from: "a",
      reading: { unit: "bar", at: [[-30, 1], [20, 4]] } },
  ];
  const draft = { name: "", picture: { width: 60, height: 60 }, parts, paintOrder: [4, 1] };
  const [next, id] = mirrorPart(draft, 4);
  return [next.parts.at(-1), next.paintOrder, id];
}"""


def test_a_mirrored_part_turns_the_other_way(user: User) -> None:
    copy, order, added = user.page.evaluate(_MIRRORED)
    assert (copy["id"], added, order) == (5, 5, [4, 5, 1])
    assert (copy["name"], copy["parent"], copy["pixels_from"]) == ("Right", 1, None)
    assert copy["points"] == [[40, 10], [30, 10], [30, 20], [40, 20]]
    assert copy["pivot"] == [38, 15]
    assert copy["reading"] == {"unit": "bar", "at": [[-20, 4], [30, 1]]}


def test_any_drawing_tool_redraws(user: User) -> None:
    outlined(user)
    user("#redraw").click()
    expect(user("#hint")).to_contain_text("Redraw “part”.")
    user('[data-tool="box"]').click()
    user.drag((80, 20), (120, 35))
    expect(user("#tree li")).to_have_count(2)
    assert flat(user.state(part(1))) == pytest.approx([80, 20, 120, 20, 120, 35, 80, 35], abs=0.5)
    # Another part ends it: what is drawn then is new.
    user("#redraw").click()
    user("#tree li").first.click()
    user.page.keyboard.press("b")
    user.drag((85, 90), (120, 110))
    expect(user("#tree li")).to_have_count(3)
    assert flat(user.state(part(0))) == pytest.approx(flat(box(*BODY)), abs=0.5)


def test_copies_on_a_phone(phone: User) -> None:
    phone.load("picture", CRANE)
    expect(phone('[data-tool="outline"]')).to_have_attribute("aria-pressed", "true")
    for corners in (box(*BODY), box(*ARM)):
        phone('[data-tool="outline"]').tap()
        for x, y in [*corners, corners[0]]:
            phone.page.touchscreen.tap(*phone.screen(x, y))
    expect(phone("#tree li")).to_have_count(2)
    phone("#mirror").tap()
    expect(phone("#tree li")).to_have_count(3)
    phone("#duplicate").scroll_into_view_if_needed()
    phone.checked()
    phone.shot("28-phone-mirrored")
    phone.fits()
