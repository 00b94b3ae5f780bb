"""The plan of a fit: how deep it goes, and in which order."""

from itertools import pairwise

import pytest

from wherein.pyramid.descent import MAX_PIXELS, Stage
from wherein.registration.plan import coarse_to_fine


@pytest.mark.parametrize(
    ("height", "width", "scale"),
    [(9, 9, 1), (19, 40, 1), (20, 20, 2), (102, 178, 8), (319, 400, 8), (320, 400, 16), (2900, 3900, 128)],
)
def test_the_pyramid_is_as_deep_as_the_motif_needs(height: int, width: int, scale: int) -> None:
    plan = coarse_to_fine(height, width, height * width)
    assert plan.alone[0].scale == scale


def test_a_thin_support_keeps_the_scale_fine() -> None:
    assert coarse_to_fine(100, 100, 100 * 100).alone[0].scale == 8
    assert coarse_to_fine(100, 100, 1000).alone[0].scale == 2


@pytest.mark.parametrize("size", [9, 30, 60, 120, 700, 3000])
def test_every_way_goes_from_coarse_to_half_size_by_halves(size: int) -> None:
    plan = coarse_to_fine(size, size, size**2)
    for way in (plan.alone, *((*search.thin, *search.refine) for search in plan.searches)):
        scales = [stage.scale for stage in way]
        assert all(coarse == fine or coarse == 2 * fine for coarse, fine in pairwise(scales))
        assert scales[-1] == min(scales[0], 2)
    assert plan.comparison.scale == min(plan.alone[0].scale, 2)
    assert [stage.scale for stage in plan.finish] == [1, 1]
    assert all(stage.pixels <= MAX_PIXELS for stage in plan.alone + plan.finish)


def test_a_scene_that_shows_the_motif_smaller_is_reduced_less() -> None:
    assert Stage(8, 1, finer=2).scene_scale == 4
    assert Stage(1, 1, finer=2).scene_scale == 1
    half = [search for search in coarse_to_fine(100, 100, 10_000).searches if search.size == 0.5]
    assert [stage.scene_scale for stage in half[0].thin + half[0].refine] == [4, 4, 4, 2, 1]


def test_a_stage_that_would_keep_all_starts_as_they_are_is_left_out() -> None:
    search = coarse_to_fine(100, 100, 10_000).searches[0]
    assert search.thin_for(65) == search.thin
    assert search.thin_for(64) == search.thin[1:]


def test_only_the_last_stage_of_a_large_motif_leaves_pixels_out() -> None:
    assert coarse_to_fine(300, 300, 90_000).finish[1].pixels == 90_000
    assert coarse_to_fine(600, 600, 360_000).finish[1].pixels == 2**16
