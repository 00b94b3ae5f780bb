"""Outlines from masks, and templates that are opened, changed and cut out again."""

import numpy as np
import pytest
import torch

from detecting import group, leaf, noise, template, walker
from wherein.demo import ROBOT
from wherein.errors import TemplateError
from wherein.images.load import Picture
from wherein.images.polygons import coverage
from wherein.studio.compiling import Sheet, compiled
from wherein.studio.draft import Draft
from wherein.studio.opening import opened, sheet_of
from wherein.studio.tracing import simplified, traced
from wherein.template import Template


def opened_sheet(of: Template) -> tuple[Draft, Sheet]:
    return opened(of, "0"), Sheet("a", sheet_of(of), of)


def changed(draft: Draft, name: str, /, **patch: object) -> Draft:
    parts = tuple(p.model_copy(update=patch) if p.name == name else p for p in draft.parts)
    return draft.model_copy(update={"parts": parts})


def test_traced_outlines_cover_what_they_were_traced_from() -> None:
    y, x = np.mgrid[:61, :87]
    shapes = [
        (x - 40) ** 2 / 30**2 + (y - 30) ** 2 / 20**2 < 1,
        (abs(x - 40) < 25) & (abs(y - 30) < 12) | (abs(x - 40) < 8),
        np.ones((5, 9), dtype=bool),
        np.eye(7, dtype=bool)[:, ::-1],
    ]
    for mask in shapes[:3]:
        outline = traced(mask)
        filled = coverage(outline, mask.shape[1], mask.shape[0]) > 0.5
        assert (filled != mask).sum() <= 0.04 * mask.sum()
        assert len(outline) < 60
    assert len(traced(shapes[3])) == 4  # one of the pixels: they touch at corners only


def test_holes_and_smaller_pieces_are_left_out() -> None:
    mask = np.zeros((40, 51), dtype=bool)
    mask[5:35, 5:35] = True
    mask[15:20, 15:20] = False
    mask[2:4, 45:48] = True
    assert traced(mask).tolist() == [[4.5, 4.5], [34.5, 4.5], [34.5, 34.5], [4.5, 34.5]]


def test_simplified_outlines_stay_near() -> None:
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack((50 * np.cos(angle), 50 * np.sin(angle)), 1)
    fewer = simplified(circle, 1.0)
    assert len(fewer) < 40
    middles = (fewer + np.roll(fewer, -1, axis=0)) / 2
    assert np.linalg.norm(middles, axis=1).min() > 48.9


@pytest.mark.parametrize("name", ["robot", "walker"])
def test_what_was_opened_and_not_changed_is_as_it_was(name: str) -> None:
    of = Template.load(ROBOT) if name == "robot" else walker()
    draft, sheet = opened_sheet(of)
    made = compiled(draft, sheet)
    corner = np.array(of.parts[of.paint_order[0]].at) - made.parts[of.paint_order[0]].at
    assert made.paint_order == of.paint_order
    for part in of.parts.values():
        if part.parent is None:
            continue
        again = made.parts[part.name]
        parent = made.parts.root if part.parent == of.parts.root else part.parent
        assert (again.parent, again.turn, again.static) == (parent, part.turn, part.static), part.name
        if part.motif is not None:
            assert again.motif is not None
            assert torch.equal(again.motif.pixels, part.motif.pixels)
            assert torch.equal(again.motif.mask, (part.motif.mask * 255).round() / 255)
            assert again.at == tuple(part.at - corner)
        if part.moves:
            assert again.joint == pytest.approx(part.joint - corner)


def test_the_same_draft_is_the_template_itself() -> None:
    of = walker()
    draft = opened(of, "")
    sheet = Sheet("a", sheet_of(of), of, draft)
    renamed = draft.model_copy(update={"name": "runner"})
    assert compiled(draft, sheet).fingerprint == of.fingerprint
    assert (compiled(renamed, sheet).name, compiled(renamed, sheet).fingerprint) == ("runner", of.fingerprint)


def test_joints_and_names_change_without_touching_pixels() -> None:
    of = walker()
    draft, sheet = opened_sheet(of)
    draft = changed(draft, "leg", name="foot", pivot=(70.0, 80.0), turn=77.0)
    order = tuple(name if name != "leg" else "foot" for name in draft.order)
    made = compiled(draft.model_copy(update={"order": order}), sheet)
    foot, leg = made.parts["foot"], of.parts["leg"]
    assert foot.turn == 77
    assert foot.motif is not None
    assert leg.motif is not None
    assert torch.equal(foot.motif.pixels, leg.motif.pixels)
    corner = np.array(leg.at) - foot.at
    assert foot.joint == pytest.approx(np.array((70.0, 80.0)) - corner)


