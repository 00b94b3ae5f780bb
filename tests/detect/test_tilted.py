"""A flat object that is tilted: its detection is a start for a homography."""

import numpy as np
import pytest
import torch

import wherein
from detecting import made_up, photo
from wherein.images.motif import Motif
from wherein.template import Template
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


@pytest.mark.parametrize(("degrees", "found", "wrong"), [(20.0, True, 0.05), (40.0, False, 0.15)])
def test_the_detection_of_a_tilted_object_is_near_enough_for_register(
    degrees: float, found: bool, wrong: float
) -> None:
    coffee = photo("coffee", 600, 400)
    motif = coffee[:, TOP : TOP + HEIGHT, LEFT : LEFT + WIDTH].contiguous()
    cup = Template.rigid("cup", Motif.whole(motif))
    scene, there = tilted(coffee, degrees)
    truth = corners(there @ np.array(((1, 0, LEFT), (0, 1, TOP), (0, 0, 1))))
    detections = wherein.Detector(cup, calibration=made_up(cup, threshold=0.8), threads=1)(scene)
    assert bool(detections) == found
    nearest = (*detections, *detections.candidates)[0]
    assert np.abs(corners(nearest.matrix) - truth).max() > wrong * WIDTH  # no similarity is right
    result = wherein.register(scene, motif, "homography", start=nearest.matrix)
    assert np.abs(corners(result.matrix) - truth).max() < 0.1
