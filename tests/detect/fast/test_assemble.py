"""Leaves: whether a fitted one is found; static ones, which are evaluated in their place and have a score of
their own."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from detecting import group, leaf, noise, painted, photo, ready, template
from wherein.detect import Detector
from wherein.detect.fast.assemble import Assembler, fitted_leaf_scores
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.template import Template
from wherein.template.pose import placed


def badged() -> Template:
    """A body of two static leaves, and an arm of two."""
    return template(
        group("thing"),
        leaf("big", "thing", noise(60, 80, 1), (0.0, 20.0), static=True),
        leaf("badge", "thing", noise(22, 26, 2), (80.0, 31.0), static=True),
        group("arm", "thing", (20.0, 25.0), turn=35.0),
        leaf("upper", "arm", noise(24, 40, 3), (0.0, 0.0), static=True),
        leaf("stripe", "arm", noise(14, 24, 4), (40.0, 3.0), static=True),
        size=(107, 81),
    )


@pytest.fixture(scope="module")
def detector() -> Detector:
    made = badged()
    return ready(made)


def root(degrees: float, scale: float = 1.0) -> np.ndarray:
    return placed(degrees, scale, (150.0, 118.0), badged().centre)


@pytest.mark.parametrize(("degrees", "ground"), [(0.0, "coffee"), (71.0, "gravel"), (-140.0, "coffee")])
@pytest.mark.parametrize("hidden", [(), ("badge",), ("stripe",), ("badge", "stripe")])
def test_a_static_leaf_is_found_only_where_it_is(
    detector: Detector, degrees: float, hidden: tuple[str, ...], ground: str
) -> None:
    scene, _ = painted(badged(), root(degrees), {"arm": 14.0}, hidden, on=photo(ground, 321, 243))
    (item,) = detector(scene)
    assert {name for name in badged().parts.leaves if not item.parts[name].found} == set(hidden)
    for name in ("badge", "stripe"):
        assert (item.parts[name].score < 0.6) if name in hidden else (item.parts[name].score > 0.85)
    assert item.parts["arm"].score == pytest.approx(
        (item.parts["upper"].score + item.parts["stripe"].score) / 2
    )


def test_what_is_all_there_is_was_found() -> None:
    """A motif of a few pixels says little, but a detection of it without a part would contradict itself."""
    made = template(leaf("dot", None, noise(4, 4, 1)), size=(4, 4))
    item = Assembler(made)({"dot": np.eye(3)}, {"dot": (0.3, False)}, 0.8)
    assert item.parts["dot"].found


def test_the_score_of_a_leaf_is_its_own(detector: Detector) -> None:
    """Half of the badge painted over: its score falls, that of the body does not."""
    scene, where = painted(badged(), root(0.0))
    x, y = (where["badge"] @ (13.0, 0.0, 1.0))[:2].round().astype(int)
    scene[:, y : y + 22, x : x + 14] = 0.4
    (item,) = detector(scene)
    assert 0.3 < item.parts["badge"].score < 0.85
    assert item.parts["big"].score > 0.95


def test_outside_the_scene_it_is_not_found(detector: Detector) -> None:
    scene, where = painted(badged(), root(0.0))
    edge = int((where["badge"] @ (0.0, 0.0, 1.0))[0])
    (item,) = detector(scene[:, :, : edge + 5].contiguous())
    assert item.parts["big"].found
    assert not item.parts["badge"].found


def test_in_a_scene_of_its_size_there_is_no_other_place(detector: Detector) -> None:
    scene, _ = painted(
        badged(), placed(0.0, 1.0, badged().centre, badged().centre), on=torch.zeros(3, 81, 107)
    )
    (item,) = detector(scene)
    assert all(part.found for part in item.parts.values())


@pytest.mark.parametrize("size", [0.4, 2.6])
def test_also_where_it_is_small_or_large(size: float) -> None:
    """Where the search reduces the template or the scene, static leaves are scored there too."""
    made = badged()
    found = ready(made, 0.0, (size / 1.1, size * 1.1))
    for hidden in ((), ("badge",)):
        scene, _ = painted(made, root(0.0, size), hidden=hidden)
        (item,) = found(scene)
        assert item.parts["badge"].found == (not hidden)
        assert item.parts["big"].found


@pytest.mark.parametrize(
    ("turn", "spread", "evidence", "found"),
    [
        (180.0, 2.0, 1.6, True),  # little evidence, but at one of many turns only
        (180.0, 90.0, 1.6, False),
        (30.0, 2.0, 1.6, False),  # few turns to compare with
        (180.0, 2.0, 1.0, False),  # no more than clutter has
        (30.0, 2.0, 2.1, True),
        (180.0, 90.0, 2.1, False),
    ],
)
def test_a_limb_that_fits_at_one_turn_only_needs_less_evidence(
    turn: float, spread: float, evidence: float, found: bool
) -> None:
    needle = SimpleNamespace(name="needle", turn=turn, fitted_leaf=SimpleNamespace(name="needle"))
    finder = SimpleNamespace(
        pieces=SimpleNamespace(pieces=[needle]),
        weights={"needle": 4.0},
        models={"needle": SimpleNamespace(max_spread=10.0)},
    )
    hypotheses = Hypotheses(
        Placement({"needle": np.eye(3)[None]}, {"needle": np.ones(1)}),
        evidence={"needle": np.array([evidence / 4.0])},
        visible={"needle": np.ones(1)},
        scores=np.ones(1),
    )
    scores = fitted_leaf_scores(finder, hypotheses, 0, {"needle": spread})
    assert scores["needle"][1] is found
