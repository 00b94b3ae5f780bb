"""The stopwatch."""

import time

import pytest

from wherein.report.stopwatch import Stopwatch


def test_a_step_that_fails_is_measured_too() -> None:
    watch = Stopwatch()
    with pytest.raises(ValueError, match="no"), watch("reading"):
        time.sleep(0.01)
        raise ValueError("no")
    assert list(watch.laps) == ["reading"]
    assert watch.laps["reading"] >= 0.01
