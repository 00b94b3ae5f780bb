"""The measurement of a leaf that looks like another one."""

import numpy as np

from wherein.detect.paper.tuning.node_measurement import measure_leaf
from wherein.detect.paper.tuning.paper_model import PaperCalibration
from wherein.detect.paper.tuning.synthetic_scenes import SyntheticScene
from wherein.template import Template


def test_a_part_that_is_taken_for_another_is_named(
    twins: Template, twin_scenes: list[SyntheticScene]
) -> None:
    measured = measure_leaf(twins, "left", 12.0, twin_scenes, np.random.default_rng(0)).calibration
    assert measured.taken_for == "right"
    assert measured.elsewhere[0] < 0.01
    assert not measured.separates
    calibration = PaperCalibration(
        fingerprint="0",
        rotation=12.0,
        scale=(1.0, 1.0),
        sigma0=3.0,
        nodes={"left": measured},
        threshold=0.5,
        clutter=[0.0],
        present=[1.0, 1.0],
    )
    (doubt,) = calibration.warnings
    assert doubt.startswith('"left" has costs up to')
    assert doubt.endswith("no threshold γ separates them")
    assert 'the part "right" has' in doubt