def over_under() -> Template:
    """A plate half under a lid, with its own pixels there."""
    return template(
        group("box"),
        leaf("plate", "box", noise(30, 40, 1), (5.0, 5.0), static=True),
        leaf("lid", "box", noise(30, 40, 2), (25.0, 5.0)),
        size=(70, 40),
    )


def test_hidden_pixels_survive_a_part_that_is_drawn_anew() -> None:
    of = over_under()
    draft, sheet = opened_sheet(of)
    lid = ((30.0, 5.0), (60.0, 5.0), (60.0, 30.0), (30.0, 30.0))
    made = compiled(changed(draft, "lid", kept=None, points=lid), sheet)
    plate, was = made.parts["plate"].motif, of.parts["plate"].motif
    assert plate is not None
    assert was is not None
    assert torch.equal(plate.pixels, was.pixels)
    # What the new outline takes is no longer the plate's; the rest of it, once hidden, still is.
    assert plate.mask[2, 21:24].min() == 1
    assert plate.mask[2, 27:].max() == 0


def test_a_new_part_is_cut_out_of_what_it_lies_on() -> None:
    of = Template.rigid("tile", leaf("tile", None, noise(60, 60, 3)).motif)
    draft, sheet = opened_sheet(of)
    window = {
        "name": "window",
        "parent": "tile",
        "points": [(9.5, 9.5), (29.5, 9.5), (29.5, 29.5), (9.5, 29.5)],
    }
    both = Draft.model_validate({**draft.model_dump(), "parts": [*draft.model_dump()["parts"], window]})
    made = compiled(both.model_copy(update={"order": ("tile", "window")}), sheet)
    assert list(made.parts) == ["tile_group", "tile", "window"]
    tile, cut = made.parts["tile"].motif, made.parts["window"].motif
    assert tile is not None
    assert cut is not None
    assert tile.mask[10:30, 10:30].max() == 0
    assert int((tile.mask > 0.5).sum()) == 3600 - 400
    assert torch.equal(cut.pixels, of.canvas.pixels[:, 10:30, 10:30])


def test_a_part_that_the_opened_template_does_not_have() -> None:
    draft, sheet = opened_sheet(walker())
    with pytest.raises(TemplateError, match='no picture for "leg"'):
        compiled(changed(draft, "leg", kept="wing"), sheet)


def test_groups_made_by_rule_disappear_and_others_stay() -> None:
    of = template(
        group("made"),
        leaf("body", "made", noise(30, 40, 1), static=True),
        group("arm_group", "made", (50.0, 10.0), turn=33.0),
        leaf("arm", "arm_group", noise(20, 30, 2), (45.0, 5.0), static=True),
        leaf("hand", "arm_group", noise(15, 15, 3), (74.0, 5.0), (1.0, 7.0)),
        group("pair", "made", (20.0, 35.0)),
        leaf("eye", "pair", noise(9, 9, 4), (10.0, 32.0)),
        size=(95, 50),
    )
    parts = {part.name: part for part in opened(of, "0").parts}
    assert {name: part.parent for name, part in parts.items()} == {
        "body": None,
        "arm": "body",
        "hand": "arm",
        "pair": "body",
        "eye": "pair",
    }
    assert (parts["arm"].turn, parts["arm"].static, parts["arm"].pivot) == (33.0, False, (50.0, 10.0))
    made = compiled(*opened_sheet(of))
    assert {name: part.parent for name, part in made.parts.items()} == {
        name: part.parent for name, part in of.parts.items()
    }


def test_the_sheet_is_white_where_the_canvas_is_clear() -> None:
    pixels, mask = torch.rand(3, 4, 5), torch.zeros(4, 5)
    mask[1, 2] = 0.5
    of = template(leaf("a", None, noise(4, 5, 0)), size=(5, 4))
    shown = sheet_of(Template("a", Picture(pixels, mask), of.parts, of.paint_order)).pixels
    assert torch.equal(shown[:, 1, 2], pixels[:, 1, 2])
    assert shown.flatten(1).sum(1).allclose(19 + pixels[:, 1, 2])
