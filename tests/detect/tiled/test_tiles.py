"""The plan of tiles: all of a scene, every object whole in one of them, and no more memory than there is."""

from itertools import pairwise

import pytest

from wherein.detect.tiled import tiles
from wherein.detect.tiled.tiles import ObjectSize, bytes_per_pixel, plan, tile_side, whole_pixels
from wherein.errors import ArgumentError

SIZE = ObjectSize(diameter=100.0, around=10.0, detail=40.0)


def intervals(low: float, length: float, high: int) -> list[tuple[float, float]]:
    """Where an object may lie along an axis: from border to border, in steps."""
    return [(at, at + length) for at in range(int(low), int(high - length), 7)]


@pytest.mark.parametrize("box", [(0, 0, 3000, 2000), (37, 91, 2990, 1999), (0, 0, 700, 5001)])
@pytest.mark.parametrize("alignment", [1, 256])
def test_every_object_lies_in_a_tile_as_a_whole(box: tuple[int, int, int, int], alignment: int) -> None:
    (only,) = plan(box, SIZE, (0.5, 2.0), False, 640, alignment)
    span = SIZE.span(2.0, False)
    for axis in (0, 1):
        spans = {(one[axis], one[axis + 2]) for one in only.tiles}
        assert all(begin == box[axis] or begin % max(64, alignment) == 0 for begin, _ in spans)
        assert all(end - begin <= 640 + max(64, alignment) for begin, end in spans)
        for low, high in intervals(box[axis], span, box[axis + 2]):
            assert any(begin <= low and high <= end for begin, end in spans), (low, high)


def test_a_scene_that_fits_is_one_tile_whatever_the_object() -> None:
    huge = ObjectSize(diameter=3000.0, around=100.0, detail=40.0)
    (only,) = plan((5, 6, 600, 400), huge, (0.5, 2.0), True, 640)
    assert only.tiles == ((5, 6, 600, 400),)
    assert only.reduction == 1
    assert only.scale == (0.5, 2.0)


def test_objects_that_are_large_for_a_tile_are_searched_for_in_a_reduced_scene() -> None:
    large = ObjectSize(diameter=400.0, around=20.0, detail=100.0)
    passes = plan((0, 0, 6000, 6000), large, (0.5, 4.0), False, 640)
    assert [one.reduction for one in passes] == [1, 2, 4, 8]
    assert passes[0].scale[0] == 0.5
    assert passes[-1].scale[1] == 4.0
    for one, following in pairwise(passes):
        assert one.scale[1] == following.scale[0]
    for one in passes:
        assert large.span(one.scale[1], False) <= 640 / 2 * one.reduction * 1.0001
        assert all(begin % one.reduction == 0 for tile in one.tiles for begin in tile[:2])


def test_an_object_with_more_detail_than_fits_use_is_searched_for_in_a_reduced_scene_alone() -> None:
    detailed = ObjectSize(diameter=2000.0, around=100.0, detail=800.0)
    (only,) = plan((0, 0, 20_000, 20_000), detailed, (0.75, 1.0), False, 4096)
    assert only.reduction == 4
    assert 800.0 * 0.75 / 4 >= 142


def test_memory_sets_the_size_of_tiles() -> None:
    pixels = whole_pixels(4 * 10**9, 5 * 10**8, 2)
    assert pixels * bytes_per_pixel(2) + 5 * 10**8 + tiles.FIXED <= 4 * 10**9
    assert tile_side(pixels) == tiles.MAX_SIDE
    small = tile_side(whole_pixels(12 * 10**8, 5 * 10**8, 2))
    assert small < tiles.MAX_SIDE
    assert small % tiles.ALIGNMENT == 0
    # With the last tile of a row, which reaches to the border.
    assert (small + tiles.ALIGNMENT) ** 2 * bytes_per_pixel(2) + 5 * 10**8 + tiles.FIXED <= 12 * 10**8
    assert bytes_per_pixel(16) > bytes_per_pixel(2)


def test_too_little_memory_says_how_much_is_needed() -> None:
    with pytest.raises(ArgumentError, match="memory is 700 MB, but at least 820 MB are needed"):
        whole_pixels(7 * 10**8, 5 * 10**8, 2)


def test_several_objects_need_what_each_needs() -> None:
    both = ObjectSize.of_all([SIZE, ObjectSize(50.0, 30.0, 10.0)])
    assert both == ObjectSize(100.0, 30.0, 10.0)
