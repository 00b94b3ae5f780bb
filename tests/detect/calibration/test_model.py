"""What a calibration says about a template, and about a score."""

import numpy as np
import pytest

from detecting import made_up, toy, upright, walker
from wherein.detect.calibration.model import Calibration


def test_warnings() -> None:
    clear = made_up(walker())
    assert clear.warnings == []
    unclear = clear.model_copy(update={"threshold": 0.95, "confused": [("a", "b", 0.8)]})
    assert ["told from clutter in" in words for words in unclear.warnings] == [True, False, False]
    assert "little texture" in unclear.warnings[1]
    assert unclear.warnings[2] == "a and b look alike (ZNCC 0.80)"


def test_weights_follow_chance() -> None:
    weights = made_up(walker(), chance=0.2).weights
    assert set(weights) == {"walker", "arm", "leg", "wrist"}
    assert weights["arm"] == pytest.approx(-1 / np.log(1 - 0.04))


def test_a_rate_is_measured_in_all_scenes_without_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calibration, "false_alarms", lambda *_: 0.0002)
    known = upright(toy()).model_copy(update={"megapixels": 0.25, "clutter": [0.2] * 20})
    words = "once in 5,000 megapixels (extrapolated from 5 megapixels)"
    assert known.describe_false_alarms(0.8) == words


def test_it_shows_itself_in_one_short_line() -> None:
    shown = repr(made_up(walker()))
    assert shown.startswith("Calibration(threshold ") and len(shown) < 110
    assert str(made_up(walker())) == shown
