"""Objects from frame to frame."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import off, photo, ready, walker
from walkers import TILTED, gauge, tilted
from wherein.detect import Detections, Detector, Tracker
from wherein.errors import ArgumentError
from wherein.motion.homography import mapped
from wherein.template import Library, Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

GROUND = photo("coffee", 400, 280)


@pytest.fixture(scope="module")
def made() -> Template:
    return walker()


@pytest.fixture(scope="module")
def detector(made: Template) -> Detector:
    return ready(made)


def frame(
    made: Template, *poses: tuple[float, float, float, float], on: Tensor = GROUND
) -> tuple[Tensor, list]:
    """A frame with objects at (x, y), turned by degrees, their arms by more; and every part's matrix."""
    scene, truth = on, []
    for x, y, turn, arm in poses:
        where = matrices(made.parts, placed(turn, 1.0, (x, y), made.centre), {"arm": arm, "leg": -arm / 2})
        scene = render(scene, made, where)
        truth.append(where)
    return scene, truth


def path(k: int) -> tuple[float, float, float, float]:
    """Some 10 px and 4° a frame."""
    return 120 + 9.0 * k, 110 + 5.0 * k, 10 + 4.0 * k, 25 * np.sin(k / 3)


def test_one_object_is_followed_without_full_searches(made: Template, detector: Detector) -> None:
    tracker, searched = Tracker(detector, every=100), []
    for k in range(12):
        scene, (truth,) = frame(made, path(k))
        now = tracker(scene)
        searched.append(now.searched)
        assert now.tracks == (1,)
        for name in ("trunk", "upper", "hand", "leg"):
            pixels, degrees = off(made, name, now.found[0].parts[name].matrix, truth[name])
            assert pixels < 1
            assert degrees < 1
    assert searched == [True] + 11 * [False]


def test_following_finds_the_same_as_a_full_search(made: Template, detector: Detector) -> None:
    (before, _), (scene, _) = frame(made, path(0)), frame(made, path(1))
    followed = detector.follow(scene, [item.matrix for item in detector(before)])
    searched = detector(scene)
    np.testing.assert_allclose(followed[0].matrix, searched[0].matrix, atol=0.02)


def test_a_lost_object_is_searched_for_and_found_again(made: Template, detector: Detector) -> None:
    tracker = Tracker(detector, every=100)
    shown, _ = frame(made, path(0))
    elsewhere, _ = frame(made, (290.0, 170.0, -120.0, 5.0))
    assert tracker(shown).tracks == (1,)
    gone = tracker(GROUND)
    assert gone.searched
    assert len(gone.found) == 0
    back = tracker(elsewhere)
    assert back.searched
    assert back.tracks == (2,)


def test_an_object_that_jumps_is_found(made: Template, detector: Detector) -> None:
    tracker = Tracker(detector, every=100)
    tracker(frame(made, path(0))[0])
    jumped = tracker(frame(made, (290.0, 170.0, -120.0, 5.0))[0])
    assert jumped.searched
    assert len(jumped.found) == 1
    assert jumped.tracks == (2,), "too far for one frame"


def test_two_objects_keep_their_numbers_and_new_ones_are_found(made: Template, detector: Detector) -> None:
    tracker, still = Tracker(detector, every=3), (300.0, 190.0, 100.0, 0.0)
    numbers = []
    for k in range(6):
        objects = (path(0), still) if k >= 1 else (path(0),)
        numbers.append(set(tracker(frame(made, *objects)[0]).tracks))
    assert numbers[0] == {1}
    assert numbers[-1] == {1, 2}
    assert all(one <= other for one, other in itertools.pairwise(numbers))


def test_no_full_search_while_all_instances_are_tracked(made: Template) -> None:
    detector = ready(made, max_instances=1)
    tracker = Tracker(detector, every=2)
    assert [tracker(frame(made, path(k))[0]).searched for k in range(5)] == [True] + 4 * [False]


def test_a_hidden_body_does_not_lose_the_object(made: Template, detector: Detector) -> None:
    scene, _ = frame(made, path(0))
    hidden = render(GROUND, made, matrices(made.parts, placed(10, 1, (120, 110), made.centre), {}), {"trunk"})
    found = detector.follow(hidden, [detector(scene)[0].matrix])
    assert len(found) == 1
    assert not found[0].parts["trunk"].found
    assert found[0].parts["hand"].found


