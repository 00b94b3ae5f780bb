"""Slender motifs: which are, and the poses between those of the first look."""

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.images.motif import Motif
from wherein.motion.homography import angles, rotations, scales
from wherein.native import kernel
from wherein.planes import plane_search
from wherein.planes.look import features
from wherein.planes.look.first_look import TURN_STEP
from wherein.planes.look.responses import responses_at
from wherein.planes.look.slender import best_between, is_slender, steps_between
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import PlaneSearch
from wherein.planes.rectify import SIZE_STEP
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint

MIDDLE = (59.5, 7.5)
ANY = PlaneRange(180, (0.5, 2.0), 40)


def spanner() -> Motif:
    """A bar of one colour, 120 px long and 5 px wide, with a fork at one end and a ring at the other."""
    y, x = np.mgrid[0:16, 0:120]
    bar = (abs(y - 7.5) < 3) & (x > 8) & (x < 110)
    fork = (np.hypot(x - 8, y - 7.5) < 7.5) & ~((abs(y - 7.5) < 2.5) & (x < 9))
    ring = (np.hypot(x - 111, y - 7.5) < 7.5) & (np.hypot(x - 111, y - 7.5) > 3)
    mask = torch.from_numpy((bar | fork | ring).astype(np.float32))
    return Motif(torch.full((3, 16, 120), 0.35), mask)


def disc() -> Motif:
    y, x = np.mgrid[0:60, 0:60]
    return Motif(torch.full((3, 60, 60), 0.35), torch.from_numpy(np.hypot(x - 29.5, y - 29.5) < 29).float())


def test_bars_are_slender_and_discs_and_pictures_are_not() -> None:
    assert is_slender(spanner())
    assert not is_slender(disc())
    assert not is_slender(Motif.whole(noise(60, 160)))


def test_the_steps_lie_a_third_of_a_step_of_the_look_away_about_the_middle() -> None:
    steps = steps_between(MIDDLE, ANY, TURN_STEP)
    assert len(steps) == 8
    np.testing.assert_allclose(steps @ (*MIDDLE, 1.0), np.tile((*MIDDLE, 1.0), (8, 1)), atol=1e-9)
    assert {round(float(angle), 6) for angle in angles(steps, MIDDLE)} == {-4.0, 0.0, 4.0}
    third = SIZE_STEP ** (1 / 3)
    sizes = {round(float(size), 6) for size in scales(steps, MIDDLE)}
    assert sizes == {round(size, 6) for size in (1 / third, 1.0, third)}


@pytest.mark.parametrize(
    ("ranges", "count"),
    [(PlaneRange(180, (1, 1), 0), 2), (PlaneRange(0, (0.5, 2), 0), 2), (PlaneRange(0, (1, 1), 0), 0)],
)
def test_what_has_one_size_or_is_not_turned_stays_so(ranges: PlaneRange, count: int) -> None:
    steps = steps_between(MIDDLE, ranges, TURN_STEP)
    assert len(steps) == count
    if ranges.rotation == 0:
        np.testing.assert_allclose(angles(steps, MIDDLE), 0, atol=1e-9)
    if ranges.scale == (1, 1):
        np.testing.assert_allclose(scales(steps, MIDDLE), 1)


def test_the_best_between_has_the_highest_rating_and_others_stay() -> None:
    poses = rotations(np.array((0.0, 90.0)), MIDDLE)

    def rate(some: np.ndarray) -> np.ndarray:
        return np.asarray(1 - np.abs(angles(some, MIDDLE) - 5) / 180)

    steps = steps_between(MIDDLE, PlaneRange(180, (1, 1), 0), TURN_STEP)
    best, rated = best_between(poses, rate(poses), rate, steps)
    np.testing.assert_allclose(angles(best, MIDDLE), (4, 86))
    np.testing.assert_allclose(rated, rate(best))
    np.testing.assert_allclose(angles(poses, MIDDLE), (0, 90), atol=1e-9)  # not touched


def test_something_slender_is_looked_for_everywhere() -> None:
    scene = ScenePyramid(noise(480, 640, 5))
    tiles = []
    for motif in (spanner(), disc()):
        (templates, level), *_ = PlaneSearch(motif, ANY).first_look.looks
        tiles.append(features._promising(responses_at(scene, level, templates.margin), templates))
    assert tiles[0] is None
    assert tiles[1] is not None


@pytest.mark.skipif(not kernel.available(), reason=f"too slow in plain torch: {kernel.reason()}")
@pytest.mark.parametrize(("degrees", "scale"), [(3.0, 1.09), (-54.0, 1.09)])
def test_between_the_turns_and_sizes_of_the_look_it_rates_higher(
    degrees: float, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pose = np.diag((scale, scale, 1.0)) @ rotations(np.array((degrees,)), (0, 0))[0]
    pose = pose @ np.array(((1, 0, -MIDDLE[0]), (0, 1, -MIDDLE[1]), (0, 0, 1.0)))
    pose[:2, 2] += 190, 150
    scene = ScenePyramid(paint(noise(300, 400, 5) * 0.4 + 0.4, spanner(), torch.from_numpy(pose)))
    rated = PlaneSearch(spanner(), ANY)._ranked_starts(scene, 1.0)[1].max()
    monkeypatch.setattr(plane_search, "is_slender", lambda _: False)
    assert rated > 1.05 * PlaneSearch(spanner(), ANY)._ranked_starts(scene, 1.0)[1].max()
