"""What a score means: false-alarm rates, and the threshold."""

import pytest

from wherein.detect.calibration.false_alarms import describe_rate, suspect_scenes


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
