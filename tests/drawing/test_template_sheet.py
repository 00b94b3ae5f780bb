"""The sheet: it shows every part and joint, whatever the size."""

import numpy as np
import pytest
import torch

from detecting import walker
from wherein.demo import ROBOT
from wherein.drawing.palette import colors
from wherein.drawing.template_sheet import draw_canvas, sheet
from wherein.images.motif import Motif
from wherein.making import Finding, Severity, findings
from wherein.template import Template


def shows(image: np.ndarray, color: tuple[int, int, int]) -> int:
    """Pixels that are about of a colour."""
    return int((np.abs(image.astype(int) - color).max(-1) < 40).sum())


def test_every_mask_is_outlined_in_its_colour() -> None:
    template = Template.load(ROBOT)
    palette = colors(template.parts.leaves)
    drawn = np.asarray(draw_canvas(template, palette))
    bare = np.asarray(draw_canvas(template, dict.fromkeys(palette, (0, 0, 0))))
    for name, color in palette.items():
        assert shows(drawn, color) > shows(bare, color) + 100, name


def test_joints_are_drawn_where_they_are() -> None:
    template = walker()
    image = draw_canvas(template, colors(template.parts.leaves))
    zoom = image.width / template.size[0]
    joints = {part.joint for part in template.parts.values() if part.moves}
    for name, part in template.parts.items():
        x, y = ((place + 0.5) * zoom for place in part.joint)
        dark = max(image.getpixel((round(x), round(y)))[:3])  # type: ignore[index]
        light = min(image.getpixel((round(x) + 4, round(y)))[:3])  # type: ignore[index]
        assert (dark < 60 and light > 200) == (part.joint in joints), name


@pytest.mark.parametrize("size", [(3, 3), (900, 40), (5, 700)])
def test_any_size(size: tuple[int, int]) -> None:
    template = Template.rigid("odd", Motif.whole(torch.rand(3, size[1], size[0])))
    drawn = sheet(template, [])
    assert 500 < drawn.width < 1500 and 70 < drawn.height < 1500


def test_long_findings_and_deep_trees_have_room() -> None:
    template = walker()
    long = Finding(Severity.WARNING, "x", "arm", 1, 2, "px", "word " * 120, "advice")
    one, many = sheet(template, findings(template)), sheet(template, [long] * 4)
    assert many.width == one.width and many.height > one.height + 200
    badge = np.asarray(many)[one.height - 60 :, 24:100]
    assert shows(badge, (215, 140, 20)) > 4 * 600
