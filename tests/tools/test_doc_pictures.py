"""The pictures of the documentation: small, shown on a page, and of scenes whose truth is known."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from detecting import made_up
from tools.doc_pictures import NEAR_GAUGE, gauge, glass, glass_scenes, panel
from wherein import Detector
from wherein.demo.dial_pictures import overexposed
from wherein.demo.gauge_scene import NEEDLE, gauge_scene
from wherein.motion.homography import mapped
from wherein.template.pose import matrices

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = "".join(page.read_text() for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("name", ["gauge.jpg", "glare.jpg", "print.jpg", "glass.jpg"])
def test_a_picture_is_small_and_shown(name: str) -> None:
    assert (DOCS / name).stat().st_size < 60_000
    with Image.open(DOCS / name) as picture:
        assert picture.height == 400
    assert f"{name})" in PAGES


def test_a_panel_has_the_box_of_the_scene_and_the_legend_below_it() -> None:
    """The picture of dial.md, with a detection whose line is wider than the scene."""
    template, shown = gauge(), gauge_scene(gauge(), 0)
    known = made_up(template, threshold=0.3, scale=(0.7, 1.0), tilt=40)
    detector = Detector(template, scale=(0.7, 1.0), tilt=40, calibration=known)
    found = detector(shown.pixels)
    drawn, whole = panel(found, NEAR_GAUGE), found.draw(legend=True)
    left, top, right, bottom = NEAR_GAUGE
    assert whole.width > found.size[0]
    assert drawn.width == right - left
    assert drawn.height > bottom - top + 20
    np.testing.assert_array_equal(drawn.crop((0, 0, right - left, bottom - top)), whole.crop(NEAR_GAUGE))


def test_glare_covers_the_needle_and_leaves_the_rim() -> None:
    template, shown = gauge(), gauge_scene(gauge(), 0)
    glaring = overexposed(shown, template)
    reading = template.parts[NEEDLE].reading
    assert reading is not None
    turn = np.interp(shown.value, *np.transpose([(value, turn) for turn, value in reading.at]))
    needle = matrices(template.parts, shown.root, {NEEDLE: float(turn)})[NEEDLE]
    x, y = mapped(needle, template.outlines[NEEDLE]).mean(0).round().astype(int)
    assert shown.pixels[:, y, x].max() < 0.8
    assert glaring[:, y, x].min() == 1
    left, top, right, bottom = NEAR_GAUGE
    outside = glaring - shown.pixels
    outside[:, top:bottom, left:right] = 0
    assert outside.max() < 0.2


def test_the_glass_is_seen_through() -> None:
    assert 0.1 < float(glass().mask[60:120, 50:80].median()) < 0.2
    (wall, gravel), _ = glass_scenes()
    assert gravel[:, 180:240, 200:240].std() > 3 * wall[:, 180:240, 200:240].std()
