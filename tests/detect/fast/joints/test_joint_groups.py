"""Groups that turn but have no picture: their parts are found at every turn, and determine it."""

import numpy as np
import pytest

from detecting import angle, between, group, leaf, noise, off, painted, photo, ready, template
from wherein.detect import Detector
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import group_frames
from wherein.detect.fast.joints.joint_groups import place_group
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.pyramid.levels import ScenePyramid
from wherein.template import Template
from wherein.template.pose import frames, placed

GROUP, OWN = 30.0, 20.0


def faced(body: bool = True) -> Template:
    """A body (or an arm in its place), and two eyes with joints of their own on a pair that turns, 40 px from
    the pair's joint."""
    trunk = noise(70, 90, 1)
    return template(
        group("toy"),
        leaf("trunk", "toy", trunk, (30.0, 70.0), (45.0, 60.0), turn=15.0, static=body),
        group("pair", "toy", (75.0, 70.0), turn=GROUP),
        leaf("left", "pair", noise(34, 24, 2), (35.0, 12.0), (12.0, 30.0), turn=OWN),
        leaf("right", "pair", noise(34, 24, 3), (91.0, 12.0), (12.0, 30.0), turn=OWN),
        size=(151, 141),
    )


@pytest.fixture(scope="module")
def detector() -> Detector:
    made = faced()
    return ready(made)


ROOT = placed(25.0, 1.0, (160.0, 122.0), faced().centre)


def check(
    detector: Detector, turns: dict[str, float], hidden: tuple[str, ...] = (), near: float = 1.0
) -> None:
    """All visible parts are found within a pixel and a degree, and the pair within a few degrees."""
    made = detector.template
    scene, where = painted(made, ROOT, turns, hidden, on=photo("coffee", 321, 243))
    (item,) = detector(scene)
    for name in made.parts.leaves:
        assert item.parts[name].found == (name not in hidden), name
        if name not in hidden:
            assert np.less(off(made, name, item.parts[name].matrix, where[name]), 1.0).all(), name
    assert between(item.parts["pair"].angle, angle(where["pair"])) < near
    assert item.parts["pair"].found


@pytest.mark.parametrize("pair", [-30.0, -22.0, -11.0, 0.0, 7.0, 15.0, 28.0, 30.0])
@pytest.mark.parametrize("own", [(0.0, 0.0), (20.0, -20.0), (-20.0, -20.0)])
def test_eyes_are_found_at_every_turn_of_the_pair(
    detector: Detector, pair: float, own: tuple[float, float]
) -> None:
    check(detector, {"pair": pair, "left": own[0], "right": own[1]})


@pytest.mark.parametrize("hidden", ["left", "right"])
@pytest.mark.parametrize("pair", [-28.0, 12.0])
def test_one_eye_determines_the_turn_of_the_pair(detector: Detector, pair: float, hidden: str) -> None:
    check(detector, {"pair": pair, "left": 15.0, "right": 15.0}, (hidden,), near=2.0)


@pytest.mark.parametrize("pair", [-28.0, 20.0])
def test_without_a_body(pair: float) -> None:
    """The joints of the arm and of an eye determine the root, at any turn of the pair."""
    made = faced(body=False)
    check(
        ready(made),
        {"pair": pair, "trunk": 8.0, "left": 15.0},
        near=4.0,
    )


@pytest.mark.parametrize("hidden", [("left",), ("right",), ("trunk",)])
def test_a_group_whose_turn_is_undetermined_is_at_rest(hidden: tuple[str, ...]) -> None:
    """One eye and the arm, or the eyes alone: their joints fit many turns of the pair, each with a root."""
    made = faced(body=False)
    turns = {"trunk": -11.0, "left": 14.0, "right": -9.0}
    scene, _ = painted(made, ROOT, turns, hidden, on=photo("coffee", 321, 243))
    (item,) = ready(made)(scene)
    assert between(item.angle, angle(ROOT)) < 2
    assert np.linalg.norm((item.matrix - ROOT[:2]) @ (*made.centre, 1.0)) < 2
    assert between(item.parts["pair"].angle, item.angle) < 1e-6


