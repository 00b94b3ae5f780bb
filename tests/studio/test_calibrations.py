"""Calibrations in the background: substitutes, cancelling, errors."""

import threading
import time
from collections.abc import Callable

import pytest

from detecting import made_up, walker
from wherein.detect import Calibration
from wherein.detect.calibration.store import Progress
from wherein.detect.search_range import Range
from wherein.studio.calibrations import CalibrationKind, Calibrator, default_calibration
from wherein.template import Template

ALL, FEW = Range(180.0), Range(20.0)


def wait_until_idle(calibrator: Calibrator) -> None:
    until(lambda: not calibrator.progress.running)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("timeout")


def test_a_known_calibration_is_returned_at_once() -> None:
    template = walker()
    known = made_up(template)
    calibrator = Calibrator(lambda *_: known)
    assert calibrator(template, ALL) == (known, CalibrationKind.MEASURED)
    assert calibrator(template, ALL)[0] is known


def test_a_new_request_cancels_the_running_calibration() -> None:
    template, ended, go = walker(), [], threading.Event()

    def slow(of: Template, ranges: Range, progress: Progress) -> Calibration:
        try:
            while not go.is_set():
                progress(0.5, "looking")
        finally:
            ended.append(ranges)
        return made_up(of, ranges.rotation)

    calibrator = Calibrator(slow)
    assert calibrator(template, ALL)[1] is CalibrationKind.DEFAULT
    assert calibrator(template, ALL)[1] is CalibrationKind.DEFAULT  # the same once more
    assert calibrator.progress.step == "looking"
    assert ended == []
    assert calibrator(template, FEW)[1] is CalibrationKind.DEFAULT
    until(lambda: ended == [ALL])
    go.set()
    wait_until_idle(calibrator)
    assert ended == [ALL, FEW]
    known, kind = calibrator(template, FEW)
    assert (known.rotation, kind) == (20.0, CalibrationKind.MEASURED)


def test_a_similar_calibration_is_reused() -> None:
    template, turned, go = walker(), walker(), threading.Event()
    turned.parts._parts["leg"] = turned.parts["leg"].__class__(
        **{**turned.parts["leg"].__dict__, "turn": 11.0}
    )
    go.set()

    def made(of: Template, ranges: Range, progress: Progress) -> Calibration:
        assert go.wait(60)
        return made_up(of, ranges.rotation, threshold=0.4)

    calibrator = Calibrator(made)
    calibrator(template, ALL)
    wait_until_idle(calibrator)
    go.clear()
    assert turned.fingerprint != template.fingerprint
    for of, ranges in ((template, FEW), (turned, ALL), (template, Range(polarity="any"))):
        known, kind = calibrator(of, ranges)
        assert (kind, known.threshold, known.serves(of, ranges)) == (CalibrationKind.REUSED, 0.4, True)
    assert default_calibration(template, Range(polarity="any")).polarity == "any"
    other = Template.rigid("other", template.parts["leg"].motif)
    assert calibrator(other, ALL)[1] is CalibrationKind.DEFAULT
    go.set()
    wait_until_idle(calibrator)


def test_a_failed_calibration_is_reported_and_can_be_repeated(caplog: pytest.LogCaptureFixture) -> None:
    template = walker()
    calls: list[Range] = []

    def broken(of: Template, ranges: Range, progress: Progress) -> Calibration:
        calls.append(ranges)
        if len(calls) == 1:
            raise MemoryError("/secret/path")
        return made_up(of)

    calibrator = Calibrator(broken)
    assert calibrator(template, ALL)[1] is CalibrationKind.DEFAULT
    wait_until_idle(calibrator)
    assert calibrator.progress.error == "The calibration failed. See the terminal for details."
    assert "MemoryError" in caplog.text
    assert calibrator(template, ALL)[1] is CalibrationKind.MEASURED
    assert calibrator.progress.error == ""


def test_the_default_calibration_serves_and_has_no_warnings() -> None:
    template, ranges = walker(), Range(30.0, (0.5, 2.0))
    made = default_calibration(template, ranges)
    assert made.serves(template, ranges)
    assert made.warnings == []
