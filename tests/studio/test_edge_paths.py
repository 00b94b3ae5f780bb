"""Paths along the edges of a picture."""

import sys

import numpy as np
import pytest

from studio_page import Page, png
from wherein.errors import MissingError
from wherein.images.load import load_picture
from wherein.images.picture import Picture
from wherein.studio.edge_paths import PathRequest, edge_path

pytest.importorskip("cv2", reason="OpenCV is not installed: no paths along edges")

CENTER, RADIUS = (90.0, 70.0), 50.0


def disc(zoom: int = 1) -> np.ndarray:
    """A dark disc on light ground, (141, 181, 3) times `zoom`."""
    ys, xs = np.indices((141 * zoom, 181 * zoom)) / zoom
    inside = np.hypot(xs - CENTER[0], ys - CENTER[1]) < RADIUS
    return np.where(inside[..., None], (40, 60, 90), (220, 210, 190)).astype(np.uint8)


def at(degrees: float, radius: float = RADIUS) -> tuple[float, float]:
    angle = np.radians(degrees)
    return CENTER[0] + radius * float(np.cos(angle)), CENTER[1] + radius * float(np.sin(angle))


@pytest.fixture(scope="module")
def picture() -> Picture:
    return load_picture(disc())


@pytest.mark.parametrize("start", [0, 77, 200])
def test_a_path_follows_the_edge(picture: Picture, start: float) -> None:
    first, last = at(start), at(start + 90)
    path = np.array(edge_path(picture, PathRequest(start=first, end=last)))
    assert path[0] == pytest.approx(first)
    assert path[-1] == pytest.approx(last)
    assert 4 < len(path) < 40
    assert np.abs(np.hypot(*(path - CENTER).T) - RADIUS).max() < 1.6


def test_the_end_moves_to_an_edge_within_reach(picture: Picture) -> None:
    for radius in (RADIUS - 5, RADIUS + 5):
        (point,) = edge_path(picture, PathRequest(end=at(30, radius), reach=8))
        assert np.hypot(point[0] - CENTER[0], point[1] - CENTER[1]) == pytest.approx(RADIUS, abs=1.5)
    away = at(30, RADIUS - 20)
    assert edge_path(picture, PathRequest(end=away, reach=8)) == [pytest.approx(away)]


def test_a_large_window_is_shrunk() -> None:
    large = load_picture(disc(9))
    first, last = (tuple(9 * value for value in at(degrees)) for degrees in (10, 100))
    path = np.array(edge_path(large, PathRequest(start=first, end=last)))
    assert np.abs(np.hypot(*(path / 9 - CENTER).T) - RADIUS).max() < 1.6


@pytest.mark.parametrize("size", [(1, 1), (1, 700), (700, 1), (3, 2)])
def test_small_and_thin_pictures(size: tuple[int, int]) -> None:
    picture = load_picture(np.zeros((*size, 3), dtype=np.uint8))
    path = edge_path(picture, PathRequest(start=(-50.0, -50.0), end=(1e9, 1e9), reach=200))
    assert (path[0], path[-1]) == ((0, 0), (size[1] - 1, size[0] - 1))


def test_the_request(page: Page) -> None:
    key = page.upload("picture", png(disc()), "disc.png")["id"]
    url = f"/api/pictures/{key}/edge-path"
    found = page.post(url, {"start": at(0), "end": at(45, RADIUS - 4), "reach": 7})
    assert found["path"][0] == pytest.approx(list(at(0)))
    for wrong in ({}, {"end": [1]}, {"end": [1, 2], "reach": 1e6}, {"end": [1, 2], "reach": -1}):
        page.refused(page.client.post(url, json=wrong), 422)
    page.refused(page.client.post(url, content='{"end": [NaN, 2]}'), 422)
    words = page.refused(page.client.post("/api/pictures/0/edge-path", json={"end": [1, 2]}), 404)
    assert "no longer has this picture" in words


def test_without_opencv(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingError, match=r"snapping to edges needs cv2.*pip install 'wherein\[video\]'"):
        edge_path(picture, PathRequest(end=(1, 2)))
