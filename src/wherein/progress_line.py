"""A line that shows how far a long calculation is, on a terminal or in a notebook."""

import sys
import time
from collections.abc import Callable
from typing import Any

_INTERVAL = 0.2
"""Seconds between two updates. A choice: often enough to see that it moves."""


def is_watched(stream: Any = None) -> bool:
    """Whether a person sees what is printed: on a terminal, or in a notebook."""
    stream = sys.stderr if stream is None else stream
    return "ipykernel" in sys.modules or (stream is not None and stream.isatty())


class ProgressLine:
    """Writes one line again and again: what is being done, how much of it, and how long the rest takes.

    Arguments:
        task: what takes long.
        stream: where it is written; standard error by default, as other programs do.
        clock: seconds, for tests.
    """

    def __init__(self, task: str, stream: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._stream, self._clock = task, sys.stderr if stream is None else stream, clock
        self._began: float | None = None
        self._shown, self._width = -_INTERVAL, 0

    def __call__(self, fraction: float, step: str) -> None:
        """Show that a fraction is done, 0 to 1, and the current step."""
        now = self._clock()
        self._began = now if self._began is None else self._began
        if now - self._shown < _INTERVAL and fraction < 1:
            return
        self._shown = now
        left = (now - self._began) * (1 - fraction) / fraction if fraction > 0.05 else None
        about = "" if left is None else f", about {left:.0f} s left"
        self._write(f"{self._task}: {fraction:4.0%}, {step}{about}")

    def close(self) -> None:
        """Remove the line, if there is one."""
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()
            self._width = 0

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}")  # spaces over what was there
        self._stream.flush()
        self._width = len(text)
