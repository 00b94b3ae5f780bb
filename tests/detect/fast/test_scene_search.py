"""How many objects are found in a scene, how large, how much of them is covered, and which are reported."""

from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import group, leaf, made_up, noise, painted, photo, ready, template, walker
from wherein import Detector
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.pyramid.levels import ScenePyramid
from wherein.template import Template
from wherein.template.pose import placed


@pytest.fixture(scope="module")
def anywhere() -> Detector:
    motif = Template.rigid("patch", Motif.whole(noise(64, 80, 9)))
    return ready(motif, 40.0, (0.25, 4.0))


@pytest.mark.parametrize("scale", [0.3, 0.71, 1.0, 1.42, 3.0])
def test_small_and_large_objects_are_found(anywhere: Detector, scale: float) -> None:
    on = photo("coffee", 300, 240) if scale > 2 else photo("coffee", 200, 160)
    middle = (on.shape[2] / 2, on.shape[1] / 2)
    truth = placed(-20.0, scale, middle, anywhere.template.centre)
    scene, _ = painted(anywhere.template, truth, on=on)
    (found,) = anywhere(scene)
    corners = np.array(((0, 79, 0, 79), (0, 0, 63, 63), (1, 1, 1, 1)))
    assert np.abs((found.matrix - truth[:2]) @ corners).max() < max(0.25, 0.25 * scale)
    assert found.scale == pytest.approx(scale, rel=0.02)


@pytest.mark.parametrize(("share", "refined"), [(1.0, 3), (0.9, 2), (0.8, 0)])
def test_hypotheses_are_refined_that_refinement_may_make_likely(share: float, refined: int) -> None:
    """All that are likely; if none is, two that come close."""
    body = Template.rigid("patch", Motif.whole(noise(40, 50, 9)))
    search = SceneSearch(Finder(body, Range(), {"patch": 1.0}), 0.5, 0.5, 0.5, 1)
    placement = Placement({"patch": np.stack(3 * [np.eye(3)])}, {"patch": np.full(3, 0.5)})
    each = {"patch": np.ones(3)}
    found = Hypotheses(placement, each, each, np.full(3, share * 0.7 * 0.5 + 1e-9))
    given = list[Hypotheses]()
    with mock.patch.object(Finder, "polish", lambda _, scene, some: given.append(some) or some):
        ended = search.polished(ScenePyramid(torch.zeros(1, 60, 60)), found)
    assert [len(some.scores) for some in given] == [refined] * (refined > 0)
    assert len(ended.scores) == refined


def test_nothing_shrinks_to_a_speck() -> None:
    """A motif of a few pixels fits on the shading between two; it must not be found at a scale of 1/16."""
    tiny = Template.rigid("tiny", Motif.whole(noise(9, 9, 1)))
    detector = ready(tiny, scale=(0.5, 2.0), threshold=0.3)
    for item in detector(photo("chelsea", 120, 90)):
        assert 0.5 / 1.5 <= item.scale <= 2 * 1.5


RIGID = Template.rigid("patch", Motif.whole(noise(90, 120, 8)))
POSE = placed(33.0, 1.0, (150.0, 110.0), RIGID.centre)


def shown(cover: float = 0.0, turn: float = 33.0) -> Tensor:
    """The motif on gravel, a fraction of it under a patch of strong contrast."""
    root = placed(turn, 1.0, (150.0, 110.0), RIGID.centre)
    scene, _ = painted(RIGID, root, on=photo("gravel", 300, 220))
    if cover:
        width, height = (np.sqrt(cover) * np.array(RIGID.size)).astype(int)
        scene = scene.clone()
        scene[:, 90 : 90 + height, 120 : 120 + width] = noise(height, width, 5) * 2 - 0.5
    return scene.clamp(0, 1)


@pytest.mark.parametrize("cover", [0.0, 0.1, 0.2])
def test_a_rigid_object_is_found_under_an_occluder(cover: float) -> None:
    found = ready(RIGID)(shown(cover))
    assert len(found) == 1
    corner = np.array((*RIGID.size, 1.0))
    assert np.linalg.norm(found[0].matrix @ corner - (POSE @ corner)[:2]) < 1


@pytest.mark.parametrize(("turn", "count"), [(0.0, 1), (12.0, 1), (24.0, 0), (-40.0, 0)])
def test_only_rotations_in_the_range_are_reported(turn: float, count: int) -> None:
    detector = ready(RIGID, rotation=10.0)
    assert len(detector(shown(turn=turn))) == count


def test_all_of_many_objects_are_found() -> None:
    icon = Template.rigid("icon", Motif.whole(noise(24, 24, 3)))
    scene = photo("coffee", 512, 384).clone()
    places = [(x, y) for x in range(8, 480, 52) for y in range(8, 350, 58)]
    for x, y in places:
        scene[:, y : y + 24, x : x + 24] = noise(24, 24, 3)
    detector = ready(icon, rotation=0.0, threshold=0.8)
    found = detector(scene)
    assert len(places) > 50
    assert len(found) == len(places)
    corners = {(round(item.matrix[0, 2]), round(item.matrix[1, 2])) for item in found}
    assert corners == set(places)
    few = ready(icon, rotation=0.0, threshold=0.8, max_instances=7)
    assert len(few(scene)) == 7


def test_a_lower_threshold_loses_nothing() -> None:
    """A weak hypothesis from the body must not end the search from the limbs."""
    made = walker()
    root = placed(25.0, 1.0, (160.0, 120.0), made.centre)
    scene, _ = painted(made, root, {"arm": 20.0}, hidden=("trunk",))
    for threshold in (None, 0.3, 0.1, 0.05):
        found = ready(made, calibration=made_up(made, threshold=0.4), threshold=threshold)(scene)
        assert any(np.abs(item.parts["hand"].angle - 45.0) < 1 for item in found), threshold


def test_the_only_part_is_taken_to_be_at_rest() -> None:
    """A template with one part that was not marked as static: its turn cannot be told from the root's."""
    made = template(group("r"), leaf("a", "r", noise(60, 80, 2)), size=(80, 60))
    scene, _ = painted(made, placed(50.0, 1.0, (160.0, 120.0), made.centre))
    found = ready(made)(scene)
    assert found[0].angle == pytest.approx(50, abs=0.5)
    assert found[0].parts["a"].angle == pytest.approx(50, abs=0.5)
