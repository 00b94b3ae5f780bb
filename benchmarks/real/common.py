"""Helpers of the sections of the suite "real": counts, data, detectors, times, overlap of outlines."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from benchmarks import photographs
from benchmarks.geometry import Array
from benchmarks.registration import Settings
from benchmarks.subjects import FEWER
from wherein.detect import Calibration, Detector
from wherein.detect.arguments import checked_range
from wherein.detect.search_range import Range
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.template import Template

REAL = photographs.SHARED / "real"
OURS = "wherein"
LONG = 1.0  # s: total time of calls after which they are not repeated

Picture = NDArray[np.uint8]


class MissingDataError(Exception):
    """The pictures of a section are not on this machine; the message names them."""


@dataclass(frozen=True)
class Counts:
    """Numbers of pictures and repeats; None: all."""

    gauge: int | None = None
    without: int = 200  # photographs without the dial
    pairs: int | None = None
    oxford: int | None = None
    coins: int = 3  # number of coins that are templates
    industrial: int | None = None
    stamps: int = 30
    stamp_scenes: int = 4
    shapes: int | None = None
    shape_scenes: int = 4  # for each background
    needles: int | None = None  # number of shapes of needles
    needle_scenes: int = 12
    screens: int | None = 8  # number of elements of a screen that are templates
    repeats: int = 3


FULL = Counts()
QUICK = Counts(
    gauge=6,
    without=6,
    pairs=6,
    oxford=3,
    coins=1,
    industrial=2,
    stamps=2,
    stamp_scenes=2,
    shapes=2,
    shape_scenes=1,
    needles=2,
    needle_scenes=3,
    screens=2,
    repeats=1,
)


@dataclass(frozen=True)
class Plan:
    """The settings and counts that all sections share."""

    settings: Settings
    counts: Counts

    @staticmethod
    def of(settings: Settings) -> "Plan":
        """The full or the quick plan."""
        return Plan(settings, QUICK if settings.quick else FULL)

    def rng(self, *names: str | int) -> np.random.Generator:
        """The random generator of one scene; it does not depend on the number of scenes."""
        return np.random.default_rng([self.settings.seed, crc32(repr(names).encode())])

    def detector(self, template: Template, **arguments: Any) -> Detector:
        """A detector with the stored calibration or, if quick, one on fewer scenes, which is not stored."""
        given = dict(arguments)
        if self.settings.quick:
            ranges = checked_range(
                given.get("rotation", 180.0),
                given.get("scale", (0.5, 2.0)),
                given.get("tilt", 40.0),
                template,
                given.get("polarity", "same"),
            )
            given["calibration"] = self._fewer(template, ranges)
        return Detector(template, threads=self.settings.threads, **given)

    def _fewer(self, template: Template, ranges: Range) -> Calibration:
        module = import_module("wherein.detect.calibration.measure")
        with mock.patch.multiple(module, **FEWER):
            return module.calibrate(template, ranges)


# --- data ---


def folder(name: str) -> Path:
    """A folder of ../shared/real; raises MissingDataError if it does not exist."""
    path = REAL / name
    if not path.is_dir():
        raise MissingDataError(f"no ../shared/real/{name}")
    return path


def script(name: str) -> ModuleType:
    """A script of ../shared/real as a module."""
    path = REAL / name
    spec = spec_from_file_location(f"shared_{path.stem}", path) if path.exists() else None
    if spec is None or spec.loader is None:
        raise MissingDataError(f"no ../shared/real/{name}")
    module = module_from_spec(spec)
    with redirect_stdout(StringIO()):
        spec.loader.exec_module(module)
    return module


def rgb(path: Path) -> Picture:
    """A picture file as (H, W, 3)."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def rigid(name: str, picture: NDArray | str | Path) -> Template:
    """A template of one picture without moving parts; the alpha of the picture is the mask."""
    loaded = load_picture(picture)
    mask = torch.ones_like(loaded.pixels[0]) if loaded.mask is None else loaded.mask
    return Template.rigid(name, Motif(loaded.pixels, mask))


def spread(items: Sequence[Any], count: int | None) -> list[Any]:
    """`count` of the items, evenly spaced; None: all items."""
    if count is None or count >= len(items):
        return list(items)
    return [items[round(k)] for k in np.linspace(0, len(items) - 1, count)]


# --- times ---


@dataclass(frozen=True)
class Answer:
    """The return value of a method, and the median of its times in seconds."""

    value: Any
    seconds: float


def interleaved(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Answer]:
    """Run all calls alternately, `repeats` times, so that other load on the machine affects all alike.

    After LONG seconds there is no further round.
    """
    values: dict[str, Any] = {}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = perf_counter()
            values[name] = call()
            taken[name].append(perf_counter() - began)
        if sum(map(sum, taken.values())) > LONG:
            break
    return {name: Answer(values[name], float(np.median(taken[name]))) for name in calls}


def median(values: Sequence[float]) -> float | None:
    """The median; None if there are no values."""
    return float(np.median(values)) if len(values) else None


def lost(what: str, ours: float, theirs: Mapping[str, float]) -> list[str]:
    """A sentence for each peer whose value is larger than that of wherein."""
    return [
        f"{what}, to {peer}: {ours:.3g} against {value:.3g}" for peer, value in theirs.items() if value > ours
    ]


# --- outlines ---


def iou(one: Array, other: Array, size: tuple[int, int]) -> float:
    """The intersection over union of two polygons (N, 2) in a scene of a given (width, height)."""
    a, b = (_filled(polygon, size) for polygon in (one, other))
    return float((a & b).sum() / max((a | b).sum(), 1))


def _filled(polygon: Array, size: tuple[int, int]) -> NDArray[np.bool_]:
    """The pixels inside a polygon, with a margin of half the scene's longer side on every side."""
    margin = max(size) // 2
    image = Image.new("1", (size[0] + 2 * margin, size[1] + 2 * margin))
    points = np.clip(np.nan_to_num(polygon) + margin, -9999, 9999)
    ImageDraw.Draw(image).polygon([(float(x), float(y)) for x, y in points], fill=1)
    return np.asarray(image)
