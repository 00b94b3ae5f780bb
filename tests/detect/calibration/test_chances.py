"""What clutter reaches by chance, at which sizes, and at how many places."""

import numpy as np
import pytest

from detecting import noise, walker
from wherein.detect.calibration.backgrounds import Backgrounds, clutter
from wherein.detect.calibration.chances import (
    USUAL_SIZE_POWER,
    BodyChance,
    BodySearches,
    measure_chances,
)
from wherein.detect.calibration.store import no_progress
from wherein.detect.fast.finder import Finder
from wherein.detect.score import equivalent_zncc
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.template import Template


def test_what_clutter_reaches_falls_with_the_size() -> None:
    """By the power that is measured scene by scene, drawn to the usual one."""
    searches = BodySearches(Finder(walker(), Range(scale=(0.5, 2.0)), {}))
    reached = [
        BodyChance(*equivalent_zncc(np.array((2 * much, much))), 0.0, 0.0) for much in (0.02, 0.2, 0.4)
    ]
    assert searches.size_power(reached) == pytest.approx((3 * 1.0 + 8 * USUAL_SIZE_POWER) / (3 + 8))
    assert searches.size_power([]) == 0
    fixed = BodySearches(Finder(walker(), Range(), {}))
    assert fixed.size_power(reached) == 0


def test_crowds_begin_above_what_clutter_reaches_at_three_places() -> None:
    patch = Template.rigid("patch", Motif.whole(noise(30, 30, 3)))
    pictures = [clutter(170, 130, seed) for seed in range(2)]
    rng, size = np.random.default_rng(0), (170, 130)
    alone = measure_chances(
        Finder(patch, Range(0.0), {}), Backgrounds(pictures, 0, size), 2, rng, no_progress
    )
    for left in (10, 60, 110):
        pictures[1][:, 50:80, left : left + 30] = noise(30, 30, 3)
    shown = measure_chances(
        Finder(patch, Range(0.0), {}), Backgrounds(pictures, 0, size), 2, rng, no_progress
    )
    assert 0 < alone.crowd_from < 0.7
    assert shown.crowd_from > 0.9
