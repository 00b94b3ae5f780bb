"""The search for a flat motif in a whole scene: any rotation, size and tilt."""

import numpy as np
import pytest
import torch

from wherein.images.motif import Motif
from wherein.motion.homography import angles, rotations
from wherein.native import kernel
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import PlaneSearch
from wherein.planes.rating import rate_poses
from wherein.planes.scene_parts import inside
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint

pytestmark = pytest.mark.skipif(not kernel.available(), reason=f"too slow in plain torch: {kernel.reason()}")


def _texture(height, width, seed, detail=7):
    rng = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, height // detail + 2, width // detail + 2, generator=rng)
    return torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic")[0].clamp(0, 1)


def _motif():
    y, x = np.mgrid[0:90, 0:100]
    mask = torch.from_numpy(np.clip(44 - np.hypot((x - 49.5) * 0.9, y - 44.5), 0, 1)).float()
    return Motif(_texture(90, 100, 3), mask)


def _pose(degrees, scale, at, tilt=0.0):
    c, s = np.cos(np.radians(degrees)) * scale, np.sin(np.radians(degrees)) * scale
    tilted = np.array(((np.cos(np.radians(tilt)), 0, 0), (0, 1, 0), (np.sin(np.radians(tilt)) / 300, 0, 1)))
    there = np.array(((c, -s, at[0]), (s, c, at[1]), (0, 0, 1.0)))
    return there @ tilted @ np.array(((1, 0, -49.5), (0, 1, -44.5), (0, 0, 1.0)))


def _found(search, pose, seed=5):
    scene = paint(_texture(300, 400, seed, 11), _motif(), torch.from_numpy(pose))
    return search(ScenePyramid(0.6 * scene + 0.2))[-1]


def _corner_error(found, truth):
    corners = np.array(((0, 99, 99, 0), (0, 0, 89, 89), (1, 1, 1, 1.0)))
    ends, there = found @ corners, truth @ corners
    return np.linalg.norm(ends[:2] / ends[2] - there[:2] / there[2], axis=0).max()


@pytest.mark.parametrize(
    ("degrees", "scale", "tilt"), [(0, 1, 0), (170, 0.6, 0), (-75, 1.7, 20), (33, 1, 38)]
)
def test_it_is_found_at_any_pose(degrees, scale, tilt):
    search = PlaneSearch(_motif(), PlaneRange(180, (0.5, 2.0), 40))
    truth = _pose(degrees, scale, (190, 150), tilt)
    found = _found(search, truth)
    assert _corner_error(found.poses[0], truth) < 1.0
    assert found.zncc[0] > 0.8


def test_what_is_not_there_scores_low():
    search = PlaneSearch(_motif(), PlaneRange(180, (0.5, 2.0), 40))
    found = search(ScenePyramid(_texture(300, 400, 8, 11)))[-1]
    assert found.zncc.max(initial=0) < 0.6


def test_fits_that_do_not_go_on_are_dropped_on_the_way():
    search, pose = PlaneSearch(_motif(), PlaneRange(180, (0.5, 2.0), 40)), _pose(20, 1, (190, 150))
    scene = ScenePyramid(paint(_texture(300, 400, 5, 11), _motif(), torch.from_numpy(pose)))
    there, elsewhere = search.refined(scene, pose[None]), search.refined(scene, _pose(0, 1, (80, 80))[None])
    both, seen = there.joined(elsewhere), []

    def goes_on(fits, last):
        seen.append((len(fits), last))
        return fits.zncc >= 0.7

    ended = search.followed(scene, both, goes_on=goes_on)
    assert len(ended) == len(seen) == len(search.stages)
    assert [last for _, last in seen] == [False, True]
    assert all((fits.zncc >= 0.7).all() for fits in ended)
    assert _corner_error(ended[-1].poses[0], pose) < 1.0
    none = search.followed(scene, both, goes_on=lambda fits, _: fits.zncc >= 2)
    assert [len(fits) for fits in none] == [0] * len(search.stages)


