"""Detection, 2: the time per scene, compared with OpenCV's masked matchTemplate for the moving parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.judging import Tally, judge
from benchmarks.objects import Scene
from benchmarks.subjects import DEFAULTS, FIXED, SCALES, describe_range, moving, subjects
from benchmarks.sweep import EIGHT, STEP, Sweep, within
from benchmarks.workload import RANGES, Share, Workload, aim, levels, section
from wherein.detect.search_range import Range
from wherein.template import Template

PEER = "matchTemplate"
ABOUT = (
    "wherein: medians over scenes and repeats, without the first call (the warm-up). "
    f"{PEER}: OpenCV's matchTemplate with masks (TM_CCORR_NORMED), for each moving part, which was rotated "
    f"in steps of {STEP:g}° beforehand; in colour as in wherein, and in grey, which takes a third of the "
    "time; at 8 scales if scales are searched. Both get the same scenes and number of threads, one after the "
    f"other. The time of {PEER} does not depend on the content of a scene. Times faster: its time in colour "
    "(than grey: in grey) divided by ours. Within 4 px: the number of moving parts, on the scenes that each "
    "method was given."
)
COLUMNS = (
    ("method", "method", "text"),
    ("template", "template", "text"),
    ("scale", "scale", "text"),
    ("scenes", "with", "text"),
    ("n", "scenes", "text"),
    ("ms a scene", "seconds", "ms"),
    ("90 %", "p90", "ms"),
    ("warm-up ms", "warm_up", "ms"),
    ("scenes/s", "rate", "number"),
    ("times faster", "faster", "number"),
    ("than grey", "faster_grey", "number"),
    ("within 4 px", "near", "of parts"),
)
WITH, WITHOUT = "with it", "without it"
FASTER = {FIXED: 100.0, SCALES: 200.0}
FASTER_BODILESS, RATE = 20.0, 25.0
MAX_WITHOUT, MAX_SECONDS = 1.2, {FIXED: 0.02, DEFAULTS: 0.1}


@dataclass
class Peer:
    """The times of OpenCV's sweep by (range, grey), and its rows."""

    seconds: dict[tuple[Range, bool], list[float]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def median(self, ranges: Range, grey: bool) -> float | None:
        """The median time per scene; None if it was not measured."""
        taken = self.seconds.get((ranges, grey))
        return float(np.median(taken)) if taken else None


def measure(work: Workload, share: Share) -> dict[str, Any]:
    """Measure every template in every range, on scenes with and without it."""
    templates = subjects(work.settings.quick)
    whole, runs = templates[0], [(template, ranges) for template in templates for ranges in RANGES]
    peer, ours, losses = Peer(), [], []
    for done, (template, ranges) in enumerate(runs):
        share(done / len(runs))
        scenes = [work.scene(template, "plain", k, ranges) for k in range(work.counts.timed)]
        mine, near = _ours(work, template, ranges, scenes)
        ours += [mine, _ours_without(work, template, ranges)]
        count = _swept(work, ranges, templates.index(template))
        for grey in (False, True):
            losses += _sweep(peer, template, ranges, scenes[:count], near, grey)
    searched = [ranges for _, ranges in runs for _ in (WITH, WITHOUT)]
    rows = [row | _ratios(row["seconds"], peer, ranges) for row, ranges in zip(ours, searched, strict=True)]
    aims = _targets(rows, whole.name)
    return section("speed", ABOUT, COLUMNS, rows=[*rows, *peer.rows], targets=aims, losses=losses)


def _swept(work: Workload, ranges: Range, template: int) -> int:
    """The number of scenes for OpenCV's sweep, which does not support tilt.

    The template without its body has the same moving parts, so the time is the same. The robot is not swept.
    """
    whole = template == 0
    if ranges == DEFAULTS or template > 1:
        return 0
    if ranges == FIXED:
        return work.counts.swept if whole or not work.settings.quick else 0
    return work.counts.swept_scales if whole else 0


# --- ours ---


def _ours(
    work: Workload, template: Template, ranges: Range, scenes: Sequence[Scene]
) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """The row for scenes with the object; and for each scene, the moving parts within 4 px and in total."""
    times, found = clock(work, template, ranges, scenes)
    parts = moving(template)
    near = [
        _near(judge(one, _only(scene, parts), template)) for one, scene in zip(found, scenes, strict=True)
    ]
    total = [sum(column) for column in zip(*near, strict=True)]
    row = {**_row(template, ranges, WITH, len(scenes)), **times, "near": total[0], "parts": total[1]}
    return row, near


def _near(tally: Tally) -> tuple[int, int]:
    return tally.near, tally.parts


def _only(scene: Scene, parts: Sequence[str]) -> Scene:
    """The scene with the truth restricted to some parts."""
    instances = tuple(
        type(one)(one.root, {n: m for n, m in one.parts.items() if n in parts}, one.covered)
        for one in scene.instances
    )
    return Scene(scene.name, scene.picture, instances)


def _ours_without(work: Workload, template: Template, ranges: Range) -> dict[str, Any]:
    scenes = [work.scene(template, "empty", k, ranges) for k in range(work.counts.timed)]
    times, _ = clock(work, template, ranges, scenes)
    return {**_row(template, ranges, WITHOUT, len(scenes)), **times}


def clock(
    work: Workload, template: Template, ranges: Range, scenes: Sequence[Scene]
) -> tuple[dict[str, float], list[list[Mapping[str, Any]]]]:
    """The times of a new detector on scenes, and its detections in each scene."""
    detector = work.calibrations.detector(template, ranges, work.settings.threads)
    pictures = [levels(scene.picture) for scene in scenes]
    warm_up, found, taken = _timed(detector, pictures[0])[0], [], []
    for picture in pictures:
        runs = [_timed(detector, picture) for _ in range(work.counts.repeats)]
        taken += [seconds for seconds, _ in runs]
        found.append(runs[0][1].to_dict()["detections"])
    return summary(warm_up, taken), found


def _timed(call: Any, picture: Any) -> tuple[float, Any]:
    began = perf_counter()
    value = call(picture)
    return perf_counter() - began, value


def summary(warm_up: float, taken: Sequence[float]) -> dict[str, float]:
    """The warm-up, the median, the 90 % quantile and the scenes per second."""
    median = float(np.median(taken))
    return {
        "warm_up": warm_up,
        "seconds": median,
        "p90": float(np.quantile(taken, 0.9)),
        "rate": 1 / median,
    }


def _row(template: Template, ranges: Range, which: str, scenes: int) -> dict[str, Any]:
    words = describe_range(ranges)
    return {"method": "wherein", "template": template.name, "scale": words, "with": which, "scenes": scenes}


def _ratios(seconds: float, peer: Peer, ranges: Range) -> dict[str, float | None]:
    medians = peer.median(ranges, grey=False), peer.median(ranges, grey=True)
    colour, grey = (None if theirs is None else theirs / seconds for theirs in medians)
    return {"faster": colour, "faster_grey": grey}


# --- OpenCV ---


def _sweep(
    peer: Peer,
    template: Template,
    ranges: Range,
    scenes: Sequence[Scene],
    near: Sequence[tuple[int, int]],
    grey: bool,
) -> list[str]:
    """Run OpenCV's sweep on scenes and add it to `peer`; returns a sentence if it found more than wherein."""
    if not scenes:
        return []
    began = perf_counter()
    sweep = Sweep(template, moving(template), (1.0,) if ranges == FIXED else EIGHT, grey=grey)
    warm_up = perf_counter() - began
    taken, hits = [], []
    for scene in scenes:
        seconds, found = _timed(sweep, scene.picture)
        taken.append(seconds)
        hits.append(within(found, scene.instances[0], template))
    peer.seconds.setdefault((ranges, grey), []).extend(taken)
    theirs, ours = sum(hit for hit, _ in hits), sum(hit for hit, _ in near[: len(scenes)])
    name = f"{PEER}, {'grey' if grey else 'colour'}"
    row = {**_row(template, ranges, WITH, len(scenes)), **summary(warm_up, taken), "method": name}
    peer.rows.append({**row, "near": theirs, "parts": sum(n for _, n in hits), "calls": sweep.calls})
    if theirs <= ours:
        return []
    return [f"{template.name}, {row['scale']}, to {name}: {ours} parts within 4 px against {theirs}"]


def _targets(ours: Sequence[Mapping[str, Any]], whole: str) -> list[dict[str, Any]]:
    """The aims on scenes with the object and on scenes without it, since most scenes do not show it."""
    targets = []
    for row in ours:
        if row["faster"] is None:  # not swept
            continue
        words = f"{row['template']}, {row['scale']}, {row['with']}"
        if row["template"] == whole:
            bound = FASTER[FIXED if row["scale"] == describe_range(FIXED) else SCALES]
        elif row["scale"] == describe_range(FIXED):
            bound = FASTER_BODILESS
        else:
            continue
        targets.append(aim(f"{words}: times faster than {PEER}", ">=", bound, row["faster"]))
        if row["template"] == whole and row["scale"] == describe_range(FIXED):
            targets.append(aim(f"{words}: scenes a second", ">=", RATE, row["rate"]))
    return targets + _targets_of_time(ours, whole)


def _targets_of_time(ours: Sequence[Mapping[str, Any]], whole: str) -> list[dict[str, Any]]:
    """The aims for absolute times with the object, and for the ratio of times without and with it."""
    targets = []
    for row, without in zip(ours[::2], ours[1::2], strict=True):
        words = f"{row['template']}, {row['scale']}"
        for ranges, seconds in MAX_SECONDS.items():
            if row["template"] == whole and row["scale"] == describe_range(ranges):
                targets.append(aim(f"{words}, {WITH}: seconds", "<=", seconds, row["seconds"]))
        ratio = without["seconds"] / row["seconds"]
        targets.append(aim(f"{words}: time without it / with it", "<=", MAX_WITHOUT, ratio))
    return targets
