"""What a calibration says about a score."""

import pytest

from detecting import toy, upright
from wherein.detect.calibration.model import Calibration


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
def test_false_alarms_in_words(rate: float, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calibration, "false_alarms", lambda *_: rate)
    known = upright(toy()).model_copy(update={"megapixels": 0.25, "clutter": [0.2] * 20})
    assert known.describe_false_alarms(0.8) == words
