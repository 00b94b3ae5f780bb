"""Real, 5: industrial pictures with many identical parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.real.common import OURS, Plan, folder, interleaved, rgb, rigid
from benchmarks.workload import Share, section

Point = tuple[float, float]
RANGE = {"scale": (0.9, 1.1), "tilt": 0}  # for a fixed camera above flat parts; every rotation


@dataclass(frozen=True)
class Inspection:
    """A picture with its template, and the positions of its parts in px, determined by eye.

    places: centres of the parts that are wholly visible.
    cut: centres of the parts that are cut by the border or the dark corner: they may be found or not.
    """

    name: str
    scene: str
    template: str
    places: tuple[Point, ...]
    cut: tuple[Point, ...] = ()


def _grid(columns: Sequence[float], rows: Sequence[float]) -> tuple[Point, ...]:
    return tuple(product(columns, rows))


# Counted by eye. LEDs: four columns of nine; a fifth column is cut by the left border, and a tenth row by the
# lower border. Coils: three columns of six, every second column rotated by 180°; the columns at both sides
# and the row below are cut or in the dark. Clips: three, two of which overlap; the toothed washer is not a
# clip.
LED_ROWS = (59, 188, 316, 444, 571, 700, 828, 957, 1083)
COIL_ROWS = (202, 655, 1110, 1563, 2018, 2473)
INSPECTIONS = (
    Inspection(
        "LEDs, 2 Mpx",
        "scene3.png",
        "template3.png",
        _grid((353, 717, 1077, 1442), LED_ROWS),
        (*_grid((0,), (*LED_ROWS, 1210)), *_grid((353, 717, 1077, 1442), (1210,))),
    ),
    Inspection(
        "clips, two overlap",
        "scene8.png",
        "template8.png",
        ((168, 349), (363, 175), (472, 202)),
    ),
    Inspection(
        "coils, 12 Mpx",
        "scene6.jpg",
        "template6.png",
        _grid((1010, 1970, 2880), COIL_ROWS),
        (*_grid((1010, 1970, 2880), (2925,)), *_grid((90, 3840), (*COIL_ROWS, 2925))),
    ),
)
ABOUT = (
    "Detections at the positions of the parts, which were determined by eye; every rotation, scale 0.9 to "
    "1.1, no tilt. Detections of parts that are cut by the border count neither as found nor as elsewhere."
)
COLUMNS = (
    ("picture", "picture", "text"),
    ("found", "found", "of total"),
    ("elsewhere", "wrong", "text"),
    ("cut ones", "cut", "text"),
    ("ms", "seconds", "ms"),
)


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Measure every picture."""
    where = folder("industrial")
    rows, losses = [], []
    chosen = INSPECTIONS[: plan.counts.industrial]
    for done, one in enumerate(chosen):
        share(done / len(chosen))
        template = rigid(one.name, where / one.template)
        detector, scene = plan.detector(template, **RANGE), rgb(where / one.scene)
        answer = interleaved({OURS: partial(detector, scene)}, plan.counts.repeats)[OURS]
        counts = count([found.center for found in answer.value], one, max(template.size))
        rows.append({"picture": one.name, **counts, "seconds": answer.seconds})
        if missed := counts["total"] - counts["found"]:
            losses.append(f"industrial: {one.name}, {missed} missed")
        if counts["wrong"]:
            losses.append(f"industrial: {one.name}, {counts['wrong']} elsewhere")
    return section("industrial", ABOUT, COLUMNS, rows=rows, losses=losses)


def count(centres: Sequence[Point], one: Inspection, size: float) -> dict[str, int]:
    """The counts of positions with a detection within a fifth of the part's length.

    Each detection counts once; those that are left are wrong.
    """
    left, hits = list(centres), {}
    for kind, places in (("found", one.places), ("cut", one.cut)):
        hits[kind] = 0
        for place in places:
            near = min(left, key=lambda c, p=place: np.hypot(c[0] - p[0], c[1] - p[1]), default=None)
            if near is not None and np.hypot(near[0] - place[0], near[1] - place[1]) <= size / 5:
                left.remove(near)
                hits[kind] += 1
    return {"found": hits["found"], "total": len(one.places), "cut": hits["cut"], "wrong": len(left)}
