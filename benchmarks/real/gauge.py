"""Real, 1: a wall thermometer in hand-held photographs, by the criteria of ../shared/real/gauge.py."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.geometry import Array, apply
from benchmarks.real import opencv, without
from benchmarks.real.common import OURS, Plan, folder, interleaved, lost, median, rgb, script
from benchmarks.workload import Share, aim, section
from wherein.detect import Detector
from wherein.template import Template

WHICH = "A"  # the photograph that is the template
SIFT = "SIFT + MAGSAC"
RANGE = {"rotation": 60.0, "scale": (0.35, 1.4)}  # as in gauge.py
MARKS = (-29, 49)  # °C, the two values whose turns become the reading of the template
STRATA: dict[str, Callable[[float], bool]] = {  # by the dial's short axis / its long axis, as in gauge.py
    "all": lambda ratio: True,
    "frontal": lambda ratio: ratio > 0.93,
    "tilted": lambda ratio: 0.8 <= ratio <= 0.93,
    "steep": lambda ratio: ratio < 0.8,
}
ABOUT = (
    "One photograph is the template. The dial is found if its pivot is within 0.05 R and its rim has IoU ≥ "
    "0.8 with the marked ellipse; the needle is read if its tip is within 0.1 R of the marked tip "
    f"(`../shared/real/gauge.py`). {SIFT} gets the dial of the same photograph. wrong: a detection that is "
    "not the dial. °C: the reading of the template has two marks, with the turns that were found in the most "
    "frontal photograph of each; these photographs are then left out. Over the photographs whose needle was "
    "found, bias is the median of read − true, spread the interquartile range, worst the largest error. In "
    "the photographs the needle points at the numbers of the outer scale, -20 to 120 °F in steps of 20; "
    "their values in °C are rounded, by up to 0.8 °C, which is most of the bias. without: photographs "
    "without the dial; wrong: those with a false alarm."
)
COLUMNS = (
    ("method", "method", "text"),
    ("photographs", "kind", "text"),
    ("dial found", "found", "of total"),
    ("wrong", "wrong", "of total"),
    ("needle read", "read", "of total"),
    ("tip off, R", "tip", "number"),
    ("ms", "seconds", "ms"),
    ("median error °C", "error", "number"),
    ("bias", "bias", "number"),
    ("spread", "spread", "number"),
    ("worst", "worst", "number"),
)


@dataclass(frozen=True)
class Place:
    """The accuracy of a detected dial: the error of its pivot in R, and the IoU of its rim."""

    pivot: float
    rim: float

    @property
    def right(self) -> bool:
        """Whether it counts as found."""
        return self.pivot < 0.05 and self.rim >= 0.8


@dataclass(frozen=True)
class Judged:
    """The result of a method in one photograph."""

    image: str
    ratio: float
    celsius: float
    place: Place | None  # the accuracy of the detection; None: there is no detection
    seconds: float
    tip: float | None = None  # distance from the marked tip in R, if the dial and the needle were found
    value: float | None = None  # °C

    @property
    def detected(self) -> bool:
        """Whether there is a detection."""
        return self.place is not None

    @property
    def dial(self) -> bool:
        """Whether the detection is the dial."""
        return self.place is not None and self.place.right

    @property
    def read(self) -> bool:
        """Whether the tip of the needle is close enough to the marked one."""
        return self.tip is not None and self.tip < 0.1


@dataclass
class Dial:
    """The template of gauge.py, and the data to compare detections with the truth."""

    script: ModuleType
    path: Path
    at: Array = field(init=False)  # position of the needle's first pixel on the canvas
    offset: Array = field(init=False)  # position of the canvas's first pixel in the photograph

    def __post_init__(self) -> None:
        needle = self._record["parts"]["needle"]
        self.at = np.array(needle["at"], float)
        self.offset = self._photographed("pivot") - self.at - np.array(needle["pivot"], float)

    @property
    def _record(self) -> dict[str, Any]:
        return json.loads((self.path / "template.json").read_text(encoding="utf-8"))

    def _photographed(self, point: str) -> Array:
        return np.array(self.script.half(self.script.SPEC[WHICH][point]))

    @property
    def photograph(self) -> Path:
        """The photograph that is the template."""
        return self.script.DATA / self.script.SPEC[WHICH]["image"]

    @property
    def rim(self) -> Array:
        """The marked ellipse in pixels of the template's photograph."""
        name = self.script.SPEC[WHICH]["image"]
        (row,) = (row for row in self.script.ROWS if row["image"] == name)
        return self.script.ellipse(row["dial"])

    def add_reading(self, turns: Mapping[float, float]) -> None:
        """Add a reading to the template, from the turns of some values."""
        record = self._record
        points = sorted([turn, value] for value, turn in turns.items())
        record["parts"]["needle"]["reading"] = {"unit": "°C", "at": points}
        (self.path / "template.json").write_text(json.dumps(record), encoding="utf-8")

    def features(self) -> opencv.Features:
        """The SIFT features of the dial, in pixels of the template's photograph."""
        picture = rgb(self.photograph)
        mask = Image.new("L", (picture.shape[1], picture.shape[0]))
        ImageDraw.Draw(mask).polygon([(float(x), float(y)) for x, y in self.rim], fill=255)
        return opencv.Features.of(picture, np.asarray(mask))

    def place(self, truth: Mapping[str, Any], matrix: Array) -> Place:
        """The accuracy of the dial at a matrix, which maps the photograph of the template to the scene."""
        pivot, rim = apply(matrix, self._photographed("pivot")[None])[0], apply(matrix, self.rim)
        off = float(np.linalg.norm(pivot - truth["pivot"]) / radius(truth))
        return Place(off, float(self.script.iou(rim, self.script.ellipse(truth["dial"]))))

    def judged(self, truth: Mapping[str, Any], found: Any, seconds: float) -> Judged:
        """The result of wherein in a photograph, by its best detection."""
        if not len(found):
            return _judged(truth, None, seconds)
        needle = found[0].parts["needle"]
        place = self.place(truth, np.asarray(found[0].matrix) @ _shift(-self.offset))
        tip = None
        if place.right and needle.found:
            point = apply(
                np.asarray(needle.matrix), (self._photographed("tip") - self.offset - self.at)[None]
            )[0]
            tip = float(np.linalg.norm(point - truth["tip"]) / radius(truth))
        value = needle.value if place.right else None
        return _judged(truth, place, seconds, tip=tip, value=value)


