"""The numbers of scenes and repeats of the suite "detection", and helpers of its sections."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import objects
from benchmarks.objects import Scene
from benchmarks.registration import Settings
from benchmarks.report import Target
from benchmarks.subjects import DEFAULTS, FIXED, SCALES, Calibrations
from wherein.detect.search_range import Range
from wherein.template import Template

Share = Callable[[float], None]  # called with the fraction of a section that is done


@dataclass(frozen=True)
class Counts:
    """Numbers of scenes and repeats."""

    scenes: int = 12  # of each kind
    empty: int = 120  # without the object
    scaled: tuple[str, ...] = tuple(objects.KINDS)  # kinds that are searched in other ranges too
    timed: int = 6  # scenes for each row of times
    repeats: int = 5
    swept: int = 3  # number of these scenes for OpenCV
    swept_scales: int = 1  # the same at eight scales, which take over a minute each
    every: int = 1  # the rows of the growth that are measured: each, every second …
    cold: int = 3  # processes
    same: int = 2  # scenes of each kind for determinism


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
    """The settings, the counts and the calibrations that all sections share."""

    settings: Settings
    counts: Counts
    calibrations: Calibrations = field(default_factory=Calibrations)

    @staticmethod
    def of(settings: Settings) -> "Workload":
        """The full or the quick workload."""
        return Workload(settings, QUICK if settings.quick else FULL, Calibrations(settings.quick))

    def scene(self, template: Template, kind: str, index: int, searched: Range) -> Scene:
        """Scene `index` of a kind, at any rotation, with joints turned as far as the template allows."""
        ranges = objects.Range(rotation=180.0, scale=searched.scale, turn=180.0)
        return objects.scene(template, kind, index, self.settings.seed, ranges)


RANGES = (FIXED, SCALES, DEFAULTS)


def levels(picture: NDArray) -> NDArray[np.uint8]:
    """A picture in [0, 1] as 8-bit levels, as of a camera."""
    return np.rint(picture * 255).astype(np.uint8)


def aim(measure: str, relation: str, bound: float, value: float | None) -> dict[str, Any]:
    """An aim with its value, and whether it is met; None if there is no value."""
    return Target(measure, relation, bound).judge(None if value is None else {measure: value})


def section(
    name: str, about: str, columns: tuple[tuple[str, str, str], ...], **content: Any
) -> dict[str, Any]:
    """A section of the report: a table (title, key and kind of each column), its rows, aims and losses."""
    return {"name": name, "about": about, "columns": columns, "targets": [], "losses": [], **content}
