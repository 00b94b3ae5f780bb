"""Calibrations in the background: a person who turns a knob sees something at once, and the truth soon.

What a template's scores mean is measured, which takes up to a minute and depends on the range of poses. Until
that is done the nearest that is known stands in for it, and the page says so.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch

from wherein.detect.calibration.basins import Basin
from wherein.detect.calibration.measure import Progress, calibration_for
from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.reach import Limits
from wherein.detect.fast.pieces import Pieces
from wherein.detect.range import Range
from wherein.template.bundle import Template

_log = logging.getLogger("wherein.studio")

Calibrate = Callable[[Template, Range, Progress], Calibration]

_PATIENCE = 0.3
"""Seconds to wait for one that may only have to be read."""

_KNOWN = 32
"""Calibrations that are remembered, the last ones."""

_TURN, _RATIO, _CHANCE, _THRESHOLD = 8.0, 1.12, 0.35, 0.6
"""Of a piece about which nothing is known: its basin, what clutter reaches, and the least score."""


class Ground(StrEnum):
    """What a score is judged by."""

    MEASURED = "measured"
    """A calibration for this template and range."""

    BORROWED = "borrowed"
    """One for another range, or for the template as it was before."""

    GUESSED = "guessed"
    """None: usual values."""


@dataclass(frozen=True)
class Standing:
    """How far a calibration is.

    Attributes:
        running: whether one is being made.
        share: of it that is done.
        what: is being done.
        error: why the last one could not be made.
    """

    running: bool = False
    share: float = 0.0
    what: str = ""
    error: str = ""


class _SupersededError(Exception):
    """Another calibration is wanted by now."""


@dataclass(frozen=True, eq=False)
class _Wanted:
    template: Template
    ranges: Range

    @property
    def key(self) -> tuple[str, float, tuple[float, float]]:
        return self.template.fingerprint, self.ranges.rotation, self.ranges.scale


class Calibrator:
    """Makes calibrations one at a time, in a thread; what is wanted last goes first, and ends what is not.

    Arguments:
        calibrate: makes one, or finds it where it is kept.
    """

    def __init__(self, calibrate: Calibrate = calibration_for) -> None:
        self._calibrate = calibrate
        self._known: dict[tuple[str, float, tuple[float, float]], Calibration] = {}
        self._wanted: _Wanted | None = None
        self._standing = Standing()
        self._changed = threading.Condition()

    @property
    def standing(self) -> Standing:
        """Of what is being made now."""
        with self._changed:
            return self._standing

    def __call__(self, template: Template, ranges: Range) -> tuple[Calibration, Ground]:
        """The best calibration that there is now; a better one is begun where there can be one."""
        wanted = _Wanted(template, ranges)
        with self._changed:
            if wanted.key not in self._known:
                self._begin(wanted)
                self._changed.wait_for(lambda: not self._standing.running, _PATIENCE)
            if wanted.key in self._known:
                return self._known[wanted.key], Ground.MEASURED
            borrowed = self._borrowed(wanted)
        return (borrowed, Ground.BORROWED) if borrowed else (guess(template, ranges), Ground.GUESSED)

    def _begin(self, wanted: _Wanted) -> None:
        if self._wanted is not None and self._wanted.key == wanted.key:
            return
        idle, self._wanted = self._wanted is None, wanted
        if idle:
            self._standing = Standing(running=True, what="preparing")
            threading.Thread(target=self._work, name="calibration", daemon=True).start()

    def _work(self) -> None:
        """Until nothing more is wanted."""
        while True:
            with self._changed:
                wanted = self._wanted
            assert wanted is not None, "who works has something to do"
            made, error = self._made(wanted)
            with self._changed:
                if made is not None:
                    self._known[wanted.key] = made
                    for key in list(self._known)[:-_KNOWN]:
                        del self._known[key]
                if self._wanted is wanted:
                    self._wanted, self._standing = None, Standing(error=error)
                    self._changed.notify_all()
                    return

    def _made(self, wanted: _Wanted) -> tuple[Calibration | None, str]:
        def told(share: float, what: str) -> None:
            with self._changed:
                if self._wanted is not wanted:
                    raise _SupersededError
                self._standing = Standing(running=True, share=share, what=what)

        try:
            with torch.no_grad():
                return self._calibrate(wanted.template, wanted.ranges, told), ""
        except _SupersededError:
            return None, ""
        except Exception:  # in a thread of its own: nobody else would ever hear of it
            _log.exception("a calibration has failed")
            return None, "it could not be measured what scores mean; the terminal says why"

    def _borrowed(self, wanted: _Wanted) -> Calibration | None:
        """The last one of the same template, or of one with the same pieces, as if it were for this range."""
        homes = {piece.name for piece in Pieces.of(wanted.template).pieces}
        near = [known for known in self._known.values() if set(known.basins) == homes]
        if not near:
            return None
        fingerprint, rotation, scale = wanted.key
        near.sort(key=lambda known: known.fingerprint == fingerprint)
        return near[-1].model_copy(update={"fingerprint": fingerprint, "rotation": rotation, "scale": scale})


def guess(template: Template, ranges: Range) -> Calibration:
    """Usual values, for a first look: nothing was measured, so what they say of chance is not to be told."""
    homes = [piece.name for piece in Pieces.of(template).pieces]
    return Calibration(
        fingerprint=template.fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        basins=dict.fromkeys(homes, Basin(turn=_TURN, ratio=_RATIO)),
        chance=dict.fromkeys(homes, _CHANCE),
        threshold=_THRESHOLD,
        clutter=[_CHANCE],
        present=[1.0],
        confused=[],
        limits=Limits(rotation=ranges.rotation, scale=ranges.scale),
        megapixels=1.0,
    )
