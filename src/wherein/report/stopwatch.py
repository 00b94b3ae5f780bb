"""How long each piece of the work on a scene takes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SEARCH = "search"
"""What every scene has."""


@dataclass
class Stopwatch:
    """Counts seconds, for one scene.

    Attributes:
        laps: seconds by what was done, in the order in which it was begun.

    Example:
        >>> watch = Stopwatch()
        >>> with watch("reading"):
        ...     text = "a" * 10
        >>> list(watch.laps)
        ['reading']
    """

    laps: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Count what happens inside, also where it fails."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.laps[what] = time.perf_counter() - began
