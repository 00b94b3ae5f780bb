"""A forecast for a template: how reliably it will be found, and the limits of its scale and tilt.

The reliability comes from the calibration. To find the limits, the object is painted over backgrounds at
decreasing scales, then at increasing tilts, until it is no longer found. This takes as long as the
calibration, so the limits are stored beside it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.conditions import photographed
from wherein.detect.calibration.measure import SCENE_SIZE
from wherein.detect.calibration.model import VERSION, Calibration
from wherein.detect.calibration.store import (
    CalibrationStore,
    Progress,
    Scale,
    StoredCalibration,
    no_progress,
)
from wherein.detect.detector import Detector
from wherein.making.checks import NOTE, PROBLEM, WARNING, Finding
from wherein.template.pose import matrices, placed, tilted
from wherein.template.render import render
from wherein.template.tree import Matrix

_SCENES, _ENOUGH = 4, 3
"""Number of scenes for each scale and tilt, and the minimum number in which the object must be found. Not
all, by choice: some conditions (noise, blur, light) are too hard for any object."""

_SIZE_STEP, _TILT_STEP = 2**-0.25, 10.0
"""Factor from one scale to the next, and degrees from one tilt to the next. Choices."""

_MIN_SHARE, _HALF = 0.95, 0.5
"""Shares of test scenes in which the object is found: the minimum if a threshold separates it from clutter,
as in `Calibration.separates`; and the share below which it is missed more often than found."""

_ROOM = 1.3
"""Minimum width and height of a scene, in diagonals of the object at its scale. A choice."""

_NEAR = 0.25
"""Maximum error of the centre of a detection, in diagonals of the object. A choice: a detection further away
is something else."""

_DISTANCE = 4.0
"""Distance of the camera from a tilted object, in diagonals of the template. A choice: a photograph from
nearby, in which perspective is visible."""


class Limits(StoredCalibration):
    """How small and how tilted a template was found, with the threshold of its calibration.

    Attributes:
        smallest: the lowest scale; None: it was not found even at the first scale.
        steepest: the highest tilt in degrees; 0 if it was not found tilted.
    """

    format: Literal["wherein-limits/1"] = "wherein-limits/1"
    version: int = VERSION
    smallest: Scale | None
    steepest: Annotated[float, Field(ge=0, le=90)]


LIMITS = CalibrationStore(Limits, VERSION, "limits.json")


def forecast(detector: Detector, progress: Progress = no_progress) -> list[Finding]:
    """Findings about the expected reliability of a template, and about its lowest scale and highest tilt.

    Arguments:
        detector: a detector of one template, with the default method.
        progress: is called with the fraction that is done and a description of the current step.
    """
    calibration = detector.calibration
    assert isinstance(calibration, Calibration), "of the default method"
    found = list(_of_calibration(calibration))
    low, high = calibration.scale
    first = min(max(1.0, low), high)  # the template's own size, or the nearest scale in the range
    # Measured with the threshold of this detector: another threshold has other limits.
    limits = _limits(detector, first, progress)
    found.append(_smallest(detector, limits.smallest, low, first))
    # An object that is not even found upright needs no finding about its tilt.
    if limits.smallest is not None and calibration.tilt:
        found.append(_steepest(limits.steepest, calibration.tilt))
    return found


def _limits(detector: Detector, first: float, progress: Progress) -> Limits:
    """The stored limits if they belong to this threshold; otherwise the limits are measured and stored.

    Arguments:
        detector, progress: as in `forecast`.
        first: the scale that is tried first.
    """
    template, ranges, threshold = detector.template, detector.calibration.range, detector.threshold
    stored = LIMITS.load(template, ranges)
    if stored is not None and stored[0].threshold == threshold:
        return stored[0]
    smallest, steepest = _tried(detector, first, progress)
    made = Limits(
        fingerprint=template.fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        tilt=ranges.tilt,
        polarity=ranges.polarity,
        threshold=threshold,
        smallest=smallest,
        steepest=steepest,
    )
    LIMITS.save(template, made)
    return made


def _tried(detector: Detector, first: float, progress: Progress) -> tuple[float | None, float]:
    """The lowest scale and the highest tilt at which the object is found; arguments as in `_limits`."""
    ranges = detector.calibration.range
    sizes = _steps(first, ranges.scale[0], lambda scale: scale * _SIZE_STEP)
    tilts = _steps(0.0, ranges.tilt, lambda tilt: tilt + _TILT_STEP)[1:]
    # Progress is a fraction of all values, most of which are tried: it may end early, but never goes back.
    done = 0

    def is_found(scale: float, tilt: float) -> bool:
        nonlocal done
        progress(done / (len(sizes) + len(tilts)), "trying sizes and tilts")
        done += 1
        return _is_found(detector, scale, tilt)

    smallest = _last(sizes, lambda scale: is_found(scale, 0.0))
    steepest = None if smallest is None else _last(tilts, lambda tilt: is_found(first, tilt))
    return smallest, steepest or 0.0


def _of_calibration(known: Calibration) -> Iterator[Finding]:
    """The finding about the scores with and without the object."""
    missed = sum(score < known.threshold for score in known.present)
    share = 1 - missed / len(known.present)
    low, high, clutter = known.present[0], known.present[-1], known.clutter[-1]
    scores = (
        f"it scored {low:.2f} to {high:.2f} in {len(known.present)} test scenes, clutter up to {clutter:.2f}"
    )
    if not known.separates:
        misses = f"miss it in {1 - share:.0%} of scenes (threshold {known.threshold:.2f})"
        yield Finding(
            PROBLEM if share < _HALF else WARNING,
            *("no threshold", None, share, _MIN_SHARE, "of the test scenes"),
            f"no threshold separates it from clutter: {scores}. Expect false alarms, and to {misses}"
            if clutter >= low
            else f"it scores little more than clutter: {scores}. Expect to {misses}",
            "use a larger picture of it, or more of its surroundings",
        )
        return
    yield Finding(
        *(NOTE, "expected", None, share, _MIN_SHARE, "of the test scenes"),
        f"expect it to be found in {share:.0%} of scenes: {scores} (threshold {known.threshold:.2f})",
        f"false alarms: {known.describe_false_alarms(known.threshold)}",
    )


def _smallest(detector: Detector, smallest: float | None, low: float, first: float) -> Finding:
    width, height = detector.template.size
    if smallest is None:
        return Finding(
            *(PROBLEM, "size", None, 0.0, first, "scale"),
            f"it is not found reliably even at scale {first:g}, in {_SCENES} test scenes",
            "use another picture of it, with more detail",
        )
    pixels = f"{smallest * width:.0f} × {smallest * height:.0f} pixels"
    # Even at the lowest scale of the range: the true limit lies beyond it.
    everything = smallest <= low
    return Finding(
        NOTE if everything or smallest < first else WARNING,
        *("size", None, smallest, low, "scale"),
        f"it is found down to scale {smallest:.2f} ({pixels}), "
        f"{'all of the range' if everything else 'not less'}",
        "search smaller scales if it may be smaller" if everything else _BEYOND,
    )


def _steepest(steepest: float, limit: float) -> Finding:
    everything = steepest >= limit
    return Finding(
        NOTE if steepest > 0 else WARNING,
        *("tilt", None, steepest, limit, "degrees"),
        f"it is found up to a tilt of {steepest:.0f}°, {'all of the range' if everything else 'not more'}",
        "search a wider range if it may be tilted further" if everything else _BEYOND,
    )


_BEYOND = "use a larger or sharper picture of it, or another view, if your scenes go beyond that"


def _steps(first: float, last: float, after: Callable[[float], float]) -> list[float]:
    """The values first, after(first), …, last; they rise or fall. The last is included even between steps."""
    values, between = [first], first
    # The margin of 1e-9 keeps a step that reaches `last`, but for rounding, from being listed twice.
    while min(first, last) + 1e-9 < (between := after(between)) < max(first, last) - 1e-9:
        values.append(between)
    return values if math.isclose(first, last) else [*values, last]


def _last(values: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """The last value before the condition fails for the first time; None if it fails at once."""
    last = None
    for value in values:
        if not holds(value):
            break
        last = value
    return last


def _is_found(detector: Detector, scale: float, tilt: float) -> bool:
    """Whether the object is found in at least `_ENOUGH` of `_SCENES` scenes, near the place where it is."""
    template = detector.template
    size = tuple(max(least, math.ceil(_ROOM * scale * math.hypot(*template.size))) for least in SCENE_SIZE)
    backgrounds = Backgrounds((), 1, (size[0], size[1]))
    found = 0
    for number in range(_SCENES):
        rng = np.random.default_rng(number)
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        turn = float(rng.uniform(-1, 1)) * detector.calibration.rotation
        root: Matrix = placed(turn, scale, middle, template.centre)
        if tilt:
            # The tilt comes first, in template pixels, so its distance is not scaled. Each scene has another
            # axis, because an object may be easier to find foreshortened along one axis than another.
            distance = _DISTANCE * math.hypot(*template.size)
            root = root @ tilted(tilt, 360.0 * number / _SCENES, distance, template.centre)
        scene = render(backgrounds(number), template, matrices(template.parts, root, {}))
        reach = _NEAR * scale * math.hypot(*template.size)
        found += any(math.dist(item.center, middle) < reach for item in detector(photographed(scene, rng)))
    return found >= _ENOUGH
