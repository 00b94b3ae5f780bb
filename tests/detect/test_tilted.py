"""Flat objects that are tilted out of the picture plane."""

import numpy as np
import pytest
import torch

import wherein
from detecting import off, painted, photo, ready, walker
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import placed
from wherein.template.pose import tilted as tilt_of
from wherein.warp import warp

LEFT, TOP, WIDTH, HEIGHT = 190, 90, 250, 220
CORNERS = np.array(((0, WIDTH - 1, WIDTH - 1, 0), (0, 0, HEIGHT - 1, HEIGHT - 1), (1, 1, 1, 1)))


def tilted(picture: torch.Tensor, degrees: float) -> tuple[torch.Tensor, np.ndarray]:
    """The picture turned about its upright middle, seen from 800 px away, and the homography to there."""
    height, width = picture.shape[-2:]
    a, middle = np.radians(degrees), np.array(((1, 0, -width / 2), (0, 1, -height / 2), (0, 0, 1)))
    plane = np.array(((np.cos(a), 0, 0), (0, 1, 0), (-np.sin(a), 0, 800)))
    there = np.linalg.inv(middle) @ np.diag((800, 800, 1)) @ plane @ middle
    y, x = np.mgrid[:height, :width]
    back = np.linalg.inv(there) @ np.stack((x.ravel(), y.ravel(), np.ones(x.size)))
    field = torch.from_numpy((back[:2] / back[2]).T.reshape(height, width, 2)).float()
    return warp(picture, field).clamp(0, 1), there


def corners(matrix: np.ndarray) -> np.ndarray:
    ends = (matrix if len(matrix) == 3 else np.vstack((matrix, (0, 0, 1)))) @ CORNERS
    return ends[:2] / ends[2]


@pytest.mark.parametrize("degrees", [20.0, 40.0])
def test_a_tilted_object_is_found_in_perspective(degrees: float) -> None:
    coffee = photo("coffee", 600, 400)
    motif = coffee[:, TOP : TOP + HEIGHT, LEFT : LEFT + WIDTH].contiguous()
    cup = Template.rigid("cup", Motif.whole(motif))
    scene, there = tilted(coffee, degrees)
    truth = corners(there @ np.array(((1, 0, LEFT), (0, 1, TOP), (0, 0, 1))))
    (found,) = ready(cup, scale=(0.8, 1.25), tilt=40.0)(scene)
    assert found.matrix.shape == (3, 3)
    assert np.abs(corners(found.matrix) - truth).max() < 2
    assert found.tilt == pytest.approx(degrees, abs=2)
    assert found.angle == pytest.approx(0, abs=1)
    part = found.parts["cup"]
    assert part.tilt == pytest.approx(found.tilt)
    result = wherein.register(scene, motif, "homography", start=found.matrix)
    assert np.abs(corners(result.matrix) - truth).max() < 0.1


def test_a_limb_of_a_tilted_object_turns_in_its_plane() -> None:
    made = walker()
    plane = placed(25.0, 1.0, (200.0, 150.0), made.centre) @ tilt_of(35.0, 60.0, 600.0, made.centre)
    turns = {"arm": 20.0, "wrist": -30.0, "leg": 15.0}
    scene, where = painted(made, plane, turns, on=photo("coffee", 400, 300))
    (item,) = ready(made, scale=(0.8, 1.25), tilt=40.0)(scene)
    assert item.tilt == pytest.approx(35, abs=4)
    for name in ("trunk", "upper", "hand", "leg"):
        assert item.parts[name].found, name
        pixels, degrees = off(made, name, item.parts[name].matrix, where[name])
        assert pixels < 1, name
        assert degrees < 2, name
    assert item.parts["arm"].turn == pytest.approx(20, abs=3)
    assert item.parts["leg"].turn == pytest.approx(15, abs=3)


def test_without_tilt_matrices_have_two_rows() -> None:
    made = walker()
    scene, _ = painted(made, placed(25.0, 1.0, (160.0, 120.0), made.centre))
    (item,) = ready(made)(scene)
    assert item.matrix.shape == (2, 3)
    assert {part.matrix.shape for part in item.parts.values()} == {(2, 3)}
    assert item.tilt == pytest.approx(0, abs=1e-3)
