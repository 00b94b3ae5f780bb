"""Test scenes under the conditions of photographs."""

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.detect.calibration import conditions
from wherein.detect.calibration.conditions import photographed

SCENE = noise(61, 83, 3)


def test_it_is_a_picture_of_the_same_size_and_the_same_for_the_same_seed() -> None:
    for seed in range(12):  # every condition at least once
        first = photographed(SCENE, np.random.default_rng(seed))
        assert first.shape == SCENE.shape
        assert first.dtype == torch.float32
        assert 0 <= first.min() <= first.max() <= 1
        assert torch.equal(first, photographed(SCENE, np.random.default_rng(seed)))


def test_conditions_differ_and_the_scene_stays_recognisable() -> None:
    shown = [photographed(SCENE, np.random.default_rng(seed)) for seed in range(12)]
    assert len({round(float(one.mean()), 4) for one in shown}) == 12
    correlations = [np.corrcoef(one.flatten(), SCENE.flatten())[0, 1] for one in shown]
    assert min(correlations) > 0.3
    assert max(correlations) < 0.999, "a scene that nothing was done to"


def test_the_scene_is_not_touched() -> None:
    before = SCENE.clone()
    photographed(SCENE, np.random.default_rng(0))
    assert torch.equal(SCENE, before)


@pytest.mark.parametrize(
    ("field", "low", "high"), [("_ramp", -0.75, 0.75), ("_shadow", 0.0, 1.0), ("_glare", 0.0, 1.0)]
)
def test_fields_vary_over_the_picture_within_their_range(field: str, low: float, high: float) -> None:
    spans = []
    for seed in range(8):
        values = getattr(conditions, field)((3, 61, 83), np.random.default_rng(seed))
        assert values.shape == (61, 83)
        assert low <= values.min() <= values.max() <= high
        spans.append(np.ptp(values))
    assert max(spans) > 0.5


def test_compression_loses_little_at_high_quality_and_more_at_low() -> None:
    fine, coarse = (float((conditions._as_jpeg(SCENE, quality) - SCENE).abs().mean()) for quality in (95, 20))
    assert fine < 0.03
    assert coarse > 1.3 * fine
