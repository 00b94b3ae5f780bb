"""The paper's network with what calibration derives for it: on the beach, in other photographs, without it.

`python -m benchmarks.paper_calibrated [--templates crab robot] [--sweeps beach limbs photographs empty]
[--count 16] [--released] [--out FILE.json]`. The crab needs ../shared, and is looked for by its claws and
eyes alone, as in the paper. "beach": it turns as a whole, as in Figure 3; "limbs": the scenes turn_*.png,
whose limbs turn besides; "photographs": random places, joints turned by up to half of what they may, angles
from −30° to 30°. An instance is found where its root is within 4 px and 5° of the truth, a part where its
middle is within 1 px and its angle within 1°. `--released` takes the constants of the paper's released code
in place of the calibration. Times are of one core.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks import paper_network, photographs, subjects
from benchmarks.geometry import Array, homogeneous
from wherein.detect import Detection, Detector
from wherein.detect.finder import Range
from wherein.detect.keeping import paper_calibration_for
from wherein.detect.nodes import Hyperparameters
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

SIZE, LIMIT = (512, 384), 30.0


@dataclass(frozen=True)
class Case:
    """A scene, and where the template is in it, if it is."""

    photograph: str
    scene: Tensor
    angle: float = 0.0
    places: dict[str, Array] | None = None


@dataclass(frozen=True)
class Row:
    """What came of it; `extra` are detections beside the one that is nearest to the truth."""

    template: str
    sweep: str
    photograph: str
    angle: float
    score: float
    found: bool
    right: int
    parts: int
    extra: int
    seconds: float


def beach(template: Template, count: int) -> Iterator[Case]:
    """Turning as a whole in the middle of a crop of the beach, every 7.5°."""
    del count
    picture = _picture(photographs.load("beach"))
    top, left = (picture.shape[1] - SIZE[1]) // 2, (picture.shape[2] - SIZE[0]) // 2
    background = picture[:, top : top + SIZE[1], left : left + SIZE[0]]
    for angle in np.arange(-LIMIT, LIMIT + 1, 7.5):
        yield _painted(
            template, "beach", background, float(angle), ((SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2), {}
        )


def limbs(template: Template, count: int) -> Iterator[Case]:
    """The scenes of ../shared whose limbs turn too."""
    del count
    for truth in paper_network.limbs(LIMIT):
        places = {**truth.parts, template.parts.root: truth.root}
        yield Case("beach", truth.scene, truth.angle, places)


def elsewhere(template: Template, count: int) -> Iterator[Case]:
    """In one photograph after the other, in other poses."""
    rng, names = np.random.default_rng(5), photographs.names()
    for k in range(count):
        name = names[k % len(names)]
        background = _picture(photographs.crop(name, *SIZE, rng))
        turns = {n: float(rng.uniform(-p.turn, p.turn) / 2) for n, p in template.parts.items() if p.moves}
        at = (SIZE[0] / 2 + float(rng.uniform(-60, 60)), SIZE[1] / 2 + float(rng.uniform(-25, 25)))
        yield _painted(template, name, background, -LIMIT + 10.0 * (k % 7), at, turns)


def empty(template: Template, count: int) -> Iterator[Case]:
    """Photographs without it."""
    del template
    rng, names = np.random.default_rng(6), photographs.names()
    for k in range(count):
        name = names[k % len(names)]
        yield Case(name, _picture(photographs.crop(name, *SIZE, rng)))


SWEEPS: dict[str, Callable[[Template, int], Iterator[Case]]] = {
    "beach": beach,
    "limbs": limbs,
    "photographs": elsewhere,
    "empty": empty,
}


def _picture(pixels: photographs.Picture) -> Tensor:
    return torch.from_numpy(pixels).movedim(-1, 0).float() / 255


def _painted(
    template: Template,
    name: str,
    background: Tensor,
    angle: float,
    at: tuple[float, float],
    turns: dict[str, float],
) -> Case:
    places = matrices(template.parts, placed(angle, 1.0, at, template.centre), turns)
    return Case(name, render(background, template, places), angle, places)


def judge(case: Case, detector: Detector, sweep: str) -> Row:
    """Look, and compare."""
    template = detector.template
    began = time.process_time()
    found = list(detector(case.scene))
    seconds, leaves, root = time.process_time() - began, template.parts.leaves, template.parts.root
    row = Row(
        template.name, sweep, case.photograph, case.angle, 0.0, False, 0, len(leaves), len(found), seconds
    )
    if case.places is None or not found:
        return row

    def error(detection: Detection) -> tuple[float, float]:
        return _error(detection.matrix, case.places[root], template.centre)

    best = min(found, key=error)
    errors = [_error(best.parts[n].matrix, case.places[n], _middle(template, n)) for n in leaves]
    outcome = {
        "score": float(best.score),
        "found": error(best)[0] <= 4 and error(best)[1] <= 5,
        "right": sum(px <= 1 and degrees <= 1 for px, degrees in errors),
        "extra": len(found) - 1,
    }
    return Row(**asdict(row) | outcome)


def _middle(template: Template, name: str) -> tuple[float, float]:
    motif = template.parts[name].motif
    assert motif is not None
    return (motif.width - 1) / 2, (motif.height - 1) / 2


def _error(one: Array, other: Array, point: tuple[float, float]) -> tuple[float, float]:
    """Distance of a point's two images, and the difference of the angles in degrees."""
    a, b, raised = homogeneous(one), homogeneous(other), np.array((*point, 1.0))
    turn = math.degrees(math.atan2(a[1, 0], a[0, 0]) - math.atan2(b[1, 0], b[0, 0]))
    return float(np.linalg.norm((a @ raised - b @ raised)[:2])), abs((turn + 180) % 360 - 180)


