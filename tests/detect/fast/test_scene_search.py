"""Scales by octaves."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detecting import made_up, noise, painted, photo
from wherein import Detector
from wherein.detect.fast.scene_search import octave_ranges
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import placed


@given(st.floats(0.05, 8), st.floats(1, 32))
def test_octaves_cover_the_range_without_gaps(low: float, span: float) -> None:
    octaves = octave_ranges(low, low * span)
    assert octaves[0][1][0] == low
    assert octaves[-1][1][1] == low * span
    for (octave, (_, high)), (following, (begin, _)) in pairwise(octaves):
        assert following == octave + 1
        assert begin == pytest.approx(high, rel=1e-12)
    for octave, scales in octaves:
        assert all(0.5 * (1 - 1e-9) <= scale / 2**octave <= 2 * (1 + 1e-9) for scale in scales)


def test_one_scale_is_one_octave() -> None:
    assert octave_ranges(1.0, 1.0) == [(0, (1.0, 1.0))]
    assert octave_ranges(3.0, 3.0) == [(2, (3.0, 3.0))]
    assert octave_ranges(0.3, 0.3) == [(-2, (0.3, 0.3))]


@pytest.fixture(scope="module")
def anywhere() -> Detector:
    motif = Template.rigid("patch", Motif.whole(noise(64, 80, 9)))
    calibration = made_up(motif, rotation=40.0, scale=(0.25, 4.0))
    return Detector(motif, 40, (0.25, 4), calibration=calibration, threads=1, threshold=0.9)


@pytest.mark.parametrize("scale", [0.3, 0.71, 1.0, 1.42, 3.0])
def test_small_and_large_objects_are_found(anywhere: Detector, scale: float) -> None:
    on = photo("coffee", 300, 240) if scale > 2 else photo("coffee", 200, 160)
    middle = (on.shape[2] / 2, on.shape[1] / 2)
    truth = placed(-20.0, scale, middle, anywhere.template.centre)
    scene, _ = painted(anywhere.template, truth, on=on)
    (found,) = anywhere(scene)
    corners = np.array(((0, 79, 0, 79), (0, 0, 63, 63), (1, 1, 1, 1)))
    assert np.abs((found.matrix - truth[:2]) @ corners).max() < max(0.25, 0.25 * scale)
    assert found.scale == pytest.approx(scale, rel=0.02)


def test_nothing_shrinks_to_a_speck() -> None:
    """A motif of a few pixels fits on the shading between two; it must not be found at a scale of 1/16."""
    tiny = Template.rigid("tiny", Motif.whole(noise(9, 9, 1)))
    calibration = made_up(tiny, scale=(0.5, 2.0))
    detector = Detector(tiny, scale=(0.5, 2), calibration=calibration, threads=1, threshold=0.3)
    for item in detector(photo("chelsea", 120, 90)):
        assert 0.5 / 1.5 <= item.scale <= 2 * 1.5
