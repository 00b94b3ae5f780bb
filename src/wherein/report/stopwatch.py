"""Stopwatch: the seconds spent on each step of the work on a scene."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SEARCH = "search"
"""The name of the step that every scene has."""


@dataclass
class Stopwatch:
    """Measures the steps of the work on one scene.

    Attributes:
        laps: the seconds of each step by its name, in the order in which the steps ended.

    Example:
        >>> watch = Stopwatch()
        >>> with watch("reading"):
        ...     text = "a" * 10
        >>> list(watch.laps)
        ['reading']
    """

    laps: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Measure the block as a step, even if the block raises."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.laps[step] = time.perf_counter() - began
