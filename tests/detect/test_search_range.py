"""The poses that are searched."""

from wherein.detect.search_range import Effort, Range


def test_a_range_says_whether_the_size_is_fixed_and_the_polarity_free() -> None:
    assert Range().fixed_scale
    assert Range(scale=(0.7, 0.7)).fixed_scale
    assert not Range(scale=(0.5, 2.0)).fixed_scale
    assert not Range().any_polarity
    assert Range(polarity="any").any_polarity


def test_a_piece_that_may_turn_is_searched_for_further_but_no_further_than_all_around() -> None:
    ranges = Range(30.0, (0.5, 2.0), 40.0)
    plane = ranges.of_plane(25.0)
    assert (plane.rotation, plane.scale, plane.tilt) == (55.0, (0.5, 2.0), 40.0)
    assert ranges.of_plane().rotation == 30.0
    assert Range(170.0).of_plane(25.0).rotation == 180.0


def test_a_range_in_words_is_what_a_caller_would_write() -> None:
    assert str(Range(30, (0.5, 2), 40, "any")) == "rotation=30, scale=(0.5, 2), tilt=40, polarity='any'"


def test_ranges_compare_by_value() -> None:
    assert Range(30.0, (0.5, 2.0)) == Range(30.0, (0.5, 2.0), 0.0, "same")
    assert Range(30.0, tilt=10.0) != Range(30.0)
    assert Range(polarity="any") != Range()
    assert Effort(0.5).crowd == 1


def test_the_usual_scale_is_the_nearest_to_the_templates_own() -> None:
    assert [Range(scale=s).usual_scale for s in ((0.5, 2.0), (1.5, 2.0), (0.2, 0.4))] == [1.0, 1.5, 0.4]