def looked_for(name: str) -> tuple[Template, Template]:
    """The template that is painted, and the one that is looked for."""
    if name == "robot":
        return subjects.robot(), subjects.robot()
    whole = subjects.crab()
    if whole is None:
        raise SystemExit("no ../shared beside the checkout: take --templates robot")
    return whole, subjects.bodiless(whole)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_calibrated", description=__doc__)
    parser.add_argument("--templates", nargs="+", choices=("crab", "robot"), default=["crab", "robot"])
    parser.add_argument("--sweeps", nargs="+", choices=tuple(SWEEPS), default=list(SWEEPS))
    parser.add_argument("--count", type=int, default=16, help="photographs in a sweep")
    parser.add_argument("--released", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/paper_calibrated.json"))
    asked = parser.parse_args()
    rows: list[Row] = []
    for name in asked.templates:
        painted, wanted = looked_for(name)
        if asked.released:
            detector = Detector(wanted, method="paper", hyperparameters=Hyperparameters())
        else:
            began = time.process_time()
            known = paper_calibration_for(wanted, Range(LIMIT))
            print(
                f"{wanted.name}: calibrated in {time.process_time() - began:.0f} s of one core, if not kept"
            )
            print(*known.doubts, sep="\n")
            detector = Detector(wanted, method="paper", calibration=known)
        for sweep in asked.sweeps:
            if sweep in ("beach", "limbs") and name != "crab":
                continue
            for case in SWEEPS[sweep](painted, asked.count):
                rows.append(judge(case, detector, sweep))
                print(rows[-1], flush=True)
    show(rows)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    print(f"wrote {asked.out}")


def show(rows: list[Row]) -> None:
    """A line a sweep."""
    table = Table(
        "template", "sweep", "scenes", "found", "all parts right", "parts right", "extra", "s a scene"
    )
    for template, sweep in dict.fromkeys((row.template, row.sweep) for row in rows):
        some = [row for row in rows if (row.template, row.sweep) == (template, sweep)]
        counts = (
            len(some),
            sum(row.found for row in some),
            sum(row.right == row.parts for row in some),
            f"{sum(row.right for row in some)} of {sum(row.parts for row in some)}",
            sum(row.extra for row in some),
            f"{np.median([row.seconds for row in some]):.1f}",
        )
        table.add_row(template, sweep, *map(str, counts))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
