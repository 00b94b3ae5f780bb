"""How far beyond the range of poses a detection may lie."""

import pytest

from detecting import empty, noise, ready
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

PATCH = Template.rigid("patch", Motif.whole(noise(44, 60, 5)))


def found(angle: float, size: float, **ranges: float | tuple[float, float]) -> int:
    """The number of detections of a patch that is turned and scaled."""
    where = matrices(PATCH.parts, placed(angle, size, (80.0, 60.0), PATCH.centre), {})
    return len(ready(PATCH, **ranges)(render(empty(), PATCH, where)))


@pytest.mark.parametrize(("angle", "expected"), [(0.0, 1), (2.0, 1), (-2.0, 1), (5.0, 0), (-6.0, 0)])
def test_what_is_searched_upright_may_be_askew_by_a_few_degrees(angle: float, expected: int) -> None:
    assert found(angle, 1.0, rotation=0.0) == expected


def test_where_rotations_are_searched_there_is_more_room() -> None:
    assert found(15.0, 1.0, rotation=10.0) == 1


@pytest.mark.parametrize(("size", "expected"), [(0.8, 1), (0.77, 1), (0.7, 0), (1.3, 1), (1.38, 0)])
def test_without_tilt_sizes_keep_to_their_range(size: float, expected: int) -> None:
    assert found(0.0, size, scale=(0.8, 1.25)) == expected
