"""A badge: a plate, partly covered by a flap that turns, small enough to be calibrated in a test."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from detecting import group, leaf, noise, template
from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.paper.tuning import PaperCalibration, calibrate_paper, synthetic_scenes
from wherein.detect.paper.tuning.synthetic_scenes import SyntheticScene, scene_size
from wherein.detect.search_range import Range
from wherein.template import Part, Template

ROTATION = 12.0


def part(name: str, seed: int, at: tuple[float, float], pivot: tuple[float, float]) -> Part:
    return leaf(name, "badge", noise(19, 23, seed), at, pivot, turn=20.0)


@pytest.fixture(scope="session")
def badge() -> Template:
    return template(
        group("badge", pivot=(19.0, 14.0)),
        part("plate", 1, (2.0, 4.0), (4.0, 9.0)),
        part("flap", 2, (17.0, 8.0), (18.0, 10.0)),
        size=(43, 31),
    )


@pytest.fixture(scope="session")
def twins() -> Template:
    """Two parts with the same picture."""
    return template(
        group("badge", pivot=(26.0, 14.0)),
        part("left", 1, (2.0, 4.0), (4.0, 9.0)),
        part("right", 1, (28.0, 5.0), (18.0, 10.0)),
        size=(53, 31),
    )


@pytest.fixture(scope="session")
def quick() -> Iterator[None]:
    """Few, small scenes."""
    with pytest.MonkeyPatch.context() as patch:
        calibrating = sys.modules["wherein.detect.paper.tuning.measure_network"]
        patch.setattr(calibrating, "_SCENES", 4)
        patch.setattr(synthetic_scenes, "MARGIN", 20)
        yield


@pytest.fixture(scope="session")
def twin_scenes(twins: Template, quick: None) -> list[SyntheticScene]:
    """Scenes with the twins."""
    backgrounds = Backgrounds((), 7, scene_size(twins))
    return synthetic_scenes.synthetic_scenes(twins, ROTATION, backgrounds, 3, np.random.default_rng(0))


@pytest.fixture(scope="session")
def calibrated(badge: Template, quick: None) -> PaperCalibration:
    threads = torch.get_num_threads()
    made = calibrate_paper(badge, Range(ROTATION))
    assert torch.get_num_threads() == threads
    return made