def _shift(by: Array) -> Array:
    return np.array([[1, 0, by[0]], [0, 1, by[1]], [0, 0, 1.0]])


def radius(truth: Mapping[str, Any]) -> float:
    """R, the long half-axis of the dial."""
    return max(truth["dial"]["rx"], truth["dial"]["ry"])


def _judged(truth: Mapping[str, Any], place: Place | None, seconds: float, **more: Any) -> Judged:
    return Judged(truth["image"], truth["ratio"], truth["celsius"], place, seconds, **more)


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Run wherein and SIFT alternately on every photograph, then on photographs without the dial."""
    folder("gauge")
    module = script("gauge.py")
    with TemporaryDirectory() as made:
        module.template(Path(made) / "gauge", WHICH)
        dial = Dial(module, Path(made) / "gauge")
        detector, marks = _with_reading(plan, dial)
    truths = module.chosen(WHICH, plan.counts.gauge)
    features = dial.features()
    judged: dict[str, list[Judged]] = {OURS: [], SIFT: []}
    for done, truth in enumerate(truths):
        share(0.6 * done / len(truths))
        scene = rgb(module.DATA / truth["image"])
        calls = {OURS: partial(detector, scene), SIFT: partial(opencv.sift, features, scene)}
        answers = interleaved(calls, plan.counts.repeats)
        judged[OURS].append(dial.judged(truth, answers[OURS].value, answers[OURS].seconds))
        matrix = answers[SIFT].value
        place = None if matrix is None else dial.place(truth, matrix)
        judged[SIFT].append(_judged(truth, place, answers[SIFT].seconds))
    rows = [row for method, some in judged.items() for row in stratified(method, some)]
    rows += celsius([one for one in judged[OURS] if one.image not in marks])
    alarms = _false_alarms(plan, detector, features, lambda part: share(0.6 + 0.4 * part))
    return section(
        "gauge",
        ABOUT,
        COLUMNS,
        rows=rows + alarms,
        targets=_aims(judged, alarms),
        losses=_losses(judged, alarms),
    )


def _with_reading(plan: Plan, dial: Dial) -> tuple[Detector, tuple[str, ...]]:
    """A detector of the template with a reading, and the photographs from which its marks are."""
    plain = plan.detector(Template.load(dial.path), **RANGE)
    turns, images = {}, []
    for value in MARKS:
        frontal = [row for row in dial.script.ROWS if row["celsius"] == value]
        for truth in sorted(frontal, key=lambda row: -row["ratio"]):
            found = plain(dial.script.DATA / truth["image"])
            if dial.judged(truth, found, 0.0).read:
                turns[value] = found[0].parts["needle"].turn
                images.append(truth["image"])
                break
    if len(turns) == len(MARKS):  # otherwise no value is read, which the rows show
        dial.add_reading(turns)
    template = Template.load(dial.path)
    # The same calibration, since it does not depend on the reading.
    threads, calibration = plan.settings.threads, plain.calibration
    return Detector(template, **RANGE, threads=threads, calibration=calibration), tuple(images)


# --- rows ---


def stratified(method: str, judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """One row for all photographs, and one for each range of tilts."""
    rows = []
    for kind, inside in STRATA.items():
        some = [one for one in judged if inside(one.ratio)]
        if some:
            rows.append(_row(method, kind, some))
    return rows


def _row(method: str, kind: str, some: Sequence[Judged]) -> dict[str, Any]:
    row = {
        "method": method,
        "kind": kind,
        "found": sum(one.dial for one in some),
        "wrong": sum(one.detected and not one.dial for one in some),
        "total": len(some),
        "seconds": median([one.seconds for one in some]),
    }
    if method != OURS:
        return row
    tips = [one.tip for one in some if one.tip is not None]
    return row | {"read": sum(one.read for one in some), "tip": median(tips)}


def celsius(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The errors of the reading: one row for all values, and one for each."""
    rows = []
    for value in (None, *sorted({one.celsius for one in judged})):
        some = [one for one in judged if value is None or one.celsius == value]
        errors = [one.value - one.celsius for one in some if one.value is not None]
        kind = "°C, all" if value is None else f"at {value:g} °C"
        rows.append(
            {"method": OURS, "kind": kind, "total": len(some), "values": len(errors), **_errors(errors)}
        )
    return rows


