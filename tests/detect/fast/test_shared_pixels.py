"""Which of several templates has the pixels that they share."""

import numpy as np
import pytest
from torch import Tensor

from detecting import noise, photo
from wherein import Template
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.shared_pixels import Contender, between_templates
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.pyramid.levels import ScenePyramid
from wherein.template.pose import matrices, placed
from wherein.template.render import render

RANGES = Range(180.0, (1.0, 1.0), 0.0)
WHOLE = Template.rigid("whole", Motif.whole(noise(64, 80, 3)))
PART = Template.rigid("part", Motif.whole(WHOLE.canvas.pixels[:, :40, :40].contiguous()))
OTHER = Template.rigid("other", Motif.whole(noise(40, 40, 5)))


def put(scene: Tensor, template: Template, x: float, y: float) -> Tensor:
    """The scene with a template whose top left pixel is at a place."""
    return render(scene, template, matrices(template.parts, _root(x, y), {}))


def _root(x: float, y: float) -> np.ndarray:
    return placed(0.0, 1.0, (x, y), (0.0, 0.0))


def at(template: Template, zncc: float, x: float, y: float, threshold: float = 0.5) -> Contender:
    """One hypothesis of a template."""
    finder = Finder(template, RANGES, {template.name: 1.0})
    placement = Placement({template.name: _root(x, y)[None]}, {template.name: np.array([zncc])})
    pixels = ScenePyramid(photo("coffee", 200, 160))
    found: Hypotheses = finder.scored(pixels, placement)
    return Contender(finder, found, threshold, 0.7 * threshold)


def scores(scene: Tensor, *contenders: Contender) -> list[list[float]]:
    return [one.scores.tolist() for one in between_templates(ScenePyramid(scene), contenders, 0.5)]


def test_objects_apart_from_each_other_are_all_kept() -> None:
    made = scores(photo("coffee", 200, 160), at(WHOLE, 0.9, 10, 10), at(OTHER, 0.8, 120, 100))
    assert made == [pytest.approx([0.9]), pytest.approx([0.8])]


def test_the_whole_object_has_the_pixels_of_its_part() -> None:
    scene = put(photo("coffee", 200, 160), WHOLE, 30, 20)
    assert scores(scene, at(PART, 0.97, 30, 20), at(WHOLE, 0.97, 30, 20)) == [[], pytest.approx([0.97])]


def test_of_equal_areas_the_better_fit_has_the_pixels_even_above_the_highest_score() -> None:
    scene = put(photo("coffee", 200, 160), PART, 30, 20)
    for one, two in ((0.985, 0.995), (0.995, 0.985)):
        made = scores(scene, at(PART, one, 30, 20), at(OTHER, two, 30, 20))
        assert [len(kept) for kept in made] == [int(one > two), int(two > one)]


def test_what_loses_pixels_is_judged_by_the_rest() -> None:
    """An object with something in front of it stays; one that fits only where another is does not."""
    behind = put(put(photo("coffee", 200, 160), WHOLE, 30, 20), OTHER, 30, 20)
    (front,), (rest,) = scores(behind, at(OTHER, 0.97, 30, 20), at(WHOLE, 0.6, 30, 20))
    assert front == pytest.approx(0.97)
    assert rest == pytest.approx(0.6)
    alone = put(photo("coffee", 200, 160), PART, 30, 20)
    made = scores(alone, at(PART, 0.97, 30, 20), at(WHOLE, 0.6, 30, 20))
    assert [len(kept) for kept in made] == [1, 0]


def test_a_candidate_takes_nothing_from_a_detection() -> None:
    scene = put(photo("coffee", 200, 160), PART, 30, 20)
    made = scores(scene, at(WHOLE, 0.8, 30, 20, threshold=0.9), at(PART, 0.55, 30, 20))
    assert made[1] == pytest.approx([0.55])
