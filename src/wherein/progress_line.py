"""A line that shows the progress of a long calculation, on a terminal or in a notebook."""

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
    """Rewrites one line with the task, the finished fraction, the current step and the remaining time.

    Arguments:
        task: the name of the calculation.
        stream: where the line is written; by default standard error, so that output can be piped.
        clock: returns seconds; can be replaced in tests.
    """

    def __init__(self, task: str, stream: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._stream, self._clock = task, sys.stderr if stream is None else stream, clock
        self._began: float | None = None
        self._shown, self._width = -_INTERVAL, 0

    def __call__(self, fraction: float, step: str) -> None:
        """Show the finished fraction, 0 to 1, and the current step."""
        now = self._clock()
        self._began = now if self._began is None else self._began
        if now - self._shown < _INTERVAL and fraction < 1:
            return
        self._shown = now
        # No estimate before 5 %: it would be far off.
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
        self._stream.write(f"\r{text:<{self._width}}")  # padded, to overwrite a longer line
        self._stream.flush()
        self._width = len(text)
