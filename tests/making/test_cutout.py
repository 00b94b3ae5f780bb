"""From outlines to a template: the tree, the masks, and what is wrong in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.making import Outline, cut, part_tree
from wherein.template import Reading, Template
from wherein.template.part_limits import DEFAULT_TURN

PICTURE = noise(71, 93)
"""(3, 71, 93)."""


def box(name: str, left: int, top: int, width: int, height: int, **joint: object) -> Outline:
    return replace(Outline.box(name, left, top, width, height), **joint)


BODY = box("body", 20, 30, 40, 30)
ARM = box("arm", 50, 34, 30, 10, pivot=(54.0, 38.5), turn=40.0)
SCALE = {"unit": "bar", "at": [[-40, 0], [40, 10]]}


def test_a_single_outline_is_a_rigid_motif() -> None:
    made = cut(PICTURE, [box("mug", 20, 30, 41, 27)], "mug")
    assert (made.name, made.size, made.parts.root, made.parts.leaves) == ("mug", (41, 27), "mug", ("mug",))
    assert torch.equal(made.canvas.pixels, PICTURE[:, 30:57, 20:61])
    part = made.parts["mug"]
    assert (part.at, part.pivot, part.moves, part.static) == ((0, 0), (20, 13), False, False)
    assert part.motif is not None
    assert torch.equal(part.motif.pixels, made.canvas.pixels)
    assert bool((part.motif.mask == 1).all())


def test_parts_side_by_side_get_a_root() -> None:
    made = cut(PICTURE, [ARM, BODY], "crab")
    tree = made.parts
    assert (tree.root, set(tree.children("crab"))) == ("crab", {"body", "arm"})
    assert made.size == (60, 30)
    assert made.paint_order == ("body", "arm")  # the largest lowest, whatever came first
    assert not tree["body"].moves and tree["body"].static
    assert tree["arm"].moves and tree["arm"].turn == 40
    assert (tree["arm"].at, tree["arm"].joint) == ((30, 4), (34, 8.5))
    assert tree["crab"].pivot == made.centre and not tree["crab"].static


def test_a_part_with_others_on_it_is_a_leaf_of_a_group() -> None:
    hand = box("hand", 76, 34, 12, 10, parent="arm", pivot=(78.0, 38.5))
    made = cut(PICTURE, [BODY, replace(ARM, parent="body"), hand], "crane")
    tree = made.parts
    assert {name: part.parent for name, part in tree.items()} == {
        "crane": None,
        "body": "crane",
        "arm_group": "crane",
        "arm": "arm_group",
        "hand": "arm_group",
    }
    assert tree["arm_group"].joint == (34, 8.5) and tree["arm_group"].turn == 40 and tree["arm_group"].moves
    assert not tree["arm"].moves and not tree["body"].moves
    assert tree["hand"].joint == (58, 8.5) and tree["hand"].moves


def test_a_reading_stays_with_the_joint() -> None:
    needle = replace(ARM, parent="body", reading=SCALE)
    made = cut(PICTURE, [BODY, needle], "gauge")
    assert made.parts["arm"].reading == Reading("bar", ((-40.0, 0.0), (40.0, 10.0)))
    tip = box("tip", 76, 34, 12, 10, parent="arm", pivot=(78.0, 38.5))
    chained = cut(PICTURE, [BODY, replace(needle, reading=made.parts["arm"].reading), tip], "gauge").parts
    assert chained["arm_group"].reading == made.parts["arm"].reading
    assert chained["arm"].reading is None


def test_without_a_turn_a_joint_turns_by_that_of_template_json() -> None:
    joint = cut(PICTURE, [BODY, replace(ARM, parent="body", turn=None)], "gauge").parts["arm"]
    assert joint.moves and joint.turn == DEFAULT_TURN
    assert Outline("arm").turn is None  # as in the contract


def test_groups_are_outlines_without_a_shape() -> None:
    eyes = Outline("eyes", parent="body", pivot=(40.0, 32.0), turn=15.0)
    left, right = (box(n, x, 31, 6, 6, parent="eyes") for n, x in (("left", 30), ("right", 44)))
    tree = cut(PICTURE, [left, right, eyes, BODY], "face").parts
    assert tree.children("eyes") == ("left", "right")
    assert tree["eyes"].joint == (20, 2) and tree["eyes"].moves and not tree["left"].moves


def test_a_root_of_ones_own_stays() -> None:
    root = Outline("crab")
    tree = cut(PICTURE, [root, replace(BODY, parent="crab"), replace(ARM, parent="crab")], "Krabbe").parts
    assert (tree.root, len(tree)) == ("crab", 3)


def test_the_objects_name_may_be_a_parts() -> None:
    tree = cut(PICTURE, [BODY, ARM], "body").parts
    assert (tree.root, set(tree)) == ("body_group", {"body_group", "body", "arm"})


def test_static_or_not_by_default_and_by_word() -> None:
    told = [ARM, replace(ARM, name="b", static=True), replace(ARM, name="c", pivot=None, static=False)]
    made = [cut(PICTURE, [BODY, arm], "x").parts[arm.name] for arm in told]
    assert [part.moves for part in made] == [True, False, True]
    assert made[2].pivot == (14.5, 4.5)  # its own middle


def test_a_pixel_shows_the_topmost_part_only() -> None:
    made = cut(PICTURE, [BODY, ARM], "crab")
    body, arm = made.parts["body"].motif, made.parts["arm"].motif
    assert body is not None and arm is not None
    hole = torch.ones(30, 40)
    hole[4:14, 30:40] = 0
    assert torch.equal(body.mask, hole)
    assert bool((arm.mask == 1).all())
    assert made.canvas.mask is not None and made.canvas.mask.sum() == 40 * 30 + 20 * 10
    below = cut(PICTURE, [BODY, ARM], "crab", ["arm", "body"])
    assert below.paint_order == ("arm", "body")
    assert below.parts["arm"].motif is not None and below.parts["arm"].motif.width == 20
    assert below.parts["arm"].joint == (34, 8.5)  # whatever is cut off
    kept = cut(PICTURE, [BODY, ARM], "crab", keep_covered=True)
    assert kept.parts["body"].motif is not None and bool((kept.parts["body"].motif.mask == 1).all())


def test_what_hangs_on_a_part_lies_above_it() -> None:
    hand = box("hand", 66, 30, 20, 20, parent="arm", pivot=(70.0, 40.0))  # larger than the arm
    made = cut(PICTURE, [hand, replace(ARM, parent="body"), BODY], "crane")
    assert made.paint_order == ("body", "arm", "hand")


def test_edges_are_soft_and_sides_that_meet_leave_no_seam() -> None:
    left = Outline("left", [(10, 10), (20.25, 10), (20.25, 40), (10, 40)])
    right = Outline("right", [(20.25, 10), (50, 10), (50, 40), (20.25, 40)])
    made = cut(PICTURE, [left, right], "both")
    mask = made.parts["left"].motif.mask  # type: ignore[union-attr]
    assert mask[15, 5] == 1 and mask[15, 10] == pytest.approx(0.75, abs=1 / 255)
    assert made.canvas.mask is not None and bool((made.canvas.mask[1:-1, 1:-1] == 1).all())


def test_alpha_of_the_picture_counts() -> None:
    layers = torch.cat((PICTURE, torch.ones(1, 71, 93)))
    layers[3, :, :40] = 0
    made = cut(layers, [BODY], "half")
    assert made.size == (20, 30)


def test_a_mask_in_place_of_a_polygon() -> None:
    mask = np.zeros((71, 93), dtype=bool)
    mask[10:31, 20:53] = True
    made = cut(PICTURE, [Outline("m", mask=mask)], "m")
    assert made.size == (33, 21)
    assert torch.equal(made.canvas.pixels, PICTURE[:, 10:31, 20:53])


def test_what_reaches_over_the_edge_is_cut_off() -> None:
    assert cut(PICTURE, [box("corner", 80, 60, 50, 50)], "corner").size == (13, 11)


@pytest.mark.parametrize("target", ["folder", "deep/packed.zip"])
def test_what_is_saved_is_the_same_template(tmp_path: Path, target: str) -> None:
    made = cut(
        (PICTURE * 255).round() / 255, [BODY, replace(ARM, polygon=[(50, 34), (79, 36), (62, 43)])], "crab"
    )
    loaded = Template.load(made.save(tmp_path / target))
    assert loaded.fingerprint == made.fingerprint
    assert torch.equal(loaded.parts["arm"].motif.mask, made.parts["arm"].motif.mask)  # type: ignore[union-attr]


def test_a_folder_of_other_things_is_never_replaced(tmp_path: Path) -> None:
    made = cut(PICTURE, [BODY], "x")
    (tmp_path / "holiday").mkdir()
    (tmp_path / "holiday" / "beach.jpg").write_text("dear to someone")
    with pytest.raises(ArgumentError, match="a folder with other files"):
        made.save(tmp_path / "holiday", overwrite=True)
    assert (tmp_path / "holiday" / "beach.jpg").exists()
    made.save(tmp_path / "template")
    made.save(tmp_path / "template", overwrite=True)


@pytest.mark.parametrize(
    ("outlines", "words"),
    [
        ([], "there are no outlines"),
        (
            [Outline("line", [(1, 1), (20, 20)])],
            'the part "line" has a polygon of 2 corners: draw at least three',
        ),
        ([Outline("odd", [1.0, 2.0, 3.0])], 'the part "odd": its polygon must be a list of corners'),  # type: ignore[list-item]
        ([Outline("text", "abc")], 'the part "text": its polygon must be a list of corners'),  # type: ignore[arg-type]
        ([Outline("nan", [(1, 1), (20, 1), (20, float("nan"))])], "its polygon contains NaN or infinity"),
        (
            [box("far", 200, 10, 20, 20)],
            r'"far" lies outside the 93 × 71 picture: it extends from \(199.5, 9.5\)',
        ),
        ([Outline("sliver", [(1, 1), (20, 1), (20, 1.3)])], 'the part "sliver" is empty'),
        ([Outline("m", mask=np.zeros((71, 93)))], 'the part "m" has an empty mask'),
        (
            [Outline("m", mask=np.ones((70, 93)))],
            'the part "m" has a mask of 93 × 70 pixels, but the picture has 93 × 71',
        ),
        ([Outline("m", [(1, 1), (9, 1), (9, 9)], mask=np.ones((71, 93)))], "has a polygon and a mask"),
        ([BODY, BODY], 'two outlines are called "body"'),
        ([box(" ", 1, 1, 9, 9)], "an outline has no name"),
        ([BODY, replace(ARM, parent="bdoy")], 'the parent of the part "arm" is "bdoy", which does not exist'),
        ([replace(BODY, parent="arm"), replace(ARM, parent="body")], "form a cycle"),
        ([replace(BODY, parent="body")], "form a cycle"),
        ([BODY, Outline("eyes")], 'the part "eyes" has neither an outline nor children'),
        ([BODY, replace(ARM, turn=200.0)], 'the part "arm" has turn=200.0: use 0 to 180 degrees'),
        ([BODY, replace(ARM, pivot=(float("inf"), 0.0))], r'the part "arm" has pivot=\(inf, 0.0\)'),
        ([BODY, replace(ARM, reading="bar")], "the part \"arm\" has reading='bar': use"),
        ([BODY, replace(ARM, pivot=None, reading=SCALE)], 'the part "arm" has a reading, but cannot turn'),
        (
            [BODY, box("arm_group", 1, 1, 9, 9), ARM, box("hand", 70, 36, 9, 6, parent="arm")],
            'the name "arm_group" is needed for a group',
        ),
    ],
)
def test_what_is_wrong_in_words(outlines: list[Outline], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        cut(PICTURE, outlines, "thing")


def test_what_is_no_outline_or_name_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"outlines must be a list of wherein\.making\.Outline"):
        part_tree._by_name.__wrapped__(["body"])
    with pytest.raises(ArgumentError, match="the name of the template is empty"):
        cut.__wrapped__(torch.zeros(3, 9, 9), [], None)


def test_hidden_parts_orders_and_names() -> None:
    inside = box("inside", 30, 35, 5, 5)
    with pytest.raises(TemplateError, match='the part "inside" is completely covered'):
        cut(PICTURE, [BODY, inside], "x", ["inside", "body"])
    with pytest.raises(TemplateError, match='paint_order names "leg"'):
        cut(PICTURE, [BODY], "x", ["leg"])
    with pytest.raises(ArgumentError, match="the name of the template is empty"):
        cut(PICTURE, [BODY], " ")
    with pytest.raises(PictureError, match=r"picture: .*file not found"):
        cut("nowhere.png", [BODY], "x")


def test_nothing_that_was_given_is_changed() -> None:
    picture, mask = PICTURE.clone(), np.ones((71, 93))
    made = cut(picture, [Outline("m", mask=mask)], "m")
    made.canvas.pixels.zero_()
    assert torch.equal(picture, PICTURE) and bool((mask == 1).all())