def test_only_what_is_asked_for_is_searched():
    truth = _pose(90, 1, (190, 150))
    upright = PlaneSearch(_motif(), PlaneRange(20, (1, 1), 0))
    assert _found(upright, truth).zncc.max(initial=0) < 0.6
    found = _found(PlaneSearch(_motif(), PlaneRange(180, (1, 1), 0)), truth)
    assert _corner_error(found.poses[0], truth) < 0.5
    # Euclidean: the size stays as it is.
    assert np.linalg.det(found.poses[0][:2, :2]) == pytest.approx(1, abs=1e-6)


def test_two_objects_are_two_poses():
    search = PlaneSearch(_motif(), PlaneRange(180, (1, 1), 0))
    first, second = _pose(20, 1, (100, 100)), _pose(-130, 1, (290, 200))
    scene = _texture(300, 400, 5, 11)
    for pose in (first, second):
        scene = paint(scene, _motif(), torch.from_numpy(pose))
    found = search(ScenePyramid(scene))[-1]
    errors = sorted(min(_corner_error(pose, truth) for pose in found.poses[:2]) for truth in (first, second))
    assert errors[-1] < 0.5


def test_it_is_the_same_again():
    search, truth = PlaneSearch(_motif(), PlaneRange(180, (0.7, 1.4), 0)), _pose(50, 1.2, (200, 140))
    first, second = _found(search, truth), _found(search, truth)
    assert np.array_equal(first.poses, second.poses)
    assert np.array_equal(first.zncc, second.zncc)


def test_what_is_hopeless_beside_an_object_in_plain_view_is_not_returned():
    search = PlaneSearch(_motif(), PlaneRange(180, (1, 1), 0))
    found = _found(search, _pose(20, 1, (190, 150)))
    assert found.zncc[0] > 0.8
    assert (found.zncc >= 0.4 * found.zncc[0]).all()


def test_a_crop_is_found_in_its_picture_at_its_own_size():
    """What lies beyond its border is not what its channels were made with."""
    picture = _texture(300, 400, 5, 11)
    search = PlaneSearch(Motif.whole(picture[:, 90:180, 120:220].contiguous()), PlaneRange(30, (0.7, 1.4), 0))
    truth = np.array(((1, 0, 120), (0, 1, 90), (0, 0, 1.0)))
    assert _corner_error(search(ScenePyramid(picture))[-1].poses[0], truth) < 0.3


