"""The templates of the benchmark, and their calibrations, which are measured in the same run."""

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib import import_module
from time import perf_counter
from unittest import mock

from benchmarks import photographs
from wherein.demo import ROBOT
from wherein.detect import Calibration, Detector
from wherein.detect.search_range import Range
from wherein.template import Template, Tree

CRAB = photographs.SHARED / "crab"
FIXED, SCALES, DEFAULTS = Range(), Range(scale=(0.8, 1.25)), Range(scale=(0.5, 2.0), tilt=40.0)
FEWER = {"_CHANCE_SCENES": 1, "_EMPTY_SCENES": 4, "_PRESENT_SCENES": 5}  # scenes of a calibration if quick


def without(template: Template, leaves: Collection[str], name: str) -> Template:
    """The template without some leaves, and without groups that become empty; it has no source."""
    tree = template.parts
    kept = {part for part in tree if set(tree.leaves_below(part)) - set(leaves)}
    return replace(
        template,
        name=name,
        parts=Tree({part: tree[part] for part in tree if part in kept}),
        paint_order=tuple(leaf for leaf in template.paint_order if leaf in kept),
        source=None,
    )


def body(template: Template) -> tuple[str, ...]:
    """The leaves that are fixed to the root."""
    tree = template.parts
    return tuple(leaf for leaf in tree.leaves if not tree[leaf].moves and tree[leaf].parent == tree.root)


def moving(template: Template) -> tuple[str, ...]:
    """The leaves that turn about their own joint."""
    return tuple(leaf for leaf in template.parts.leaves if template.parts[leaf].moves)


def robot() -> Template:
    """The robot, without a source, so that its calibration is not stored in the package."""
    return replace(Template.load(ROBOT), source=None)


def crab() -> Template | None:
    """The paper's template, the crab; None if ../shared is not beside the checkout."""
    return replace(Template.load(CRAB), source=None) if (CRAB / "template.json").exists() else None


def bodiless(template: Template) -> Template:
    """The template without the leaves that are fixed to the root; for the crab, this is the paper's tree."""
    return without(template, body(template), f"{template.name} without body")


def subjects(quick: bool = False) -> list[Template]:
    """The templates for quality: the timed template, with and without its body; unless quick, the robot."""
    first = timed_subject()
    others = [] if quick or first.name == "robot" else [robot()]
    return [first, bodiless(first), *others]


def timed_subject() -> Template:
    """The template for timing: the crab or, without ../shared, the robot."""
    return crab() or robot()


@dataclass
class Calibrations:
    """Calibrations, measured and timed once for each template and range; stored calibrations are not used.

    quick: they are measured on fewer scenes, and at fixed scale only, whatever the range.
    """

    quick: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    _made: dict[tuple[str, Range], Calibration] = field(default_factory=dict)

    def of(self, template: Template, ranges: Range) -> Calibration:
        """The calibration for this range of poses."""
        measured = FIXED if self.quick else ranges
        key = template.fingerprint, measured
        if key not in self._made:
            began = perf_counter()
            self._made[key] = self._make(template, measured)
            self.seconds[f"{template.name}, {describe_range(measured)}"] = perf_counter() - began
        return self._made[key]

    def _make(self, template: Template, ranges: Range) -> Calibration:
        module = import_module("wherein.detect.calibration.measure")
        with mock.patch.multiple(module, **FEWER) if self.quick else nullcontext():
            return module.calibrate(template, ranges)

    def detector(self, template: Template, ranges: Range, threads: int) -> Detector:
        """A new detector for this range of poses."""
        # If quick, the calibration was measured at one scale, and must be relabelled for the range.
        searched = {"scale": ranges.scale, "tilt": ranges.tilt}
        known = self.of(template, ranges).model_copy(update=searched)
        return Detector(template, ranges.rotation, **searched, calibration=known, threads=threads)


def describe_range(ranges: Range) -> str:
    """The range as text, for tables."""
    if ranges == DEFAULTS:
        return "defaults"
    low, high = ranges.scale
    return "fixed scale" if ranges == FIXED else f"scales {low:g} to {high:g}"
