"""Templates that are opened as drafts, edited and compiled again."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import dial_outlines, dial_photograph, group, leaf, noise, template, walker
from walkers import SCALE, gauge
from wherein.demo import ROBOT
from wherein.errors import TemplateError
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.making import cut
from wherein.studio.drafts import (
    Draft,
    DraftPicture,
    DraftReading,
    compile_draft,
    draft_from,
    opaque_canvas,
)
from wherein.template import Reading, Template
from wherein.template.pose import placed, tilted


def opened(of: Template) -> tuple[Draft, DraftPicture]:
    return draft_from(of, "0"), DraftPicture("a", opaque_canvas(of), of)


def changed(draft: Draft, name: str, /, **patch: object) -> Draft:
    parts = tuple(p.model_copy(update=patch) if p.name == name else p for p in draft.parts)
    return draft.model_copy(update={"parts": parts})


@pytest.mark.parametrize("name", ["robot", "walker"])
def test_what_was_opened_and_not_changed_is_as_it_was(name: str) -> None:
    of = Template.load(ROBOT) if name == "robot" else walker()
    draft, picture = opened(of)
    made = compile_draft(draft, picture)
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
    draft = draft_from(of)
    picture = DraftPicture("a", opaque_canvas(of), of, draft)
    renamed = draft.model_copy(update={"name": "runner"})
    assert compile_draft(draft, picture).fingerprint == of.fingerprint
    made = compile_draft(renamed, picture)
    assert (made.name, made.fingerprint) == ("runner", of.fingerprint)


def test_joints_and_names_change_without_touching_pixels() -> None:
    of = walker()
    draft, picture = opened(of)
    draft = changed(draft, "leg", name="foot", pivot=(70.0, 80.0), turn=77.0)
    order = tuple(name if name != "leg" else "foot" for name in draft.paint_order)
    made = compile_draft(draft.model_copy(update={"paint_order": order}), picture)
    foot, leg = made.parts["foot"], of.parts["leg"]
    assert foot.turn == 77
    assert foot.motif is not None
    assert leg.motif is not None
    assert torch.equal(foot.motif.pixels, leg.motif.pixels)
    corner = np.array(leg.at) - foot.at
    assert foot.joint == pytest.approx(np.array((70.0, 80.0)) - corner)


def test_a_reading_is_kept_changed_and_removed() -> None:
    of = gauge()
    draft, picture = opened(of)
    assert compile_draft(draft, picture).parts["needle"].reading == SCALE
    other = DraftReading(unit="bar", at=((30.0, 2.0), (0.0, 1.0)))
    made = compile_draft(changed(draft, "needle", reading=other), picture)
    assert made.parts["needle"].reading == Reading("bar", ((0.0, 1.0), (30.0, 2.0)))
    assert compile_draft(changed(draft, "needle", reading=None), picture).parts["needle"].reading is None
    with pytest.raises(TemplateError, match='the part "needle" has a reading, but cannot turn'):
        compile_draft(changed(draft, "needle", static=True), picture)


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
    draft, picture = opened(of)
    lid = ((30.0, 5.0), (60.0, 5.0), (60.0, 30.0), (30.0, 30.0))
    made = compile_draft(changed(draft, "lid", pixels_from=None, points=lid), picture)
    plate, was = made.parts["plate"].motif, of.parts["plate"].motif
    assert plate is not None
    assert was is not None
    assert torch.equal(plate.pixels, was.pixels)
    # What the new outline takes is no longer the plate's; the rest of it, once hidden, still is.
    assert plate.mask[2, 21:24].min() == 1
    assert plate.mask[2, 27:].max() == 0


def test_a_new_part_is_cut_out_of_what_it_lies_on() -> None:
    of = Template.rigid("tile", leaf("tile", None, noise(60, 60, 3)).motif)
    draft, picture = opened(of)
    window = {
        "name": "window",
        "parent": "tile",
        "points": [(9.5, 9.5), (29.5, 9.5), (29.5, 29.5), (9.5, 29.5)],
    }
    both = Draft.model_validate({**draft.model_dump(), "parts": [*draft.model_dump()["parts"], window]})
    made = compile_draft(both.model_copy(update={"paint_order": ("tile", "window")}), picture)
    assert list(made.parts) == ["tile_group", "tile", "window"]
    tile, cut = made.parts["tile"].motif, made.parts["window"].motif
    assert tile is not None
    assert cut is not None
    assert tile.mask[10:30, 10:30].max() == 0
    assert int((tile.mask > 0.5).sum()) == 3600 - 400
    assert torch.equal(cut.pixels, of.canvas.pixels[:, 10:30, 10:30])


def test_a_part_that_the_opened_template_does_not_have() -> None:
    draft, picture = opened(walker())
    with pytest.raises(TemplateError, match='no picture for "leg"'):
        compile_draft(changed(draft, "leg", pixels_from="wing"), picture)


@pytest.mark.parametrize("kept", [True, False])
def test_an_outline_without_corners_is_refused_in_words(kept: bool) -> None:
    draft, picture = opened(walker())
    empty = changed(draft, "leg", points=(), **({} if kept else {"pixels_from": None}))
    with pytest.raises(TemplateError, match="leg"):
        compile_draft(empty, picture)


def test_implicit_groups_disappear_and_others_stay() -> None:
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
    parts = {part.name: part for part in draft_from(of).parts}
    assert {name: part.parent for name, part in parts.items()} == {
        "body": None,
        "arm": "body",
        "hand": "arm",
        "pair": "body",
        "eye": "pair",
    }
    assert (parts["arm"].turn, parts["arm"].static, parts["arm"].pivot) == (33.0, False, (50.0, 10.0))
    made = compile_draft(*opened(of))
    assert {name: part.parent for name, part in made.parts.items()} == {
        name: part.parent for name, part in of.parts.items()
    }


def test_the_picture_is_white_where_the_canvas_is_transparent() -> None:
    pixels, mask = torch.rand(3, 4, 5), torch.zeros(4, 5)
    mask[1, 2] = 0.5
    of = template(leaf("a", None, noise(4, 5, 0)), size=(5, 4))
    shown = opaque_canvas(Template("a", Picture(pixels, mask), of.parts, of.paint_order)).pixels
    assert torch.equal(shown[:, 1, 2], pixels[:, 1, 2])
    assert shown.flatten(1).sum(1).allclose(19 + pixels[:, 1, 2])


def test_a_group_keeps_no_pixels() -> None:
    draft, picture = opened(walker())
    made = compile_draft(changed(draft, "arm", pixels_from="upper"), picture)
    assert made.parts["arm"].motif is None
    assert made.paint_order == walker().paint_order


def test_an_outline_of_too_many_corners_is_refused_in_words() -> None:
    """A comb of combs, which is a valid template: `wherein detect` finds it, but no one could edit it."""
    y, x = torch.meshgrid(torch.arange(600), torch.arange(600), indexing="ij")
    mask = ((x % 12 < 3) | (y < 3) | ((y % 6 < 3) & (x % 12 < 9))).float()
    comb = Template.rigid("comb", Motif(torch.rand(3, 600, 600), mask))
    with pytest.raises(
        TemplateError, match=r'The outline of "comb" has 20002 corners. The studio edits outlines'
    ):
        draft_from(comb)


def test_an_opened_template_keeps_its_plane_and_its_readings() -> None:
    pose = placed(0.0, 1.0, (160.0, 140.0), (80.0, 80.0)) @ tilted(30.0, 70.0, 500.0, (80.0, 80.0))
    plate, needle = dial_outlines(pose)
    read = replace(needle, reading={"unit": "bar", "at": [[-100.0, 0.0], [120.0, 10.0]]})
    of = cut(dial_photograph(pose), [plate, read], "dial")
    assert of.parts.plane is not None and of.parts["needle"].reading is not None
    draft, picture = opened(of)
    shown = {part.name: part for part in draft.parts}["needle"].reading
    assert shown is not None
    # As one sees them in the picture.
    assert np.allclose(shown.at, [[-100.0, 0.0], [120.0, 10.0]], atol=1e-6)
    made = compile_draft(changed(draft, "needle", turn=170.0), picture)
    assert made.parts.plane is not None and made.parts["needle"].reading is not None
    assert np.allclose(made.parts.plane, of.parts.plane)
    assert np.allclose(made.parts["needle"].reading.at, of.parts["needle"].reading.at, atol=0.5)
