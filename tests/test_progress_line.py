"""The line that shows how far a calibration is."""

import io
import sys

import pytest

from wherein.progress_line import ProgressLine, is_watched


def test_one_line_that_is_written_again_and_goes_away() -> None:
    stream, seconds = io.StringIO(), iter((0.0, 0.1, 1.0, 2.0))
    line = ProgressLine("Calibrating cup", stream, lambda: next(seconds))
    for fraction, step in ((0.0, "clutter"), (0.05, "clutter"), (0.25, "objects"), (0.5, "end")):
        line(fraction, step)
    line.close()
    first, second, third, blank, end = stream.getvalue().split("\r")[1:]
    assert first == "Calibrating cup:   0%, clutter"
    assert second == "Calibrating cup:  25%, objects, about 3 s left"
    assert third.rstrip() == "Calibrating cup:  50%, end, about 2 s left" and len(third) == len(second)
    assert (blank.strip(), end) == ("", "")


def test_nothing_is_written_where_nothing_was_reported() -> None:
    stream = io.StringIO()
    ProgressLine("Calibrating cup", stream).close()
    assert stream.getvalue() == ""


def test_who_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    assert not is_watched(stream)
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert is_watched(stream)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert is_watched(io.StringIO())
