"""How much effort a template needs in a look for many: little texture in few pixels needs more."""

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import noise, photo
from wherein import Template
from wherein.detect.calibration.look_effort import is_near, least_sufficient
from wherein.detect.calibration.measure import painted_object
from wherein.detect.calibration.together import needed_effort
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.fast.shared_search import EFFORTS, SharedSearch
from wherein.detect.score import MAX_ZNCC
from wherein.detect.search_range import MAX_LOOK_EFFORT, Range
from wherein.images.motif import Motif
from wherein.template.pose import placed

RANGES = Range(180.0, (0.7, 1.4), 0.0)


def stars(width: int, height: int, count: int) -> Tensor:
    """A dark picture with a few bright points."""
    rng, sky = np.random.default_rng(0), torch.full((3, height, width), 0.05)
    for x, y in zip(rng.integers(4, width - 4, count), rng.integers(4, height - 4, count), strict=True):
        sky[:, y : y + 2, x : x + 2] = 0.9
    return sky


def effort(picture: Tensor) -> int:
    template, rng = Template.rigid("it", Motif.whole(picture)), np.random.default_rng(1)
    finder = Finder(template, RANGES, {})
    return needed_effort(finder, [painted_object(finder, photo("coffee", 400, 300), rng) for _ in range(4)])


def test_texture_needs_the_least() -> None:
    assert effort(noise(90, 100, 1)) == 0


def test_points_of_light_need_more() -> None:
    assert effort(stars(150, 160, 25)) > 0


@pytest.mark.parametrize(
    ("missed", "chosen"),
    [
        ((0, 0, 0, 0), 0),
        ((1, 1, 1, 0), 0),  # too hard for the usual effort, and the highest takes too long for one scene
        ((1, 0, 0, 0), 1),
        ((1, 1, 0, 0), 2),
        ((2, 1, 2, 0), 1),
        ((2, 2, 2, 0), 3),
        ((6, 6, 3, 5), 2),
        ((3, 3, 3, 3), 3),  # too hard for any effort
    ],
)
def test_a_scene_that_the_usual_effort_finds_may_not_be_missed(missed: tuple[int, ...], chosen: int) -> None:
    assert least_sufficient(missed.__getitem__) == chosen


def test_more_effort_finds_what_the_least_misses() -> None:
    finder = Finder(Template.rigid("it", Motif.whole(stars(150, 160, 25))), RANGES, {})
    search = SceneSearch(finder, MAX_ZNCC, MAX_ZNCC, MAX_ZNCC, threads=1)
    picture, _ = painted_object(finder, photo("coffee", 400, 300), np.random.default_rng(1))
    least, most = (
        float(SharedSearch([search], [one]).refined(search.levels(picture))[0].zncc.max(initial=0.0))
        for one in (EFFORTS[0], EFFORTS[-1])
    )
    assert least < 0.5 < most


def test_every_effort_that_a_calibration_may_name_is_known() -> None:
    assert len(EFFORTS) == MAX_LOOK_EFFORT + 1


def test_what_fits_elsewhere_is_not_found() -> None:
    """Of a picture that fits poorly even where it is, clutter fits as well: no sign that it is found."""
    finder = Finder(Template.rigid("it", Motif.whole(noise(90, 100, 1))), RANGES, {})
    root = placed(30.0, 1.0, (200.0, 150.0), finder.middle)
    same_place, beside = root @ placed(90.0, 1.2, finder.middle, finder.middle), root.copy()
    beside[:2, 2] += 30.0
    assert is_near(finder, np.stack([root, same_place, beside]), root).tolist() == [True, True, False]