def nested(inner_eye: bool) -> Template:
    """A pair in a pair; an eye may be attached to the outer one."""
    eye = (
        (leaf("third", "outer", noise(28, 24, 4), (3.0, 22.0), (12.0, 24.0), turn=OWN),) if inner_eye else ()
    )
    return template(
        group("toy"),
        leaf("trunk", "toy", noise(70, 90, 1), (30.0, 70.0), static=True),
        group("outer", "toy", (60.0, 72.0), turn=20.0),
        *eye,
        group("pair", "outer", (85.0, 55.0), turn=20.0),
        leaf("left", "pair", noise(34, 24, 2), (55.0, 2.0), (12.0, 30.0), turn=OWN),
        leaf("right", "pair", noise(34, 24, 3), (111.0, 12.0), (12.0, 30.0), turn=OWN),
        size=(151, 141),
    )


@pytest.mark.parametrize(("outer", "pair"), [(0.0, 18.0), (18.0, -12.0), (-15.0, -20.0)])
def test_a_group_in_a_group(outer: float, pair: float) -> None:
    made = nested(True)
    turns = {"outer": outer, "pair": pair, "left": 9.0, "third": -14.0}
    check(ready(made), turns, near=3.0)


def test_a_group_without_pieces_of_its_own_is_at_rest() -> None:
    made = nested(False)
    check(ready(made), {"pair": 18.0, "right": -9.0}, near=2.0)


@pytest.mark.parametrize("degrees", [-30.0, 4.0, 25.0])
@pytest.mark.parametrize("visible", [("left",), ("right",), ("left", "right")])
def test_the_turn_of_a_group_is_exact_where_its_pieces_are(degrees: float, visible: tuple[str, ...]) -> None:
    pieces = Pieces.of(faced())
    (pair,) = pieces.groups
    true = frames(faced().parts, ROOT, {"pair": degrees, "left": 7.0, "right": -20.0})
    them = [piece for piece in pieces.limbs if piece.name in visible]
    found = group_frames(pair, ROOT[None], them, {name: true[name][None] for name in visible})
    np.testing.assert_allclose(found[0], true["pair"], atol=1e-9)


def test_a_piece_on_the_joint_of_its_group_turns_by_itself_as_far_as_it_may() -> None:
    made = template(
        group("r"),
        group("g", "r", (20.0, 20.0), turn=30.0),
        leaf("a", "g", noise(20, 20), (10.0, 10.0), (10.0, 10.0), turn=10.0),
        size=(40, 40),
    )
    pieces = Pieces.of(made)
    true = frames(made.parts, ROOT, {"g": 25.0, "a": 10.0})["a"]
    found = group_frames(pieces.groups[0], ROOT[None], pieces.limbs, {"a": true[None]})
    assert between(angle(found[0]), angle(true)) == pytest.approx(10.0)


def test_an_eye_that_disagrees_is_searched_for_again() -> None:
    """A copy of it, where it could be at another turn of the pair, does not keep it from being found: the
    turn with the most evidence wins, here that of the better eye."""
    made, turns = faced(), {"pair": -20.0, "left": 5.0, "right": -5.0}
    scene, where = painted(made, ROOT, turns, on=photo("coffee", 321, 243))
    patch = where["right"] @ (12.0, 17.0, 1.0)
    x, y = int(patch[0]), int(patch[1])
    scene[:, y - 4 : y + 9, x - 4 : x + 9] = 0.5  # an occluder on the true one
    other, _ = painted(made, ROOT, {"pair": 28.0, "right": -5.0}, ("trunk", "left"), on=scene)
    pieces = Pieces.of(made)
    models = [PieceModel(piece, pieces.groups[0]) for piece in pieces.limbs]
    weights = {"left": 8.0, "right": 4.0}
    before = Placement({"toy": ROOT[None]}, {"toy": np.ones(1)})
    found = place_group(ScenePyramid(other), before, pieces.groups[0], models, weights)
    true = frames(made.parts, ROOT, turns)
    assert between(angle(found.frames["pair"][0]), angle(true["pair"])) < 2
    assert between(angle(found.frames["right"][0]), angle(true["right"])) < 3
    assert found.zncc["right"][0] > 0.5