def test_following_at_other_sizes(made: Template) -> None:
    detector = ready(made, scale=(0.4, 1.0))
    for scale in (0.5, 0.95):
        root = placed(20.0, scale, (150.0, 120.0), made.centre)
        near = placed(24.0, scale * 1.02, (154.0, 117.0), made.centre)
        scene = render(GROUND, made, matrices(made.parts, root, {"arm": 10.0}))
        found = detector.follow(scene, [near])
        assert len(found) == 1
        assert found[0].scale == pytest.approx(scale, rel=0.01)


def test_wrong_arguments(made: Template, detector: Detector) -> None:
    with pytest.raises(ArgumentError, match="must be 1 or more, but is 0"):
        Tracker(detector, every=0)
    with pytest.raises(ArgumentError, match=r"detector must be a wherein\.Detector, but is a Template"):
        Tracker.__init__.__wrapped__(object.__new__(Tracker), made)
    for wrong in (np.zeros((0, 2, 3)), np.eye(3), np.zeros((2, 4, 4))):
        with pytest.raises(
            ArgumentError, match=r"before must be the matrices of earlier detections, .* but has shape"
        ):
            detector.follow(torch.zeros(3, 50, 60), wrong)
    for flat in (np.zeros((3, 3)), np.full((3, 3), np.nan), np.diag((1.0, -1.0, 1.0))):
        with pytest.raises(ArgumentError, match="but number 2 is"):
            detector.follow(torch.zeros(3, 50, 60), np.stack((np.eye(3), flat)))


class _Scripted(Detector):
    """A detector that finds what it is told to, and keeps where it was asked to look."""

    def __init__(self, of: Template, frames: list[Detections]) -> None:
        self.library, self.max_instances, self.frames = Library.of(of), None, frames
        self.asked: list[np.ndarray] = []

    def __call__(self, scene: object, color: str = "rgb", region: object = None) -> Detections:
        return self.frames.pop(0)

    def follow(
        self,
        scene: object,
        before: object,
        color: str = "rgb",
        everywhere: bool = False,
        region: object = None,
        templates: object = None,
        seen: object = None,
    ) -> Detections:
        self.asked.append(np.asarray(before))
        return self.frames.pop(0)


def test_an_object_is_followed_from_one_place_and_searched_for_from_two() -> None:
    """Followed, where it would be at constant velocity; if it is not there, also where it was."""
    shift = np.array([(1.0, 0, 7), (0, 1, -3), (0, 0, 1)])
    first = tilted()
    second = replace(first, items=(replace(first[0], matrix=shift @ TILTED),))
    scripted = _Scripted(gauge(), [first, second, replace(first, items=()), second])
    tracker = Tracker(scripted, every=10)
    assert [tracker(first.scene.pixels).searched for _ in range(3)] == [True, False, True]
    assert [len(places) for places in scripted.asked] == [1, 1, 2]
    np.testing.assert_allclose(scripted.asked[1], [shift @ shift @ TILTED])
    np.testing.assert_allclose(scripted.asked[2], [shift @ TILTED, shift @ shift @ TILTED])


def test_a_search_that_is_due_does_not_follow_first() -> None:
    scripted = _Scripted(gauge(), 4 * [tilted()])
    tracker = Tracker(scripted, every=2)
    frames = [tracker(tilted().scene.pixels) for _ in range(4)]
    assert [frame.searched for frame in frames] == [True, False, True, False]
    assert len(scripted.asked) == 3, "one for each frame but the first"


def test_an_object_in_perspective_is_expected_where_its_centre_moves_to() -> None:
    shift = np.array([(1.0, 0, 7), (0, 1, -3), (0, 0, 1)])
    first = tilted()
    moved = [replace(first[0], matrix=matrix) for matrix in (shift @ TILTED, shift @ shift @ TILTED)]
    found = [first, *(replace(first, items=(item,)) for item in moved)]
    scripted = _Scripted(gauge(), list(found))
    tracker = Tracker(scripted, every=10)
    frames = [tracker(first.scene.pixels) for _ in range(3)]
    assert [frame.tracks for frame in frames] == [(1,), (1,), (1,)]
    np.testing.assert_allclose(scripted.asked[0], [TILTED])
    (expected,) = scripted.asked[1]
    np.testing.assert_allclose(expected, shift @ shift @ TILTED, atol=1e-9)
    np.testing.assert_allclose(mapped(expected, gauge().centre), np.add(frames[1].found[0].center, (7, -3)))
