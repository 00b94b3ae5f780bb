"""Occurrence maps have the size of the scene; drawings show the detections."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import detector, empty, ready, scene, toy, upright
from wherein.drawing.heat import heat
from wherein.drawing.palette import colors
from wherein.template import Template, Tree


@pytest.mark.parametrize("size", [(120, 160), (117, 151)])
def test_the_peak_is_where_the_body_is(size: tuple[int, int]) -> None:
    template = toy()
    picture = scene(template, at=(83.5, 59.5))[:, : size[0], : size[1]]
    maps = detector(template).occurrence(picture)
    assert list(maps) == ["body"]
    assert maps["body"].shape == size
    assert maps["body"].max() <= 1
    y, x = np.unravel_index(maps["body"].argmax(), size)
    # The body's centre is 16 px to the left of the canvas's. The scene was reduced by 4 for the map.
    assert np.hypot(x - 67.5, y - 59.5) < 4
    assert maps["body"].max() > 0.75  # of 64 points of it
    assert np.sort(maps["body"].ravel())[-500] < 0.6  # a peak, not a plain


def test_larger_objects_have_their_peak_too() -> None:
    template = toy()
    finder = ready(template, 0.0, (1.0, 4.0))
    large = scene(template, at=(83.0, 57.0)).repeat_interleave(2, 1).repeat_interleave(2, 2)
    maps = finder.occurrence(large)
    y, x = np.unravel_index(maps["body"].argmax(), maps["body"].shape)
    assert np.hypot(x - 2 * 67, y - 2 * 57) < 8


def test_without_a_body_each_limb_has_a_map() -> None:
    whole = toy()
    parts = {**whole.parts, "body": replace(whole.parts["body"], static=False, turn=10.0)}
    template = Template(whole.name, whole.canvas, Tree(parts), whole.paint_order)
    finder = ready(template, rotation=0.0, calibration=upright(template))
    assert set(finder.occurrence(scene(template))) == {"body", "arm"}


def test_the_map_of_a_scene_that_is_too_small_is_empty() -> None:
    maps = detector(toy()).occurrence(torch.full((3, 1, 2), 0.5))
    assert maps["body"].shape == (1, 2)
    assert (maps["body"] == 0).all()


def test_heat_keeps_the_highest_and_the_proportions() -> None:
    values = np.zeros((500, 1200), np.float32)
    values[123, 457] = 1.0
    picture = np.asarray(heat(values))
    assert picture.shape == (167, 400, 4)
    assert picture[41, 152].tolist() == picture.reshape(-1, 4).max(0).tolist()


def test_a_drawing_shows_the_scene_outlines_and_a_legend() -> None:
    template = toy()
    found = detector(template)(scene(template))
    drawn = found.draw()
    assert drawn.size == (160, 120)
    assert found.draw(legend=True).height > 120
    pixels = np.asarray(drawn).reshape(-1, 3)
    for color in colors(("body", "arm")).values():
        assert (pixels == color).all(1).sum() > 20
    nothing = detector(template)(empty()).draw()
    assert nothing.size == (160, 120)


def test_colours_differ() -> None:
    for count in (1, 2, 3, 7, 12, 40):
        made = colors(str(k) for k in range(count))
        assert len(set(made.values())) == count


def test_drawing_what_lies_outside_the_frame() -> None:
    template = toy()
    found = detector(template)(scene(template, at=(20.0, 15.0)))
    assert found.draw().size == (160, 120)
    assert torch.isfinite(found.scene.pixels).all()