def _errors(errors: Sequence[float]) -> dict[str, float]:
    if not errors:
        return {}
    low, high = np.quantile(errors, (0.25, 0.75))
    return {
        "error": float(np.median(np.abs(errors))),
        "bias": float(np.median(errors)),
        "spread": float(high - low),
        "worst": float(np.abs(errors).max()),
    }


def _false_alarms(
    plan: Plan, detector: Detector, features: opencv.Features, share: Share
) -> list[dict[str, Any]]:
    """A row for each method, with the number of its false alarms in photographs without the dial."""
    alarms: dict[str, list[tuple[bool, float]]] = {OURS: [], SIFT: []}
    names: dict[str, list[str]] = {OURS: [], SIFT: []}
    pictures = without.pictures(plan.counts.without, plan.rng("gauge", "without"))
    for done, (name, scene) in enumerate(pictures):
        share(done / len(pictures))
        calls = {OURS: partial(detector, scene), SIFT: partial(opencv.sift, features, scene)}
        for method, answer in interleaved(calls, 1).items():
            seen = len(answer.value) > 0 if method == OURS else answer.value is not None
            alarms[method].append((seen, answer.seconds))
            names[method] += [name] if seen else []
    return [
        {
            "method": method,
            "kind": "without",
            "wrong": sum(seen for seen, _ in some),
            "total": len(some),
            "seconds": median([seconds for _, seconds in some]),
            "alarms": names[method],
        }
        for method, some in alarms.items()
    ]


def _aims(
    judged: Mapping[str, Sequence[Judged]], alarms: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    counts = {method: sum(one.dial for one in some) for method, some in judged.items()}
    return [
        aim(f"gauge: dials found, ours − those of {SIFT}", ">=", 0, counts[OURS] - counts[SIFT]),
        aim(f"gauge: false alarms in {alarms[0]['total']} photographs", "<=", 0, alarms[0]["wrong"]),
    ]


def _losses(judged: Mapping[str, Sequence[Judged]], alarms: Sequence[Mapping[str, Any]]) -> list[str]:
    counts = {method: sum(one.dial for one in some) for method, some in judged.items()}
    losses = lost("gauge: dials found", counts[OURS], {SIFT: counts[SIFT]})
    for one in judged[OURS]:
        if what := _failure(one):
            losses.append(f"gauge: {one.image} (ratio {one.ratio:g}, {one.celsius:g} °C): {what}")
    return losses + [f"gauge: false alarm in {name}" for name in alarms[0]["alarms"]]


def _failure(one: Judged) -> str | None:
    """The failure in a photograph as text; None: there is none."""
    if one.place is None:
        return "not found"
    if not one.dial:
        return f"pivot {one.place.pivot:.3f} R off, IoU of the rim {one.place.rim:.2f}"
    if one.tip is None:
        return "needle not found"
    return None if one.read else f"tip {one.tip:.2f} R off"
