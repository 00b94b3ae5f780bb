"""Detections on a drawing: in perspective, with holes, and of a single motif."""

from dataclasses import replace

import numpy as np
from PIL import ImageFont

from walkers import TILTED, logo, ring, tilted
from wherein.drawing.detections import draw_frame
from wherein.drawing.legend import summaries
from wherein.drawing.palette import colors
from wherein.images.eight_bit import to_image
from wherein.images.polygons import signed_area
from wherein.motion.homography import mapped

EDGES = ("dial", [(-0.5, -0.5), (60.5, -0.5), (60.5, 60.5), (-0.5, 60.5)])


def test_the_outline_of_a_square_is_drawn_through_its_mapped_corners() -> None:
    some = tilted("needle")
    drawn = np.asarray(draw_frame(to_image(some.scene.pixels), some.items, (1,))).astype(int)
    name, square = EDGES
    corners = mapped(TILTED, square)
    wanted = colors(("dial", "needle"))[name]
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        # The dashed outline of the needle and the label lie over some of it.
        places = np.rint(start + np.linspace(0.05, 0.95, 40)[:, None] * (end - start)).astype(int)
        painted = np.abs(drawn[places[:, 1], places[:, 0]] - wanted).max(1) < 60
        assert painted.mean() > 0.8, (start, end)
    middle = np.rint(mapped(TILTED, (12, 50))).astype(int)
    assert (drawn[middle[1], middle[0]] == 128).all(), "inside it nothing is drawn"


def test_the_legend_says_the_tilt_and_what_is_read() -> None:
    (line,) = summaries(tilted().items)
    assert f"tilt {tilted()[0].tilt:.1f}°" in line
    assert line.endswith("2 of 2 parts found, needle: 70 °C")
    (lost,) = summaries(tilted("needle").items)
    assert lost.endswith("1 of 2 parts found, missing: needle")
    assert tilted().draw(legend=True).width >= ImageFont.load_default(13).getlength(line)


def test_a_single_motif_has_no_parts_to_count() -> None:
    (line,) = summaries(logo().items)
    assert line == "1: score 0.85, angle 0.0°, scale 1.000"


def test_holes_are_not_outlined() -> None:
    some = ring()
    pixels = (some.scene.pixels * 255).round().byte().movedim(0, -1).numpy()
    changed = (np.asarray(some.draw()) != pixels).any(-1)
    outlines = some[0].parts["ring"].rings
    assert [signed_area(one) > 0 for one in outlines] == [True, True, False]
    for outline, drawn in zip(outlines, (True, True, False), strict=True):
        corners = np.rint(outline).astype(int)
        assert changed[corners[:, 1], corners[:, 0]].all() == drawn
    (hole,) = outlines[2:]
    assert not changed[tuple(np.rint(hole.mean(0)).astype(int)[::-1])]


def test_a_single_motif_is_never_drawn_as_missing() -> None:
    """Its score counts, not whether its one part would count as found beside others."""
    whole = logo()
    (item,) = whole
    doubtful = replace(item, parts={"logo": replace(item.parts["logo"], found=False)})
    assert doubtful.missing == ()
    drawn = draw_frame(to_image(whole.scene.pixels), [doubtful], (1,))
    assert drawn.size == whole.size
    assert (np.asarray(drawn) == np.asarray(draw_frame(to_image(whole.scene.pixels), [item], (1,)))).all()
    assert tilted("needle")[0].missing == ("needle",)
