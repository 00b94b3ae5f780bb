"""Where limbs above the plane of their parent appear on it."""

import numpy as np
import pytest

from wherein.motion.parallax import leans, raised_starts, without_parallax
from wherein.template.pose import placed, tilted

AT = (40.0, 30.0)


@pytest.mark.parametrize("tilt", [0.0, 20.0, 55.0])
@pytest.mark.parametrize("axis", [0.0, 35.0, 120.0])
def test_a_lean_is_the_tangent_of_the_tilt_along_its_axis(tilt: float, axis: float) -> None:
    plane = placed(25.0, 1.7, (90.0, 80.0), AT) @ tilted(tilt, axis, 1e9, AT)
    along = np.array((np.cos(np.radians(axis)), np.sin(np.radians(axis))))
    (lean,) = leans(plane[None], AT)
    assert np.linalg.norm(lean) == pytest.approx(np.tan(np.radians(tilt)), abs=1e-3)
    assert abs(lean @ along) == pytest.approx(np.linalg.norm(lean), abs=1e-3)


@pytest.mark.parametrize("seen", [0.0, 1e-9, 1e-4, np.nan])
def test_a_plane_seen_from_its_edge_has_few_starts(seen: float) -> None:
    plane, turns = np.diag((1.0, seen, 1.0)), np.eye(3)[None]
    assert np.linalg.norm(leans(plane[None], AT)) < 12
    assert len(raised_starts(plane, AT, turns, 10.0, 4.0)) < 70


def test_a_plane_has_few_starts_near_its_horizon() -> None:
    plane = np.array(((1.0, 0, 0), (0, 1, 0), (-0.9999 / 200, 0, 1)))
    assert len(raised_starts(plane, (200.0, 0.0), np.eye(3)[None], 10.0, 4.0)) < 70


def test_parallax_explains_what_is_along_the_lean_up_to_the_height() -> None:
    off, lean = (
        np.array([(3.0, 1.0), (-9.0, 1.0), (3.0, 1.0)]),
        np.array([(2.0, 0.0), (2.0, 0.0), (0.0, 0.0)]),
    )
    np.testing.assert_allclose(without_parallax(off, lean, 4.0), [(0, 1), (-1, 1), (3, 1)])


def test_starts_are_shifted_to_both_sides_a_step_apart_at_most() -> None:
    turns = np.repeat(np.eye(3)[None], 7, axis=0)
    assert raised_starts(np.eye(3), AT, turns, 10.0, 4.0) is turns  # seen from the front
    starts = raised_starts(tilted(45.0, 90.0, 1e9, AT), AT, turns, 10.0, 4.0)
    moved = np.unique(np.round(starts[:, :2, 2], 6), axis=0)
    assert len(starts) == len(turns) * len(moved)
    assert np.diff(np.sort(moved[:, 1])).max() <= 4.0
    assert np.abs(moved[:, 0]).max() < 1e-6
    assert 10.0 - 2.0 <= moved[:, 1].max() <= 10.0  # what lies farther is within half a step
    np.testing.assert_allclose(moved[:, 1].max(), -moved[:, 1].min(), atol=1e-6)
