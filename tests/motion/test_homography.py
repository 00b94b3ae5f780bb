"""Matrices of results applied to points, with and without perspective."""

import numpy as np
import pytest
import torch

from wherein.motion.field import transform
from wherein.motion.homography import (
    angle_at,
    angles,
    local_map,
    mapped,
    relative,
    rigid,
    rotations,
    rounded,
    scale_at,
    scales,
    shift,
    square,
    tilt_at,
    tilts,
    turn_between,
)
from wherein.template.pose import placed

POINTS = np.array([(0.0, 0.0), (40.0, 3.0), (-7.5, 22.0)])
TURNED = placed(30.0, 1.5, (200.0, 100.0), (20.0, 10.0))


def tilted(tilt: float, turn: float = 25.0, focal: float = 1e6, distance: float = 1e6) -> np.ndarray:
    """A plane in front of a pinhole camera: turned by `turn`, then tilted about its x axis."""
    c, s = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    plane = np.array([(1, 0, 0), (0, c, 0), (0, s, distance)]) @ placed(turn, 1.0, (0, 0), (20, 10))
    matrix = np.diag((focal, focal, 1.0)) @ plane
    return matrix / matrix[2, 2]


def test_points_are_mapped_as_by_the_solvers() -> None:
    for matrix in (TURNED, tilted(40, distance=300, focal=300)):
        expected = transform(torch.from_numpy(matrix), torch.from_numpy(POINTS)).numpy()
        np.testing.assert_allclose(mapped(matrix, POINTS), expected)
        np.testing.assert_allclose(mapped(matrix, POINTS[1]), expected[1])
    np.testing.assert_allclose(mapped(TURNED[:2], POINTS), mapped(TURNED, POINTS))
    assert mapped(TURNED[:2], np.zeros((0, 2))).shape == (0, 2)


def test_every_matrix_becomes_square() -> None:
    np.testing.assert_array_equal(square(TURNED[:2]), TURNED)
    np.testing.assert_array_equal(square(TURNED), TURNED)
    np.testing.assert_array_equal(square(np.stack((TURNED[:2],) * 4)), np.stack((TURNED,) * 4))


def test_the_local_map_is_the_derivative() -> None:
    matrix, at, step = tilted(40, distance=300, focal=300), np.array((31.0, 12.0)), 1e-5
    columns = [(mapped(matrix, at + d) - mapped(matrix, at - d)) / (2 * step) for d in np.eye(2) * step]
    np.testing.assert_allclose(local_map(matrix, at), np.stack(columns, 1), rtol=1e-7)
    np.testing.assert_array_equal(local_map(TURNED[:2], at), TURNED[:2, :2])


@pytest.mark.parametrize("matrix", [TURNED, TURNED[:2]])
def test_without_perspective_rotation_and_size_are_the_same_everywhere(matrix: np.ndarray) -> None:
    for at in POINTS:
        assert angle_at(matrix, at) == pytest.approx(30)
        assert scale_at(matrix, at) == pytest.approx(1.5)
        assert tilt_at(matrix, at) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("tilt", [0.0, 10.0, 40.0, 70.0])
def test_the_tilt_of_a_plane_far_away(tilt: float) -> None:
    matrix = tilted(tilt)
    assert tilt_at(matrix, (20, 10)) == pytest.approx(tilt, abs=0.01)
    assert scale_at(matrix, (20, 10)) == pytest.approx(np.cos(np.radians(tilt)) ** 0.5, rel=1e-3)


def test_a_stack_of_matrices_is_each_of_them() -> None:
    each = [TURNED, tilted(40, distance=300, focal=300), tilted(70, 130, distance=500, focal=500)]
    stack, at = np.stack(each), (20.0, 10.0)
    np.testing.assert_allclose(mapped(stack, POINTS), [mapped(matrix, POINTS) for matrix in each])
    np.testing.assert_allclose(mapped(stack, at), [mapped(matrix, at) for matrix in each])
    own = POINTS + np.arange(3.0)[:, None, None]  # other points for each matrix
    np.testing.assert_allclose(mapped(stack, own), list(map(mapped, each, own)))
    np.testing.assert_allclose(mapped(stack[:1, :2], own[0]), [mapped(TURNED, own[0])])
    np.testing.assert_allclose(local_map(stack, at), [local_map(matrix, at) for matrix in each])
    np.testing.assert_allclose(angles(stack, at), [angle_at(matrix, at) for matrix in each])
    np.testing.assert_allclose(scales(stack, at), [scale_at(matrix, at) for matrix in each])
    np.testing.assert_allclose(tilts(stack, at), [tilt_at(matrix, at) for matrix in each])
    np.testing.assert_array_equal(tilts(stack[:, :2], at), np.zeros(3))


def test_a_turn_in_the_plane_is_known_whatever_its_tilt() -> None:
    turns, plane = rotations(np.array((-60.0, 0.0, 20.0)), (7.0, 3.0)), tilted(40, distance=300, focal=300)
    np.testing.assert_allclose(relative(plane, plane @ turns * -2.0), turns, atol=1e-9)
    assert [turn_between(plane, plane @ turn) for turn in turns] == pytest.approx([-60.0, 0.0, 20.0])


def test_a_multiple_of_a_homography_is_the_same() -> None:
    matrix = tilted(40, distance=300, focal=300)
    for other in (matrix * 3, matrix * -0.5):
        np.testing.assert_allclose(mapped(other, POINTS), mapped(matrix, POINTS))
        assert angle_at(other, (20, 10)) == pytest.approx(angle_at(matrix, (20, 10)))


def test_a_written_homography_maps_as_before() -> None:
    matrix = np.array([(1.2, 0.3, 812.0), (-0.2, 0.9, 505.0), (2.34567891e-4, -1.2345678e-4, 1.0)])
    far = np.array([(2000.0, 1500.0), (0.0, 1500.0)])
    assert np.abs(mapped(rounded(matrix), far) - mapped(matrix, far)).max() < 2e-3


def test_rigid_motions_are_found_again_and_are_the_closest() -> None:
    points, turned = np.array([(0.0, 0.0), (30.0, 0.0), (30.0, 12.0), (0.0, 12.0)]), np.array([25.0, -160.0])
    motions = shift(3.5, -2.0) @ rotations(turned, (4.0, 9.0))
    np.testing.assert_allclose(rigid(points, mapped(motions, np.stack(2 * [points]))), motions, atol=1e-9)
    grown = mapped(np.diag((1.1, 1.1, 1.0)), points)[None]
    found = rigid(points, grown)[0]
    np.testing.assert_allclose(found[:2, :2], np.eye(2), atol=1e-9)
    np.testing.assert_allclose(mapped(found, points).mean(0), grown[0].mean(0))
