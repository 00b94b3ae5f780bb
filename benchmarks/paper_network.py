"""The paper's network, calibrated: on the beach, in other photographs, and in scenes without the template.

`python -m benchmarks.paper_network [--templates crab robot] [--sweeps beach limbs photographs empty]
[--count 16] [--released] [--out FILE.json]`. The crab needs ../shared, and is searched for by its claws and
eyes only, as in the paper.

- "beach": the template is rotated as a whole, as in Figure 3.
- "limbs": the scenes turn_*.png, in which the limbs turn as well.
- "photographs": random positions, joint angles up to half of the allowed turn, rotations from −30° to 30°.
- "empty": photographs without the template.

`wherein.experiments.rotated_scenes` defines the criteria of found and right. `--released` uses the constants
of the paper's released code instead of the calibration. Times are CPU times.
"""

import argparse
import json
import re
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks import photographs, subjects
from benchmarks.geometry import homogeneous
from benchmarks.photographs import SHARED
from wherein.detect.methods import PaperSearch, paper_calibration_for
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.search_range import Range
from wherein.experiments.rotated_scenes import (
    FOUND,
    RIGHT,
    RotatedScene,
    closest_detection,
    part_centre,
    pose_error,
    rotated_scene,
    within,
    without_fixed_leaves,
)
from wherein.images.load import load_picture
from wherein.template import Template

SIZE, REACH = (512, 384), Range(30.0)

RELEASED_THRESHOLD = 0.5
"""Threshold of ω_0 at its peak, where a certain spike has 1. A choice: the released code has no threshold."""


@dataclass(frozen=True)
class Case:
    """A scene, with the true pose of the template if it is in the scene."""

    photograph: str
    scene: Tensor
    truth: RotatedScene | None = None


@dataclass(frozen=True)
class Row:
    """The result of a case; `extra` is the number of detections besides the one nearest to the truth."""

    template: str
    sweep: str
    photograph: str
    angle: float
    found: bool
    right: int
    parts: int
    extra: int
    seconds: float


def beach(template: Template, count: int) -> Iterator[Case]:
    """The template at the centre of a crop of the beach, rotated as a whole in steps of 7.5°."""
    del count
    picture = _picture(photographs.load("beach"))
    top, left = (picture.shape[1] - SIZE[1]) // 2, (picture.shape[2] - SIZE[0]) // 2
    background = picture[:, top : top + SIZE[1], left : left + SIZE[0]]
    for angle in np.arange(-REACH.rotation, REACH.rotation + 1, 7.5):
        truth = rotated_scene(template, background, float(angle), {})
        yield Case("beach", truth.scene, truth)


def limbs(template: Template, count: int) -> Iterator[Case]:
    """The scenes of ../shared in which the limbs turn too."""
    del template, count
    for entry in json.loads((SHARED / "scenes" / "truth.json").read_text(encoding="utf-8")):
        named = re.fullmatch(r"turn_([+-][\d.]+)\.png", entry["scene"])
        if named and abs(float(named[1])) <= REACH.rotation:
            (instance,) = entry["instances"]
            parts = {name: homogeneous(np.array(m)) for name, m in instance["parts"].items()}
            scene = load_picture(SHARED / "scenes" / entry["scene"]).pixels
            truth = RotatedScene(float(named[1]), scene, homogeneous(np.array(instance["root"])), parts)
            yield Case("beach", scene, truth)


def elsewhere(template: Template, count: int) -> Iterator[Case]:
    """The template in other photographs, in random poses."""
    rng, names = np.random.default_rng(5), photographs.names()
    for k in range(count):
        name = names[k % len(names)]
        background = _picture(photographs.crop(name, *SIZE, rng))
        turns = {n: float(rng.uniform(-p.turn, p.turn) / 2) for n, p in template.parts.items() if p.moves}
        at = (SIZE[0] / 2 + float(rng.uniform(-60, 60)), SIZE[1] / 2 + float(rng.uniform(-25, 25)))
        truth = rotated_scene(template, background, -REACH.rotation + 10.0 * (k % 7), turns, at)
        yield Case(name, truth.scene, truth)


def empty(template: Template, count: int) -> Iterator[Case]:
    """Photographs without the template."""
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


@torch.no_grad()
def judge(case: Case, search: PaperSearch, sweep: str) -> Row:
    """Search a scene, and compare the result with the truth."""
    template = search.template
    leaves, began = template.parts.leaves, time.process_time()
    found = search(case.scene, None).items
    seconds = round(time.process_time() - began, 2)
    angle, there, right, extra = 0.0, False, 0, len(found)
    if case.truth is not None:
        angle, best = case.truth.angle, closest_detection(list(found), case.truth.root, template.centre)
        if best is not None:
            there = within(pose_error(best.matrix, case.truth.root, template.centre), FOUND)
            right = sum(
                within(pose_error(best.parts[n].matrix, case.truth.parts[n], part_centre(template, n)), RIGHT)
                for n in leaves
            )
            extra -= 1
    return Row(template.name, sweep, case.photograph, angle, there, right, len(leaves), extra, seconds)


def looked_for(name: str) -> tuple[Template, Template]:
    """The template that is painted, and the template that is searched for."""
    if name == "robot":
        return subjects.robot(), subjects.robot()
    whole = subjects.crab()
    if whole is None:
        raise SystemExit("no ../shared beside the checkout: take --templates robot")
    return whole, without_fixed_leaves(whole)


def search_for(template: Template, released: bool) -> PaperSearch:
    """The network, with the constants of the released code or with the template's calibration."""
    if released:
        return PaperSearch(PaperNetwork(template), REACH, RELEASED_THRESHOLD)
    began = time.process_time()
    known = paper_calibration_for(template, REACH)
    print(f"{template.name}: calibrated in {time.process_time() - began:.0f} s of one core, if not kept")
    print(*known.warnings, sep="\n")
    return PaperSearch(known.network(template), REACH, known.threshold)


def main() -> None:
    """Measure all sweeps, print a table, and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_network", description=__doc__)
    parser.add_argument("--templates", nargs="+", choices=("crab", "robot"), default=["crab", "robot"])
    parser.add_argument("--sweeps", nargs="+", choices=tuple(SWEEPS), default=list(SWEEPS))
    parser.add_argument("--count", type=int, default=16, help="photographs in a sweep")
    parser.add_argument("--released", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/paper_network.json"))
    asked = parser.parse_args()
    rows: list[Row] = []
    for name in asked.templates:
        painted, wanted = looked_for(name)
        search = search_for(wanted, asked.released)
        for sweep in asked.sweeps:
            if sweep in ("beach", "limbs") and name != "crab":
                continue
            for case in SWEEPS[sweep](painted, asked.count):
                rows.append(judge(case, search, sweep))
                print(rows[-1], flush=True)
    show(rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report = {"rows": [asdict(row) for row in rows], "peak gigabytes": round(peak, 2)}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"peak {peak:.2f} GB, wrote {asked.out}")


def show(rows: list[Row]) -> None:
    """Print a table with one row for each template and sweep."""
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
