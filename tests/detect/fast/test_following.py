"""Objects from frame to frame: each part from where it is expected, also where it is not there."""

import math

import numpy as np
import pytest
from torch import Tensor

from detecting import group, leaf, noise, off, photo, ready, template, walker
from wherein.detect import Detection, Detector
from wherein.detect.fast.following import Follower, Seen
from wherein.detect.methods import FastSearch
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

GROUND = photo("coffee", 360, 260)
LEAVES = ("trunk", "upper", "hand", "leg")


@pytest.fixture(scope="module")
def made() -> Template:
    return walker()


@pytest.fixture(scope="module")
def detector(made: Template) -> Detector:
    return ready(made)


def shown(
    made: Template, x: float, turn: float, hidden: tuple[str, ...] = (), **turns: float
) -> tuple[Tensor, dict[str, np.ndarray]]:
    """A scene with the walker, and the matrix of every part."""
    where = matrices(made.parts, placed(turn, 1.0, (x, 120.0), made.centre), turns)
    return render(GROUND, made, where, set(hidden)), where


@pytest.fixture(scope="module")
def before(made: Template, detector: Detector) -> Detection:
    """The walker in the first frame."""
    return detector(shown(made, 150.0, 5.0, arm=10.0, wrist=-15.0, leg=5.0)[0])[0]


def follow(
    detector: Detector, scene: Tensor, last: Detection, renewed: tuple[str, ...] = (), **rates: float
) -> Detection:
    """The object in a scene, from where it was."""
    (found,) = detector.follow(scene, [last.matrix], seen=[Seen(last, rates, renewed)])
    return found


def test_every_part_is_followed_as_exactly_as_it_is_found(
    made: Template, detector: Detector, before: Detection
) -> None:
    scene, where = shown(made, 156.0, 9.0, arm=14.0, wrist=-18.0, leg=1.0)
    found, (searched,) = follow(detector, scene, before), detector(scene)
    for name in LEAVES:
        pixels, degrees = off(made, name, found.parts[name].matrix, where[name])
        assert pixels < 0.3
        assert degrees < 0.5
        np.testing.assert_allclose(found.parts[name].matrix, searched.parts[name].matrix, atol=0.05)
        assert found.parts[name].found


def test_a_limb_that_has_turned_far_is_searched_for_at_all_turns(
    made: Template, detector: Detector, before: Detection
) -> None:
    """Also those attached to it: the hand moves with the arm."""
    scene, where = shown(made, 152.0, 5.0, arm=-28.0, wrist=25.0, leg=5.0)
    found = follow(detector, scene, before)
    for name in LEAVES:
        pixels, degrees = off(made, name, found.parts[name].matrix, where[name])
        assert pixels < 0.5
        assert degrees < 1


def test_a_limb_that_turns_fast_is_expected_where_it_goes(
    made: Template, detector: Detector, before: Detection
) -> None:
    search = detector.search
    assert isinstance(search, FastSearch)
    moved = Follower(search.finder)._expected([Seen(before, {"arm": 12.0})])
    turn = math.degrees(math.atan2(moved["arm"][0, 1, 0], moved["arm"][0, 0, 0]))
    assert turn == pytest.approx(before.parts["arm"].turn + 12.0, abs=1e-6)
    np.testing.assert_allclose(np.linalg.det(moved["arm"][0]), 1.0)


def test_a_limb_that_is_gone_is_not_found_and_the_others_are(
    made: Template, detector: Detector, before: Detection
) -> None:
    scene, _ = shown(made, 153.0, 6.0, hidden=("leg",), arm=10.0, wrist=-15.0)
    found = follow(detector, scene, before)
    assert not found.parts["leg"].found
    assert all(found.parts[name].found for name in ("trunk", "upper", "hand"))
    back, where = shown(made, 155.0, 7.0, arm=10.0, wrist=-15.0, leg=-20.0)
    again = follow(detector, back, found)
    assert again.parts["leg"].found
    assert off(made, "leg", again.parts["leg"].matrix, where["leg"])[0] < 0.5


def test_spreads_remain_unless_they_are_asked_for(
    made: Template, detector: Detector, before: Detection
) -> None:
    scene, _ = shown(made, 152.0, 5.0, arm=12.0, wrist=-15.0, leg=3.0)
    last = before.parts["hand"].turn_spread, before.parts["leg"].turn_spread
    found = follow(detector, scene, before, renewed=("leg",))
    (searched,) = detector(scene)
    assert found.parts["hand"].turn_spread == last[0]
    assert found.parts["leg"].turn_spread == pytest.approx(searched.parts["leg"].turn_spread, abs=0.2)
    assert found.parts["leg"].turn_spread != last[1]


def test_without_its_body_an_object_is_not_followed_part_by_part(
    made: Template, detector: Detector, before: Detection
) -> None:
    search = detector.search
    assert isinstance(search, FastSearch)
    follower, roots, seen = Follower(search.finder), before.matrix[None], [Seen(before, {})]
    square = np.concatenate((roots, [[[0.0, 0.0, 1.0]]]), 1) if roots.shape[1] == 2 else roots
    there, _ = shown(made, 152.0, 5.0, arm=10.0, wrist=-15.0, leg=5.0)
    hidden, _ = shown(made, 152.0, 5.0, hidden=("trunk",), arm=10.0, wrist=-15.0, leg=5.0)
    assert follower.again(search.levels(there), square, seen, search.stop_score) is not None
    assert follower.again(search.levels(hidden), square, seen, search.stop_score) is None


def test_results_do_not_depend_on_threads(made: Template, before: Detection) -> None:
    scene, _ = shown(made, 156.0, 9.0, arm=14.0, wrist=-18.0, leg=1.0)
    one, two = (follow(ready(made, threads=count), scene, before) for count in (1, 2))
    for name in LEAVES:
        np.testing.assert_array_equal(one.parts[name].matrix, two.parts[name].matrix)


def test_all_of_several_objects_without_a_body_are_followed() -> None:
    limbs = [leaf(name, "r", noise(40, 60, x), (x, 40.0), (5.0, 20.0)) for name, x in (("a", 30), ("b", 70))]
    made = template(group("r"), *limbs, size=(140, 80))
    roots = [
        placed(turn, 1.0, at, made.centre) for turn, at in ((10.0, (100.0, 80.0)), (-20.0, (260.0, 150.0)))
    ]
    scene = GROUND
    for root in roots:
        scene = render(scene, made, matrices(made.parts, root, {}))
    assert len(ready(made).follow(scene, np.stack(roots))) == 2
