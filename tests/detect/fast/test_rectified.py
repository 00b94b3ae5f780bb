"""Templates that were photographed at an angle: their joints, and their pictures as seen from in front."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from detecting import DIAL_RADIUS, dial, dial_outlines, dial_photograph
from wherein.detect.fast.rectified import rectified
from wherein.errors import TemplateError
from wherein.images.motif import Motif
from wherein.making import cut
from wherein.motion.canvas_plane import canvas_plane
from wherein.motion.homography import local_map, mapped, rotations
from wherein.template import Template, Tree
from wherein.template.pose import frames, placed, tilted
from wherein.template.reduced import reduced_template

CENTRE = (DIAL_RADIUS, DIAL_RADIUS)
POSE = placed(0.0, 1.0, (160.0, 140.0), CENTRE) @ tilted(30.0, 70.0, 500.0, CENTRE)
"""Dial → photograph."""


def askew() -> Template:
    """The dial from a photograph at an angle, with its true plane."""
    return cut(dial_photograph(POSE), dial_outlines(POSE), "dial", plane=np.linalg.inv(POSE))


def test_parts_turn_in_the_plane() -> None:
    made = askew()
    plane, joint = made.parts.plane, made.parts["needle"].joint
    assert plane is not None
    turned = frames(made.parts, np.eye(3), {"needle": 90.0})["needle"]
    in_plane = plane @ turned @ np.linalg.inv(plane)
    assert np.allclose(in_plane / in_plane[2, 2], rotations(np.array(90.0), mapped(plane, joint)))
    assert np.allclose(mapped(turned, joint), joint)


def test_the_pictures_are_those_from_in_front() -> None:
    made = rectified(askew(), 40.0)
    assert made.template.parts.plane is None
    assert made.template.parts["needle"].joint == pytest.approx(
        mapped(made.from_given, askew().parts["needle"].joint)
    )
    # At the middle of the canvas the size and the rotation are those of the photograph.
    linear = local_map(made.from_given, askew().centre)
    assert np.linalg.det(linear) == pytest.approx(1)
    assert linear[0, 1] == pytest.approx(linear[1, 0])
    plate = made.template.parts["plate"].motif
    assert plate is not None
    # It is round again.
    rows, columns = torch.nonzero(plate.mask > 0.5, as_tuple=True)
    height, width = int(rows.max() - rows.min()), int(columns.max() - columns.min())
    assert width == pytest.approx(height, abs=1)
    needle = made.template.parts["needle"].motif  # covers some of the plate
    assert needle is not None
    area = float(plate.mask.sum() + needle.mask.sum())
    assert area == pytest.approx(np.pi / 4 * (width + 1) ** 2, rel=0.02)


def test_a_template_steeper_than_the_range_stays_as_it_is() -> None:
    for tilt in (0.0, 20.0):
        made = rectified(askew(), tilt)
        assert made.template.parts.plane is None
        assert made.template.canvas is not None and np.array_equal(made.from_given, np.eye(3))
        assert made.template.size == askew().size


def test_a_template_from_in_front_stays_the_same() -> None:
    front = dial()
    assert rectified(front, 40.0).template is front


def test_the_plane_is_saved_and_counts(tmp_path: Path) -> None:
    made = askew()
    loaded = Template.load(made.save(tmp_path / "dial"))
    assert np.array_equal(loaded.parts.plane, made.parts.plane)
    assert loaded.fingerprint == made.fingerprint
    assert replace(made, parts=Tree(made.parts)).fingerprint != made.fingerprint


@pytest.mark.parametrize(
    "plane",
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
        [[1, 0, 0], [0, -1, 0], [0, 0, 1]],  # a mirror
        [[1, 0, 0], [0, 1, 0], [-0.02, 0, 1]],  # its horizon crosses the canvas
        [[1, 0, 0], [0, 9, 0], [0, 0, 1]],
        [[1, 0, 0], [0, 1, 0], [-0.0055, 0, 1]],  # a canvas of far more pixels
    ],
)
def test_a_plane_that_cannot_be(tmp_path: Path, plane: list[list[float]]) -> None:
    folder = askew().save(tmp_path / "dial")
    spec = json.loads((folder / "template.json").read_text())
    (folder / "template.json").write_text(json.dumps(spec | {"plane": plane}))
    with pytest.raises(TemplateError, match="plane"):
        Template.load(folder)


def test_a_reduced_template_has_the_same_plane() -> None:
    made = askew()
    small = reduced_template(made, 2)
    assert made.parts.plane is not None and small.parts.plane is not None
    whole, half = canvas_plane(made.parts.plane, made.size), canvas_plane(small.parts.plane, small.size)
    # The middle of a pixel of the small canvas is at the corner of four of the large one.
    in_whole, in_half = local_map(whole, (40.5, 40.5)), local_map(half, (20.0, 20.0))
    assert in_whole / np.sqrt(np.linalg.det(in_whole)) == pytest.approx(
        in_half / np.sqrt(np.linalg.det(in_half)), abs=0.02
    )


def test_thin_parts_keep_pixels() -> None:
    made = askew()
    motif = rectified(made, 40.0).template.parts["needle"].motif
    assert motif is not None and bool((motif.mask > 0.5).any())
    assert torch.isfinite(motif.pixels).all()


def test_a_transparent_border_beyond_the_horizon() -> None:
    made = askew()
    part = made.parts["needle"]
    assert part.motif is not None
    border = (5000, 0)
    wide = Motif(*(torch.nn.functional.pad(one, border) for one in (part.motif.pixels, part.motif.mask)))
    (left, top), (x, y) = part.at, part.pivot
    moved = replace(part, motif=wide, at=(left - 5000, top), pivot=(x + 5000, y))
    parts = Tree({**made.parts, "needle": moved}, made.parts.plane)
    found = rectified(replace(made, parts=parts), 40.0).template.parts["needle"]
    same = rectified(made, 40.0).template.parts["needle"]
    assert found.motif is not None and same.motif is not None
    assert found.joint == pytest.approx(same.joint)
    assert found.motif.mask.shape == same.motif.mask.shape
