"""Outlines as SVG: few characters, exact enough."""

import re

import numpy as np
import pytest

from pages import path_points
from wherein.images.contours import contours
from wherein.images.polygons import Polygon
from wherein.report.svg_path import curve, outline_path


def disc(radius: float, at: tuple[float, float] = (0.0, 0.0)) -> Polygon:
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    return np.stack((np.cos(angles), np.sin(angles)), 1) * radius + at


def test_rounding_errors_do_not_add_up() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-300, 1300, (500, 2))
    np.testing.assert_allclose(path_points(curve(points.tolist()))[0], points, atol=0.0501)
    np.testing.assert_allclose(path_points(curve(points.tolist(), 0))[0], points, atol=0.501)


def test_numbers_are_as_short_as_svg_allows() -> None:
    assert curve([(0.0, -0.04), (-0.5, 0.5), (-0.5, 0.5)]) == "M0 0l-.5 .5 0 0"
    assert curve([(12345.6, 3.0)]) == "M12345.6 3"


@pytest.mark.parametrize("side", [640, 4000])
def test_outlines_have_few_corners_and_are_closed(side: int) -> None:
    rings = [disc(side / 4, (side / 2, side / 2)), disc(side / 20)]
    made = outline_path(rings, side)
    assert made.count("z") == made.count("M") == 2
    assert ("." in made) == (side < 2000)
    for drawn, ring in zip(path_points(made), rings, strict=True):
        assert len(drawn) < len(ring) / 5
        radius = np.hypot(*(ring - ring.mean(0)).T).mean()
        away = np.abs(np.hypot(*(drawn - ring.mean(0)).T) - radius)
        assert away.max() < side / 1000


def test_an_outline_of_a_single_pixel() -> None:
    (ring,) = contours(np.ones((1, 1), dtype=bool))
    assert re.fullmatch(r"M-?\.5[^M]*z", outline_path([ring], 100))
    assert outline_path([ring[:2]], 100).count("z") == 1
