"""From which ZNCC several places may be a crowd."""

import math

import pytest

from wherein.planes.look.crowd_floor import CrowdFloor


def test_a_crowd_stands_out_further_in_a_larger_scene() -> None:
    floor = CrowdFloor(0.4, 200_000, 0.05)
    assert floor.at(200_000) == pytest.approx(0.4)
    assert floor.at(100_000) == pytest.approx(0.4)
    assert floor.at(12_000_000) == pytest.approx(math.sqrt(1 - (1 - 0.16) * 60**-0.05))
    assert CrowdFloor(-1.0, 200_000, 0.05).at(12_000_000) == -1.0
    assert 0.99 < CrowdFloor(1.0).at(1e6) < 1
