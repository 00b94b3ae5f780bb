"""The demonstration's template is what tools/robot draws, and it is a tree of parts that can be found."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tools.robot.parts import SIZE
from tools.robot.template import MARGIN, draw_pieces, write
from wherein.demo import ROBOT

TEMPLATE: dict[str, Any] = json.loads((ROBOT / "template.json").read_text())
PARTS: dict[str, dict[str, Any]] = TEMPLATE["parts"]
LEAVES = [name for name, part in PARTS.items() if "image" in part]
MOVING = [name for name, part in PARTS.items() if part["parent"] is not None and not part.get("static")]


def picture(name: str) -> Image.Image:
    return Image.open(ROBOT / name)


def mask(name: str) -> np.ndarray:
    """How much of each canvas pixel a part covers; a group covers what its parts do."""
    if name in LEAVES:
        canvas = Image.new("RGBA", SIZE)
        canvas.paste(picture(PARTS[name]["image"]), tuple(PARTS[name]["at"]))
        return np.asarray(canvas)[..., 3]
    return np.maximum.reduce([mask(child) for child, part in PARTS.items() if part["parent"] == name])


def depth(name: str) -> int:
    parent = PARTS[name]["parent"]
    return 1 if parent is None else 1 + depth(parent)


def test_drawing_again_gives_the_same_template(tmp_path: Path) -> None:
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in ROBOT.iterdir()}
    assert json.loads((tmp_path / "template.json").read_text()) == TEMPLATE
    for path in sorted(tmp_path.glob("*.png")):
        drawn, kept = Image.open(path), picture(path.name)
        assert drawn.mode == kept.mode == "RGBA"
        np.testing.assert_array_equal(np.asarray(drawn), np.asarray(kept), err_msg=path.name)


def test_the_canvas_is_the_parts_painted_in_order() -> None:
    canvas = Image.new("RGBA", SIZE)
    for name in TEMPLATE["paint_order"]:
        canvas.alpha_composite(picture(PARTS[name]["image"]), tuple(PARTS[name]["at"]))
    np.testing.assert_array_equal(np.asarray(canvas), np.asarray(picture(TEMPLATE["canvas"])))


def test_one_tree_of_three_levels_with_six_parts_or_more_that_move() -> None:
    assert TEMPLATE["format"] == "wherein-template/1"
    assert [name for name, part in PARTS.items() if part["parent"] is None] == [TEMPLATE["name"]]
    assert all(part["parent"] in PARTS for part in PARTS.values() if part["parent"] is not None)
    assert not {part["parent"] for part in PARTS.values()} & set(LEAVES)
    assert sorted(TEMPLATE["paint_order"]) == sorted(LEAVES)
    assert len(MOVING) >= 6
    assert max(map(depth, PARTS)) >= 3


@pytest.mark.parametrize("name", MOVING)
def test_a_moving_part_turns_about_a_point_of_its_own(name: str) -> None:
    part = PARTS[name]
    left, top = part.get("at", (0, 0))
    x, y = part["pivot"][0] + left, part["pivot"][1] + top
    assert mask(name)[round(y), round(x)] == 255
    assert 20 <= part["turn"] <= 40


@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_is_opaque_inside_with_an_empty_margin(name: str) -> None:
    alpha = np.asarray(picture(PARTS[name]["image"]))[..., 3]
    assert (alpha == 255).sum() > 400
    inner = alpha[MARGIN:-MARGIN, MARGIN:-MARGIN]
    assert inner.astype(int).sum() == alpha.astype(int).sum()
    assert min(alpha.shape) >= 14


@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_has_contrast_in_every_direction(name: str) -> None:
    pixels = np.asarray(picture(PARTS[name]["image"])).astype(float)
    grey, inside = pixels[..., :3].mean(-1), pixels[..., 3] == 255
    down, across = (slope[inside] for slope in np.gradient(grey))
    weakest = np.linalg.eigvalsh(np.cov(np.stack((across, down)), bias=True))[0]
    assert weakest > 10**2  # ten levels a pixel


def test_no_window_cuts_a_piece_off() -> None:
    for drawn in draw_pieces():
        left, top, right, bottom = drawn.piece.window
        assert drawn.at[0] >= left
        assert drawn.at[1] >= top
        assert drawn.at[0] + drawn.image.width <= right
        assert drawn.at[1] + drawn.image.height <= bottom


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in ROBOT.iterdir()) < 300_000
