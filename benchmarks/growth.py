"""Detection, 4: the growth of the time with pixels, parts, rotations and scales.

Only times are measured. All rows use the calibration for every rotation at fixed scale, restricted to the
pieces of the template, so that rows differ in one parameter only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import photographs
from benchmarks.subjects import FIXED, robot, timed_subject, without
from benchmarks.workload import Share, Workload, levels, section
from wherein.detect import Calibration, Detector
from wherein.detect.fast.pieces import Pieces
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

ABOUT = (
    "One thing is varied at a time; otherwise 512 × 384 px, every rotation and fixed scale. Medians without "
    "the first call, on a scene with the object in the middle and on the same photograph without it. Scale "
    "ranges are centred on 1 and given as highest / lowest."
)
COLUMNS = (
    ("grows", "grows", "text"),
    ("to", "to", "text"),
    ("ms with it", "with", "ms"),
    ("ms without it", "without", "ms"),
    ("found", "found", "text"),
)
SIZE = (512, 384)
SIZES = ((256, 192), SIZE, (1024, 768), (2048, 1536))
ROTATIONS = (15.0, 45.0, 90.0, 180.0)
WIDTHS = (1.0, 1.25, 1.5625, 2.0, 4.0)
LIMBS = (
    *(("upper_arm_left", "upper_arm_right"), ("leg_left", "leg_right"), ("face", "key")),
    *(("forearm_left", "forearm_right"), ("antenna_left", "antenna_right")),
)  # of the robot: each adds two moving pieces; parents come first
PHOTOGRAPH = "coffee"
MAX_SECONDS = 3.0  # total time after which calls are not repeated
ANGLE = 12.0  # degrees, within the smallest range of rotations


@dataclass(frozen=True)
class Case:
    """One row of the table: a template, the size of the scene, and the range of poses."""

    grows: str
    to: str
    template: Template
    size: tuple[int, int] = SIZE
    rotation: float = 180.0
    width: float = 1.0


def cases(every: int = 1, parts: bool = True) -> Iterator[Case]:
    """All cases, or every second, third … of each kind; `parts` needs the robot."""
    subject = timed_subject()
    yield from [Case("pixels", f"{w} × {h}", subject, size=(w, h)) for w, h in SIZES][:: min(every, 2)]
    if parts:
        yield from [Case("moving pieces", str(2 * n), limbed(n)) for n in range(1, len(LIMBS) + 1)][::every]
    yield from [Case("rotation", f"±{r:g}°", subject, rotation=r) for r in ROTATIONS][::every]
    yield from [Case("scales", f"{w:g}", subject, width=w) for w in WIDTHS][::every]


def limbed(pairs: int) -> Template:
    """The robot with the first `pairs` pairs of its moving pieces."""
    whole = robot()
    dropped = [leaf for pair in LIMBS[pairs:] for leaf in pair]
    return without(whole, dropped, f"robot with {2 * pairs}") if dropped else whole


def measure(work: Workload, share: Share) -> dict[str, Any]:
    """One row for each case."""
    selected = list(cases(work.counts.every, parts=not work.settings.quick))
    rows = []
    for done, case in enumerate(selected):
        share(done / len(selected))
        rows.append(_row(work, case))
    return section("growth", ABOUT, COLUMNS, rows=rows)


def _row(work: Workload, case: Case) -> dict[str, Any]:
    source = robot() if case.template.name.startswith("robot") else case.template
    scale = case.width**-0.5, case.width**0.5
    of_pieces = pruned(work.calibrations.of(source, FIXED), case.template)
    calibration = of_pieces.model_copy(update={"rotation": case.rotation, "scale": scale})
    detector = Detector(
        case.template, case.rotation, scale, tilt=0, calibration=calibration, threads=work.settings.threads
    )
    empty, scene = pictures(case.template, case.size, work.settings.seed)
    found, present = _median(detector, scene, work.counts.repeats)
    _, absent = _median(detector, empty, work.counts.repeats)
    return {"grows": case.grows, "to": case.to, "with": present, "without": absent, "found": found}


def pruned(calibration: Calibration, template: Template) -> Calibration:
    """The calibration restricted to the pieces of the template."""
    names = {piece.name for piece in Pieces.of(template).pieces}
    chance = {name: value for name, value in calibration.chance.items() if name in names}
    return calibration.model_copy(update={"chance": chance, "fingerprint": template.fingerprint})


def pictures(
    template: Template, size: tuple[int, int], seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A photograph of a given size, and the same with the template at rest at its centre."""
    background = photographs.crop(PHOTOGRAPH, *size, np.random.default_rng(seed))
    middle = (size[0] - 1) / 2, (size[1] - 1) / 2
    where = matrices(template.parts, placed(ANGLE, 1.0, middle, template.centre), {})
    painted = render(torch.from_numpy(background).movedim(-1, 0).float() / 255, template, where)
    return background, levels(painted.movedim(0, -1).numpy().clip(0, 1))


def _median(detector: Detector, picture: NDArray[np.uint8], repeats: int) -> tuple[int, float]:
    """The number of detections, and the median time without the first call."""
    found, taken = len(detector(picture)), []
    while len(taken) < repeats and sum(taken) < MAX_SECONDS:
        began = perf_counter()
        detector(picture)
        taken.append(perf_counter() - began)
    return found, float(np.median(taken))
