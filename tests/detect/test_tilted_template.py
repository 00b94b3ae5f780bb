"""A template from a photograph at an angle: the poses that are reported are those of its own canvas."""

import numpy as np
import pytest

from detecting import DIAL_RADIUS, NEEDLE_LENGTH, dial_outlines, dial_photograph, ready
from wherein.detect import Tracker
from wherein.making import cut
from wherein.motion.homography import mapped
from wherein.template import Template
from wherein.template.pose import placed, tilted

CENTRE = (DIAL_RADIUS, DIAL_RADIUS)
POSE = placed(0.0, 1.0, (160.0, 140.0), CENTRE) @ tilted(30.0, 70.0, 500.0, CENTRE)
SCENE = placed(-10.0, 0.9, (150.0, 135.0), CENTRE) @ tilted(15.0, 200.0, 600.0, CENTRE)
TIP = np.array((CENTRE[0] + NEEDLE_LENGTH, CENTRE[1]))


@pytest.fixture(scope="module")
def made() -> Template:
    return cut(dial_photograph(POSE), dial_outlines(POSE), "dial")


def of_canvas(made: Template, points: np.ndarray) -> np.ndarray:
    """Points of the dial on the canvas of the template."""
    off = np.array(made.parts["needle"].joint) - mapped(POSE, CENTRE)
    return mapped(POSE, points) + off


def where(turn: float) -> np.ndarray:
    """The tip of the needle in the scene."""
    a = np.radians(turn)
    return mapped(SCENE, np.array(CENTRE) + NEEDLE_LENGTH * np.array((np.cos(a), np.sin(a))))


@pytest.mark.parametrize("turn", [50.0, 100.0, -140.0])
def test_the_needle_is_read(made: Template, turn: float) -> None:
    search = ready(made, scale=(0.8, 1.25), tilt=40.0)
    (item,) = search(dial_photograph(SCENE, turn))
    needle = item.parts["needle"]
    assert needle.found
    assert needle.turn == pytest.approx(turn, abs=1.5)
    tip = of_canvas(made, TIP) - np.array(made.parts["needle"].at)
    assert np.linalg.norm(mapped(needle.matrix, tip) - where(turn)) < 2
    assert np.linalg.norm(mapped(item.matrix, of_canvas(made, np.array(CENTRE))) - mapped(SCENE, CENTRE)) < 1
    assert item.center == pytest.approx(tuple(mapped(item.matrix, made.centre)))
    rim = np.array(((0.0, DIAL_RADIUS), (2 * DIAL_RADIUS, DIAL_RADIUS), (DIAL_RADIUS, 0.0)))
    assert np.abs(mapped(item.matrix, of_canvas(made, rim)) - mapped(SCENE, rim)).max() < 2


def test_it_is_followed_and_traced(made: Template) -> None:
    search = ready(made, scale=(0.8, 1.25), tilt=40.0)
    tracker = Tracker(search)
    for turn in (50.0, 53.0, 56.0):
        frame = tracker(dial_photograph(SCENE, turn))
        (item,) = frame.found
        assert item.parts["needle"].turn == pytest.approx(turn, abs=1.5)
    assert not frame.searched
    assert frame.tracks == (1,)
    (again,) = search.follow(dial_photograph(SCENE, 56.0), [item.matrix])
    assert np.abs(again.matrix - item.matrix).max() < 0.5
    (traces,) = search.fit_traces(frame.found)
    assert set(traces) == {"plate", "needle"}


def test_in_a_range_without_its_tilt_the_canvas_is_searched(made: Template) -> None:
    search = ready(made, scale=(0.8, 1.25), tilt=0.0)
    (item,) = search(dial_photograph(POSE))
    assert item.matrix.shape == (2, 3)
    assert item.parts["needle"].turn == pytest.approx(0, abs=1)
