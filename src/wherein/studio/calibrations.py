"""Calibrations in the background, with substitutes until they are done.

A calibration takes up to a minute, and depends on the search range. A user who moves a slider expects a
result at once. Therefore the studio searches with the best available calibration, and repeats the search
later.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum

import torch

from wherein.detect.calibration.measure import calibration_for
from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.reach import Reach
from wherein.detect.calibration.store import Progress
from wherein.detect.fast.pieces import Pieces
from wherein.detect.search_range import Range
from wherein.template.bundle import Template

_log = logging.getLogger("wherein.studio")

Calibrate = Callable[[Template, Range, Progress], Calibration]

_WAIT = 0.3
"""Seconds to wait for a calibration, which may be stored on disk already. A choice: it feels immediate."""

_MAX_KNOWN = 32
"""Number of calibrations kept in memory. A choice: as many search ranges as a user compares."""

_CHANCE, _THRESHOLD = 0.3, 0.45
"""Default values without any measurement: the score that clutter reaches, and the threshold. A choice:
typical of calibrated templates."""


class CalibrationKind(StrEnum):
    """Where the calibration of a search comes from."""

    MEASURED = "measured"
    """It was measured for this template and search range."""

    REUSED = "reused"
    """It was measured for another search range, or for an earlier version of the template."""

    DEFAULT = "default"
    """Default values; nothing was measured."""


@dataclass(frozen=True)
class CalibrationProgress:
    """The progress of the running calibration.

    Attributes:
        running: whether a calibration is running.
        fraction: the fraction that is done, 0 to 1.
        step: a description of the current step.
        error: why the last calibration failed; empty if it did not.
    """

    running: bool = False
    fraction: float = 0.0
    step: str = ""
    error: str = ""


class _SupersededError(Exception):
    """Another calibration has been requested, so that this one is cancelled."""


@dataclass(frozen=True, eq=False)
class _Job:
    """A requested calibration; jobs with the same key have the same result."""

    template: Template
    ranges: Range

    @property
    def key(self) -> tuple[str, Range]:
        return self.template.fingerprint, self.ranges


class Calibrator:
    """Runs one calibration at a time, in a thread. A new request cancels the running calibration.

    Arguments:
        calibrate: returns a calibration, measured or from disk.
    """

    def __init__(self, calibrate: Calibrate = calibration_for) -> None:
        self._calibrate = calibrate
        self._known: dict[tuple[str, Range], Calibration] = {}
        self._job: _Job | None = None
        self._progress = CalibrationProgress()
        self._changed = threading.Condition()

    @property
    def progress(self) -> CalibrationProgress:
        """The progress of the running calibration."""
        with self._changed:
            return self._progress

    def __call__(self, template: Template, ranges: Range) -> tuple[Calibration, CalibrationKind]:
        """The best calibration that is available now. If it was not measured, a measurement is started."""
        job = _Job(template, ranges)
        with self._changed:
            if job.key not in self._known:
                self._start(job)
                self._changed.wait_for(lambda: not self._progress.running, _WAIT)
            if job.key in self._known:
                return self._known[job.key], CalibrationKind.MEASURED
            reused = self._similar(job)
        if reused is not None:
            return reused, CalibrationKind.REUSED
        return default_calibration(template, ranges), CalibrationKind.DEFAULT

    def _start(self, job: _Job) -> None:
        if self._job is not None and self._job.key == job.key:
            return
        # The thread runs as long as there is a job. If it is running, it sees that `_job` has changed.
        idle, self._job = self._job is None, job
        if idle:
            self._progress = CalibrationProgress(running=True, step="preparing")
            threading.Thread(target=self._work, name="calibration", daemon=True).start()

    def _work(self) -> None:
        """Calibrate until there is no new job."""
        while True:
            with self._changed:
                job = self._job
            assert job is not None, "the thread runs only while there is a job"
            made, error = self._run(job)
            with self._changed:
                if made is not None:
                    self._known[job.key] = made
                    for key in list(self._known)[:-_MAX_KNOWN]:  # the oldest
                        del self._known[key]
                if self._job is job:
                    self._job, self._progress = None, CalibrationProgress(error=error)
                    self._changed.notify_all()
                    return

    def _run(self, job: _Job) -> tuple[Calibration | None, str]:
        """The calibration, or an error message; neither if it was superseded."""

        def report(fraction: float, step: str) -> None:
            # A thread cannot be stopped from outside: the progress report is where it can be cancelled.
            with self._changed:
                if self._job is not job:
                    raise _SupersededError
                self._progress = CalibrationProgress(running=True, fraction=fraction, step=step)

        try:
            with torch.no_grad():
                return self._calibrate(job.template, job.ranges, report), ""
        except _SupersededError:
            return None, ""
        except Exception:  # nothing else would report an exception in this thread
            _log.exception("the calibration failed")
            return None, "The calibration failed. See the terminal for details."

    def _similar(self, job: _Job) -> Calibration | None:
        """A substitute: the newest calibration of the same template, or of one with the same pieces.

        Its fingerprint and range are replaced by those of the job, so that a detector accepts it.
        """
        pieces = {piece.name for piece in Pieces.of(job.template).pieces}
        similar = [known for known in self._known.values() if set(known.chance) == pieces]
        if not similar:
            return None
        fingerprint = job.template.fingerprint
        # The sort is stable, and True comes after False: the last is the newest of this template, if any.
        similar.sort(key=lambda known: known.fingerprint == fingerprint)
        changes = {"fingerprint": fingerprint, **asdict(job.ranges)}
        return similar[-1].model_copy(update=changes)


def default_calibration(template: Template, ranges: Range) -> Calibration:
    """Default values for a first search. They are not measured, and imply nothing about false alarms."""
    pieces = [piece.name for piece in Pieces.of(template).pieces]
    return Calibration(
        fingerprint=template.fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        tilt=ranges.tilt,
        polarity=ranges.polarity,
        chance=dict.fromkeys(pieces, _CHANCE),
        threshold=_THRESHOLD,
        clutter=[_CHANCE],
        present=[1.0],
        confused=[],
        limits=Reach(rotation=ranges.rotation, scale=ranges.scale),
        megapixels=1.0,
    )
