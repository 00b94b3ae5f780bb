"""What a score means: false-alarm rates, and the threshold."""

import math

import pytest

from wherein.detect.calibration.false_alarms import (
    choose_threshold,
    describe_rate,
    equal_rate,
    rare_clutter_score,
    suspect_scenes,
    threshold_among,
)

CLUTTER = [0.30 + 0.005 * k for k in range(20)]
PRESENT = [0.70 + 0.01 * k for k in range(24)]


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (2.34, "2.3 per megapixel"),
        (0.26, "once in 4 megapixels"),
        (1 / 3456, "once in 3,500 megapixels (extrapolated from 5 megapixels)"),
        (1e-20, "less than once in 10⁹ megapixels (extrapolated from 5 megapixels)"),
        (0.0, "less than once in 10⁹ megapixels (extrapolated from 5 megapixels)"),
    ],
)
def test_rates_in_words(rate: float, words: str) -> None:
    assert describe_rate(rate, measured=5.0) == words


def test_scenes_are_suspect_only_if_all_others_are_clear() -> None:
    clear, present = [0.3, 0.32, 0.29, 0.31, 0.3, 0.33], [0.9] * 20
    assert suspect_scenes(clear, present) == []
    assert suspect_scenes([*clear, 0.95, 0.3], present) == [6]
    blurred = [0.2, 0.5, 0.8, 0.85, 0.4, 0.7]  # such a template cannot be told from clutter
    assert suspect_scenes([*blurred, 0.95], present) == []
    assert suspect_scenes([0.3, 0.31, *[0.95] * 6], present) == []  # nor can one that is everywhere


def test_one_hard_scene_of_a_few_hides_no_suspect() -> None:
    """The object is missed in one of eight scenes; one of those without it shows it all the same."""
    clear, present = [0.3, 0.32, 0.29, 0.31, 0.3, 0.33], [0.25, 0.77, 0.82, 0.9, 0.91, 0.92, 0.97, 0.97]
    assert suspect_scenes([*clear, 0.82], present) == [6]
    assert suspect_scenes([*clear, 0.5], present) == []
    assert suspect_scenes([*clear, 0.82], [0.8]) == [6]


def test_clutter_that_resembles_a_thin_thing_is_not_suspect() -> None:
    """It scores as a racket does in some of a few scenes; a photograph of the racket would score far more."""
    clutter = [0.49, 0.51, *[0.53, 0.54, 0.55, 0.56] * 4]
    present = [0.66, 0.67, 0.70, 0.70, 0.72, 0.72, 0.76, 0.94]
    assert suspect_scenes([*clutter, 0.68, 0.92], present) == [18, 19]
    assert suspect_scenes([*clutter, 0.68, 0.92], present, beyond=2.0) == [19]


def test_what_stands_far_out_is_no_clutter_of_an_object_that_is_hard() -> None:
    """A patch of a photograph is looked for in it, and scores low in small and blurred test scenes."""
    clutter, present = [0.3 + 0.01 * k for k in range(19)], [0.48, 0.57, 0.6, 0.64, 0.86, 0.92, 0.95, 0.98]
    assert suspect_scenes([*clutter, 0.98], present) == [19]
    assert suspect_scenes([*clutter, 0.7], present) == []


def test_among_many_it_is_not_below_what_clutter_has_reached() -> None:
    scenes = [*CLUTTER[1:], 0.69]
    assert threshold_among(scenes, [0.5, 0.6, *[0.8] * 6], 50, 1.0) == 0.69
    assert threshold_among(scenes, [0.5] * 8, 50, 1.0) == pytest.approx(0.95 * 0.5)  # or it is never found


def test_only_the_highest_rates_are_lowered() -> None:
    assert equal_rate([0.001, 0.002, 0.5, 0.1], 0.013) == pytest.approx(0.005)
    assert equal_rate([0.1, 0.1], 0.01) == pytest.approx(0.005)
    assert equal_rate([0.001, 0.002], 0.01) == math.inf
    assert equal_rate([], 0.01) == math.inf


def test_of_several_templates_it_is_strict_where_the_object_scores_well_above() -> None:
    far, near = [0.9] * 8, [0.45] * 8
    strict, loose = rare_clutter_score(CLUTTER, 1e-4 / 50), rare_clutter_score(CLUTTER, 1e-3)
    assert threshold_among(CLUTTER, far, 50, 1e-3) == strict
    assert threshold_among(CLUTTER, near, 50, 1e-3) == loose
    hard = [0.2, *far[1:]]  # it was missed in one of eight scenes
    assert threshold_among(CLUTTER, hard, 50, 1e-3) == strict > loose


def test_clutter_hardly_ever_reaches_it() -> None:
    threshold = choose_threshold(CLUTTER, PRESENT)
    assert rare_clutter_score(CLUTTER, 1e-2) <= threshold <= rare_clutter_score(CLUTTER, 1e-4)


def test_it_is_not_below_what_clutter_has_reached() -> None:
    outlier = [*CLUTTER[:-1], 0.69]
    assert rare_clutter_score(outlier, 1e-2) < 0.69
    assert choose_threshold(outlier, PRESENT) >= 0.69


def test_scenes_that_are_lost_at_any_threshold_do_not_lower_it() -> None:
    clear = [0.9] * 21
    assert choose_threshold(CLUTTER, clear) == rare_clutter_score(CLUTTER, 1e-4)
    assert choose_threshold(CLUTTER, [0.1, 0.15, 0.2, *clear]) == choose_threshold(CLUTTER, clear)


def test_a_background_that_shows_the_object_does_not_set_it() -> None:
    shown = [*CLUTTER[:-1], 0.85]
    assert choose_threshold(shown, PRESENT) < 0.85


@pytest.mark.parametrize("highest", [0.3, 0.6, 0.97])
def test_the_object_passes_it_in_good_scenes(highest: float) -> None:
    clutter = [highest - 0.005 * k for k in range(20)]
    assert sum(score >= choose_threshold(clutter, PRESENT) for score in PRESENT) >= len(PRESENT) // 4
