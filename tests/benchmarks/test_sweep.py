"""OpenCV's sweep finds what it should, where it should: a peer that is set up wrongly is no peer."""

import numpy as np
import pytest

from benchmarks import sweep
from benchmarks.geometry import apply
from benchmarks.judging import distance, turned
from benchmarks.objects import Instance
from benchmarks.subjects import robot
from wherein.template import Template

LEAF = "key"
SIZE = (200, 150)


@pytest.fixture(scope="module")
def template() -> Template:
    return robot()


def scene_with(view, x, y):
    """A view of the part pasted on noise, whole pixels."""
    scene = np.random.default_rng(0).uniform(0, 1, (SIZE[1], SIZE[0], 3)).astype(np.float32)
    height, width = view.mask.shape
    alpha = view.mask[..., None]
    window = scene[y : y + height, x : x + width]
    scene[y : y + height, x : x + width] = alpha * view.pixels + (1 - alpha) * window
    return scene


def view_of(template, degrees=0.0, scale=1.0):
    motif = template.parts[LEAF].motif
    pixels = np.ascontiguousarray(motif.pixels.movedim(0, -1).numpy())
    return sweep.turned(pixels, (motif.mask.numpy() > 0.5).astype(np.float32), degrees, scale)


@pytest.mark.parametrize("grey", [False, True])
def test_an_unrotated_part_is_found_to_the_pixel(template, grey):
    scene = scene_with(view_of(template), 70, 40)
    found = sweep.Sweep(template, [LEAF], step=90.0, grey=grey)(scene)
    np.testing.assert_allclose(found[LEAF], [[1, 0, 70], [0, 1, 40]], atol=1e-9)


def test_a_turned_and_scaled_part_is_found(template):
    view = view_of(template, degrees=60.0, scale=1.25)
    searched = sweep.Sweep(template, [LEAF], scales=(0.8, 1.25), step=60.0)
    assert searched.calls == 12
    found = searched(scene_with(view, 50, 30))[LEAF]
    truth = view.matrix[:2] + np.array([[0, 0, 50], [0, 0, 30]])
    motif = template.parts[LEAF].motif
    assert distance(found, truth, (motif.width, motif.height)) < 0.5
    assert turned(found, truth, (motif.width, motif.height)) < 1e-6
    assert np.linalg.det(found[:, :2]) == pytest.approx(1.25**2)


def test_turning_keeps_the_centre_and_loses_nothing(template):
    motif = template.parts[LEAF].motif
    view = view_of(template, degrees=90.0)
    assert view.mask.shape == (motif.width, motif.height)
    np.testing.assert_allclose(
        apply(view.matrix, np.array([[(motif.width - 1) / 2, (motif.height - 1) / 2]])),
        [[(motif.height - 1) / 2, (motif.width - 1) / 2]],
    )
    assert view.mask.sum() == pytest.approx(float((motif.mask > 0.5).sum()), rel=0.02)


def test_within_counts_what_is_near_and_seen():
    template = robot()
    at = {name: np.eye(3) for name in ("key", "leg_left", "leg_right")}
    instance = Instance(np.eye(3), at, frozenset({"leg_right"}))
    found = {
        "key": np.array([[1.0, 0, 3.9], [0, 1, 0]]),
        "leg_left": np.array([[1.0, 0, 4.1], [0, 1, 0]]),
        "leg_right": np.eye(3)[:2],
    }
    assert sweep.within(found, instance, template) == (1, 2)


def test_a_part_larger_than_the_scene_is_nowhere(template):
    tiny = np.zeros((10, 10, 3), dtype=np.float32)
    assert sweep._peak(tiny, view_of(template))[0] == -1


def test_a_black_scene_matches_nothing(template):
    black = np.zeros((SIZE[1], SIZE[0], 3), dtype=np.float32)
    assert sweep._peak(black, view_of(template))[0] <= 0
