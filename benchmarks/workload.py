"""How much of everything the suite "detection" does, and what its sections share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import objects
from benchmarks.objects import Scene
from benchmarks.registration import Settings
from benchmarks.report import Target
from benchmarks.subjects import FIXED, SCALES, Calibrations
from wherein.template import Template

Share = Callable[[float], None]  # told how much of a section is done


@dataclass(frozen=True)
class Counts:
    """Of scenes and repeats."""

    scenes: int = 12  # a kind
    empty: int = 120  # without the object
    scaled: tuple[str, ...] = tuple(objects.KINDS)  # kinds that are looked at over scales too
    timed: int = 8  # scenes of a row of the times
    repeats: int = 5
    swept: int = 3  # of them by OpenCV as well
    swept_scales: int = 1  # the same at eight scales, over a minute each
    every: int = 1  # how many of the sizes, parts and ranges of the growth: each, every second …
    cold: int = 3  # processes
    same: int = 3  # scenes a kind that are looked at again and again


FULL = Counts()
QUICK = Counts(
    scenes=1,
    empty=3,
    scaled=("plain", "empty"),
    timed=1,
    repeats=3,
    swept=1,
    swept_scales=0,
    every=3,
    cold=1,
    same=1,
)


@dataclass(frozen=True)
class Workload:
    """What every section is given."""

    settings: Settings
    counts: Counts
    calibrations: Calibrations = field(default_factory=Calibrations)

    @staticmethod
    def of(settings: Settings) -> "Workload":
        """The whole, or the quick one."""
        return Workload(settings, QUICK if settings.quick else FULL, Calibrations(settings.quick))

    def scene(self, template: Template, kind: str, index: int, scale: tuple[float, float]) -> Scene:
        """Scene `index` of a kind: every rotation, and the joints as far as the template lets them."""
        ranges = objects.Range(rotation=180.0, scale=scale, turn=180.0)
        return objects.scene(template, kind, index, self.settings.seed, ranges)


RANGES = (FIXED, SCALES)


def levels(picture: NDArray) -> NDArray[np.uint8]:
    """A picture in [0, 1] as a camera gives it."""
    return np.rint(picture * 255).astype(np.uint8)


def aim(measure: str, relation: str, bound: float, value: float | None) -> dict[str, Any]:
    """A target with its value and whether it is met; None where there is no value."""
    return Target(measure, relation, bound).judge(None if value is None else {measure: value})


def section(
    name: str, about: str, columns: tuple[tuple[str, str, str], ...], **content: Any
) -> dict[str, Any]:
    """A part of the report: a table (title, key and kind of each column), its rows, aims and losses."""
    return {"name": name, "about": about, "columns": columns, "targets": [], "losses": [], **content}
