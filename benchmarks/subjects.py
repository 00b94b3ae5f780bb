"""The templates that are looked for, and their calibrations, made in the run that measures them."""

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib import import_module
from time import perf_counter
from unittest import mock

from benchmarks import photographs
from wherein.demo import ROBOT
from wherein.detect import Calibration, Detector
from wherein.detect.range import Range
from wherein.template import Template, Tree

CRAB = photographs.SHARED / "crab"
FIXED, SCALES = (1.0, 1.0), (0.8, 1.25)
FEWER = {"_CHANCE_SCENES": 1, "_EMPTY_SCENES": 4, "_PRESENT_SCENES": 5}  # scenes of a calibration when quick


def without(template: Template, leaves: Collection[str], name: str) -> Template:
    """The template less some leaves, and less the groups that nothing is left of; made in memory."""
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
    """The leaves that are rigid with the root."""
    tree = template.parts
    return tuple(leaf for leaf in tree.leaves if not tree[leaf].moves and tree[leaf].parent == tree.root)


def moving(template: Template) -> tuple[str, ...]:
    """The leaves with joints of their own."""
    return tuple(leaf for leaf in template.parts.leaves if template.parts[leaf].moves)


def robot() -> Template:
    """The package's own template; in memory, so that nothing is kept beside it."""
    return replace(Template.load(ROBOT), source=None)


def crab() -> Template | None:
    """The paper's template, where ../shared is beside the checkout."""
    return replace(Template.load(CRAB), source=None) if (CRAB / "template.json").exists() else None


def bodiless(template: Template) -> Template:
    """Without what is rigid with the root: of the crab, the paper's own tree."""
    return without(template, body(template), f"{template.name} without body")


def subjects(quick: bool = False) -> list[Template]:
    """What quality is measured on: what is timed, the same without its body, and the robot unless quick."""
    first = timed_subject()
    others = [] if quick or first.name == "robot" else [robot()]
    return [first, bodiless(first), *others]


def timed_subject() -> Template:
    """What is timed beside OpenCV: the crab, or the robot where there is no crab."""
    return crab() or robot()


@dataclass
class Calibrations:
    """Made once a template and range, without looking at what is kept, and timed.

    quick: on fewer scenes, and at fixed scale only, which then serves for a range of scales too.
    """

    quick: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    _made: dict[tuple[str, tuple[float, float]], Calibration] = field(default_factory=dict)

    def of(self, template: Template, scale: tuple[float, float]) -> Calibration:
        """The calibration for every rotation and these scales."""
        wanted = FIXED if self.quick else scale
        key = template.fingerprint, wanted
        if key not in self._made:
            began = perf_counter()
            self._made[key] = self._make(template, Range(180.0, wanted))
            self.seconds[f"{template.name}, {scales_in_words(wanted)}"] = perf_counter() - began
        return self._made[key]

    def _make(self, template: Template, ranges: Range) -> Calibration:
        module = import_module("wherein.detect.calibration.measure")
        with mock.patch.multiple(module, **FEWER) if self.quick else nullcontext():
            return module.calibrate(template, ranges)

    def detector(self, template: Template, scale: tuple[float, float], threads: int) -> Detector:
        """A detector for every rotation that has seen no scene yet."""
        calibration = self.of(template, scale).model_copy(update={"scale": scale})  # when quick, of one scale
        return Detector(template, 180.0, scale, calibration=calibration, threads=threads)


def scales_in_words(scale: tuple[float, float]) -> str:
    """For tables."""
    return "fixed scale" if scale == FIXED else f"scales {scale[0]:g} to {scale[1]:g}"
