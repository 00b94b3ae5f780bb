"""The gauge of the demonstration is read to within 2 % of its scale, with the default range of poses."""

import numpy as np
import pytest
import torch

from detecting import ready
from wherein.demo import GAUGE
from wherein.demo.gauge_scene import NEEDLE, TILT, gauge_scene
from wherein.detect import Detector
from wherein.motion.homography import mapped
from wherein.template import Template
from wherein.template.pose import matrices

TEMPLATE = Template.load(GAUGE)
SCALE_LENGTH = 10.0
"""In bar."""


@pytest.fixture(scope="module")
def detector() -> Detector:
    return ready(TEMPLATE, rotation=180.0, scale=(0.5, 2.0), tilt=40.0)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_value_and_the_outlines(detector: Detector, seed: int) -> None:
    shown = gauge_scene(TEMPLATE, seed)
    (item,) = detector(shown.pixels)
    needle = item.parts[NEEDLE]
    assert needle.value == pytest.approx(shown.value, abs=0.02 * SCALE_LENGTH)
    assert item.tilt == pytest.approx(TILT, abs=2)
    reading = TEMPLATE.parts[NEEDLE].reading
    assert reading is not None
    turn = np.interp(shown.value, *np.transpose([(value, turn) for turn, value in reading.at]))
    truth = matrices(TEMPLATE.parts, shown.root, {NEEDLE: float(turn)})
    for name in ("dial", NEEDLE):
        outline = mapped(truth[name], TEMPLATE.outlines[name])
        assert np.linalg.norm(item.parts[name].polygon - outline, axis=1).max() < 2


def test_a_dial_without_a_needle_has_no_value(detector: Detector) -> None:
    shown = gauge_scene(TEMPLATE, 0, hidden=(NEEDLE,))
    (item,) = detector(shown.pixels)
    assert not item.parts[NEEDLE].found
    assert item.parts[NEEDLE].value is None
    assert item.parts["dial"].found


def test_a_needle_above_the_plate_is_shifted_but_not_turned() -> None:
    flat, floating, facing = (
        gauge_scene(TEMPLATE, 0, tilt=tilt, needle_height=height).pixels
        for tilt, height in ((30.0, 0.0), (30.0, 10.0), (0.0, 10.0))
    )
    assert (flat - floating).abs().max() > 0.3
    assert torch.allclose(facing, gauge_scene(TEMPLATE, 0, tilt=0.0).pixels, atol=1e-5)


def test_a_seed_is_a_scene() -> None:
    first, same, other = (gauge_scene(TEMPLATE, seed) for seed in (0, 0, 1))
    assert torch.equal(first.pixels, same.pixels)
    assert first.value == same.value
    assert abs(first.value - other.value) > 1