def _crowd(count, turn=37):
    """A scene with as many small copies, in rows, and their poses."""
    scene = _texture(600, 800, 8, 11)
    spots = [(60 + 85 * (k % 9), 60 + 80 * (k // 9)) for k in range(count)]
    poses = [_pose(turn * k, 0.8, at) for k, at in enumerate(spots)]
    for pose in poses:
        scene = paint(scene, _motif(), torch.from_numpy(pose))
    return ScenePyramid(scene), poses


def test_all_that_stand_out_are_followed_however_many():
    search, (scene, truths) = PlaneSearch(_motif(), PlaneRange(180, (0.8, 0.8), 0)), _crowd(40)
    found = search(scene, standing_out=0.5)[-1]
    off = [min(_corner_error(pose, truth) for pose in found.poses) for truth in truths]
    assert max(off) < 0.5
    assert len(search(scene)[-1]) < len(truths)  # not told what stands out, it follows a few


def test_further_places_of_a_crowd_are_refined_only_where_a_descent_may_start(monkeypatch):
    search, (scene, truths) = PlaneSearch(_motif(), PlaneRange(1, (0.8, 0.8), 0)), _crowd(12, turn=0)
    tried, refined = [], search.refined
    monkeypatch.setattr(search, "refined", lambda *args: tried.append(args[1]) or refined(*args))
    found = search(scene, standing_out=0.9)[-1]
    assert max(min(_corner_error(pose, truth) for pose in found.poses) for truth in truths) < 0.5
    first, further = (rate_poses(scene, search.stages[0].thinned(64), poses) for poses in tried)
    assert first.min() < 0.05  # of the first, the best of the look are refined whatever their rating
    assert 0.25 * 0.75 * 0.9 <= further.min() < 0.3  # a quarter of the ZNCC that it must come to


def test_upright_copies_of_one_size_take_few_starts_and_one_fit(monkeypatch):
    """Also those that the border cuts: their middle, where the first look would have a start, is outside."""
    scene, (_, truths) = _texture(600, 800, 8, 11), _crowd(12, turn=0)
    truths = [*truths, _pose(0, 0.8, (400, -4)), _pose(0, 0.8, (-4, 500)), _pose(0, 0.8, (600, 602))]
    for pose in truths:
        scene = paint(scene, _motif(), torch.from_numpy(pose))
    search, tried, refined = PlaneSearch(_motif(), PlaneRange(0, (0.8, 0.8), 0)), [], None
    refined = search.refined
    monkeypatch.setattr(search, "refined", lambda *args: tried.append(args[1]) or refined(*args))
    (found,) = search(ScenePyramid(scene), standing_out=0.5)
    assert max(min(_corner_error(pose, truth) for pose in found.poses) for truth in truths) < 1.0
    assert len(tried[0]) < 100
    rated = rate_poses(ScenePyramid(scene), search.stages[0].thinned(64), np.concatenate(tried[1:]))
    whole = inside(ScenePyramid(scene), np.concatenate(tried[1:]), search.pose_filter.corners)
    assert rated[whole].min(initial=1.0) >= 0.6 * 0.75 * 0.5
    assert rated[~whole].min() < 0.6 * 0.75 * 0.5


def test_one_object_is_no_crowd_even_where_clutter_stands_out():
    search, (scene, _) = PlaneSearch(_motif(), PlaneRange(180, (0.8, 0.8), 0)), _crowd(1)
    alone, told = search(scene)[-1], search(scene, standing_out=0.05)[-1]
    assert np.array_equal(alone.poses, told.poses)


def test_a_brief_search_has_the_object_among_its_poses():
    truth = _pose(40, 1, (190, 150))
    scene = ScenePyramid(paint(_texture(300, 400, 5, 11), _motif(), torch.from_numpy(truth)))
    found = PlaneSearch(_motif(), PlaneRange(180, (1, 1), 0)).briefly(scene)
    assert _corner_error(found.poses[0], truth) < 3


def test_with_any_polarity_an_object_is_found_light_on_dark_too():
    truth = _pose(40, 1, (190, 150))
    scene = paint(_texture(300, 400, 5, 11), _motif(), torch.from_numpy(truth))
    negative = ScenePyramid(1 - scene)
    ranges = PlaneRange(180, (1, 1), 0)
    assert PlaneSearch(_motif(), ranges)(negative)[-1].zncc.max(initial=0) < 0.6
    found = PlaneSearch(_motif(), ranges, any_polarity=True)(negative)[-1]
    assert _corner_error(found.poses[0], truth) < 1
    assert found.zncc[0] > 0.75


def _plate():
    """Four dark dots on a light plate, and a smaller mark: much the same upside down."""
    y, x = np.mgrid[0:70, 0:110]
    light = np.full((70, 110), 0.8)
    for at_x, at_y, radius in ((25, 18, 9), (85, 18, 9), (25, 52, 9), (85, 52, 9), (55, 14, 4)):
        light = np.where(np.hypot(x - at_x, y - at_y) < radius, 0.2, light)
    return Motif.whole(torch.from_numpy(light).float().expand(3, -1, -1).contiguous())


def test_turns_that_look_alike():
    plate = PlaneSearch(_plate(), PlaneRange())
    turns = angles(plate.similar_turns, (54.5, 34.5))
    assert np.abs(turns).max() == pytest.approx(180, abs=6)
    assert (np.abs(turns) >= 20).all()  # not the pose itself
    assert len(PlaneSearch(_motif(), PlaneRange()).similar_turns) == 0


def test_a_round_dial_looks_alike_at_every_turn():
    y, x = np.mgrid[0:81, 0:81] - 40.0
    away, turn = np.hypot(x, y), np.degrees(np.arctan2(y, x))
    light = np.where(away > 34, 0.1, np.where((away > 26) & (np.abs((turn + 180) % 12 - 6) < 2), 0.2, 0.9))
    light = np.where((np.abs(x - 12) < 5) & (np.abs(y) < 3), 0.2, light)
    dial = PlaneSearch(
        Motif.whole(torch.from_numpy(light).float().expand(3, -1, -1).contiguous()), PlaneRange()
    )
    turns = np.sort(angles(dial.similar_turns, (40.0, 40.0)) % 360)
    # A descent from one of them comes to any other turn.
    assert np.diff(turns, prepend=0, append=360).max() < 23
    assert np.median(np.diff(turns)) < 12


def _clock():
    """Twelve even marks; only small signs beside them tell its turns apart."""
    y, x = torch.meshgrid(torch.arange(200.0) - 99.5, torch.arange(200.0) - 99.5, indexing="ij")
    radius = torch.hypot(x, y)
    pixels = torch.full((3, 200, 200), 0.9)
    for mark in range(12):
        turn = np.radians(30 * mark)
        along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        pixels[:, (across.abs() < 4) & (along > 70) & (radius < 95)] = 0.1
        row, column = int(97 + 58 * np.sin(turn)), int(97 + 58 * np.cos(turn))
        signs = _texture(6, 6, 40 + mark, 1).mean(0) > 0.5
        pixels[:, row : row + 6, column : column + 6] = signs * 0.6 + 0.3
    return Motif(pixels, (radius < 98).float())


@pytest.mark.parametrize("wrong", [30, -90, 150])
def test_small_signs_tell_the_turns_of_a_dial(wrong):
    clock, middle = _clock(), (99.5, 99.5)
    search = PlaneSearch(clock, PlaneRange(180, (0.5, 2.0), 40))
    pose = _pose(20, 0.8, (190, 150)) @ np.array(((1, 0, -50), (0, 1, -55), (0, 0, 1.0)))
    scene = paint(_texture(300, 400, 5, 11), clock, torch.from_numpy(pose))
    start = pose @ rotations(np.array([float(wrong)]), middle)
    found = search.followed(ScenePyramid(scene), PlaneFits(start, np.array([0.9]), np.array([1.0])))[-1]
    assert angles(found.poses[:1], middle)[0] == pytest.approx(20, abs=0.5)


def test_a_plate_upside_down_is_turned_round():
    search, middle = PlaneSearch(_plate(), PlaneRange(180, (0.7, 1.4), 0)), (54.5, 34.5)
    for degrees in (0, 180, 70):
        there = rotations(np.array([float(degrees)]), middle)[0]
        there[:2, 2] += (140, 110)
        scene = paint(_texture(300, 400, 5, 11), _plate(), torch.from_numpy(there))
        found = search(ScenePyramid(scene))[-1]
        off = (angles(found.poses[:1], middle)[0] - degrees + 180) % 360 - 180
        assert abs(off) < 2


def test_restarts_keep_to_the_rotations_of_the_range():
    search, middle = PlaneSearch(_plate(), PlaneRange(20, (0.7, 1.4), 0)), (54.5, 34.5)
    upside_down = rotations(np.array([180.0]), middle)[0]
    upside_down[:2, 2] += (140, 110)
    scene = paint(_texture(300, 400, 5, 11), _plate(), torch.from_numpy(upside_down))
    for fits in search(ScenePyramid(scene)):
        assert (np.abs(angles(fits.poses, middle)) < 60).all()


def test_threads_do_not_change_the_poses():
    search, truth = PlaneSearch(_motif(), PlaneRange()), _pose(33, 1, (190, 150), 38)
    scene = paint(_texture(300, 400, 5, 11), _motif(), torch.from_numpy(truth))
    one, two = (search(ScenePyramid(scene, threads=threads))[-1] for threads in (1, 2))
    assert np.array_equal(one.poses, two.poses)
    assert np.array_equal(one.zncc, two.zncc)


def test_what_is_no_crowd_after_the_first_fits_is_followed_as_usual(monkeypatch):
    """A dozen copies: as if they had stood out before the fits by chance alone."""
    search, (scene, _) = PlaneSearch(_motif(), PlaneRange(180, (0.8, 0.8), 0)), _crowd(12)
    assert len(search(scene, standing_out=0.5)[0]) >= 12
    answers, asked = iter([True, True, False]), []
    monkeypatch.setattr(search, "_may_be_crowd", lambda scene, fits: asked.append(fits) or next(answers))
    ended = search(scene, standing_out=0.5)
    assert len(ended[0]) <= 10
    assert len(asked) == 3
