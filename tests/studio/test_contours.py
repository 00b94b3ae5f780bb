"""Contours of masks."""

import numpy as np

from wherein.images.polygons import coverage
from wherein.studio.contours import contour, simplified


def test_contours_cover_the_mask() -> None:
    y, x = np.mgrid[:61, :87]
    shapes = [
        (x - 40) ** 2 / 30**2 + (y - 30) ** 2 / 20**2 < 1,
        (abs(x - 40) < 25) & (abs(y - 30) < 12) | (abs(x - 40) < 8),
        np.ones((5, 9), dtype=bool),
        np.eye(7, dtype=bool)[:, ::-1],
    ]
    for mask in shapes[:3]:
        outline = contour(mask)
        filled = coverage(outline, mask.shape[1], mask.shape[0]) > 0.5
        assert (filled != mask).sum() <= 0.04 * mask.sum()
        assert len(outline) < 60
    assert len(contour(shapes[3])) == 4  # one of the pixels: they touch at corners only


def test_holes_and_smaller_components_are_left_out() -> None:
    mask = np.zeros((40, 51), dtype=bool)
    mask[5:35, 5:35] = True
    mask[15:20, 15:20] = False
    mask[2:4, 45:48] = True
    assert contour(mask).tolist() == [[4.5, 4.5], [34.5, 4.5], [34.5, 34.5], [4.5, 34.5]]


def test_simplified_outlines_stay_near() -> None:
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack((50 * np.cos(angle), 50 * np.sin(angle)), 1)
    fewer = simplified(circle, 1.0)
    assert len(fewer) < 40
    middles = (fewer + np.roll(fewer, -1, axis=0)) / 2
    assert np.linalg.norm(middles, axis=1).min() > 48.9
