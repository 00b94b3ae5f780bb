"""The rotation sweep of the paper's Figure 3 with the paper's network, on the paper's tree (no body).

`python -m benchmarks.paper_network [--limit 30] [--random N] [--out FILE.json]` needs ../shared.
Sweeps: "limbs", the scenes turn_*.png, whose limbs turn by up to 15° besides; "rest", the crab turning as a
whole in the middle of a beach, as in the paper; "random", N scenes of random places, angles within ±22.5° and
limbs within ±15°, since a part may fall between two strides or not. An instance is found where its root is
within 4 px and 5° of the truth, a part where its centre is within 1 px and its angle within 1°.
"""

import argparse
import json
import math
import re
import resource
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.geometry import homogeneous
from benchmarks.photographs import BEACH, SHARED
from wherein.detect.network import PaperNetwork
from wherein.detect.paper import PaperDetection, PaperDetector
from wherein.experiments.turning import (
    FOUND,
    RIGHT,
    Turned,
    bent,
    error,
    middle,
    moving,
    nearest,
    turned,
    within,
)
from wherein.images.load import load_picture
from wherein.template import Template

PAPER = {"perfect to": 22.5, "fails from about": 30.0, "seconds on this CPU": 1000.0, "gigabytes": 4.4}
SIZE = (512, 384)
HALF = [0.0, 7.5, 15.0, 22.5, 30.0, 37.5, 45.0, 52.5, 60.0]


@dataclass(frozen=True)
class Row:
    """What the network made of it."""

    sweep: str
    angle: float
    score: float
    root_px: float
    root_degrees: float
    right: int
    parts: int
    worst_px: float
    false_alarms: int
    seconds: float

    @property
    def succeeded(self) -> bool:
        """Root and every part."""
        return within((self.root_px, self.root_degrees), FOUND) and self.right == self.parts


def limbs(limit: float) -> Iterator[Turned]:
    """The scenes of ../shared."""
    for entry in json.loads((SHARED / "scenes" / "truth.json").read_text(encoding="utf-8")):
        named = re.fullmatch(r"turn_([+-][\d.]+)\.png", entry["scene"])
        if named and abs(float(named[1])) <= limit:
            (instance,) = entry["instances"]
            parts = {name: homogeneous(np.array(m)) for name, m in instance["parts"].items()}
            scene = load_picture(SHARED / "scenes" / entry["scene"]).pixels
            yield Turned(float(named[1]), scene, homogeneous(np.array(instance["root"])), parts)


def rest(crab: Template, limit: float) -> Iterator[Turned]:
    """The crab as a whole, in the middle of a crop of the beach."""
    beach = load_picture(BEACH).pixels
    top, left = (beach.shape[1] - SIZE[1]) // 2, (beach.shape[2] - SIZE[0]) // 2
    background = beach[:, top : top + SIZE[1], left : left + SIZE[0]]
    for angle in sorted({sign * a + 0.0 for a in HALF for sign in (-1, 1) if a <= limit}):
        yield turned(crab, background, angle, {})


def anywhere(crab: Template, count: int, seed: int = 0) -> Iterator[Turned]:
    """Random places, angles and limbs."""
    rng = np.random.default_rng(seed)
    for _, background in zip(range(count), _crops(rng), strict=False):
        angle = float(rng.uniform(-22.5, 22.5))
        at = (float(rng.uniform(140, SIZE[0] - 140)), float(rng.uniform(130, SIZE[1] - 130)))
        yield turned(crab, background, angle, bent(crab, rng, 15), at)


def _crops(rng: np.random.Generator) -> Iterator[Tensor]:
    """Pieces of the beach."""
    beach = load_picture(BEACH).pixels
    while True:
        top = int(rng.integers(beach.shape[1] - SIZE[1] + 1))
        left = int(rng.integers(beach.shape[2] - SIZE[0] + 1))
        yield beach[:, top : top + SIZE[1], left : left + SIZE[0]]


def judge(sweep: str, truth: Turned, template: Template, found: list[PaperDetection], seconds: float) -> Row:
    """Compare the detection that is nearest with the truth."""
    leaves, lost = template.parts.leaves, (math.inf, math.inf)
    best = nearest(found, truth.root, template.centre)
    root = error(best.matrix, truth.root, template.centre) if best else lost
    errors = [
        error(best.parts[n].matrix, truth.parts[n], middle(template, n)) if best else lost for n in leaves
    ]
    right = sum(within(each, RIGHT) for each in errors)
    worst, score = max(px for px, _ in errors), best.score if best else 0.0
    extra = len(found) - bool(best)
    return Row(sweep, truth.angle, score, *root, right, len(leaves), worst, extra, seconds)


def measure(network: PaperNetwork, sweep: str, truths: Iterator[Turned]) -> Iterator[Row]:
    """Run it, scene by scene."""
    detector = PaperDetector(network)
    for truth in truths:
        began = time.process_time()
        found = detector(truth.scene)
        yield judge(sweep, truth, network.template, found, time.process_time() - began)


def show(rows: list[Row]) -> None:
    """The table."""
    table = Table(
        "sweep", "angle", "score", "root px", "root °", "parts", "worst px", "extra", "s", "paper", "here"
    )
    for row in sorted(rows, key=lambda row: (row.sweep, row.angle)):
        paper = "yes" if abs(row.angle) <= PAPER["perfect to"] else "no"
        numbers = (f"{row.score:.2f}", f"{row.root_px:.2f}", f"{row.root_degrees:.2f}")
        table.add_row(
            row.sweep, f"{row.angle:+.1f}", *numbers, f"{row.right}/{row.parts}", f"{row.worst_px:.2f}",
            str(row.false_alarms), f"{row.seconds:.1f}", paper, "yes" if row.succeeded else "no",
        )  # fmt: skip
    Console(width=110).print(table)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_network", description=__doc__)
    parser.add_argument("--limit", type=float, default=30.0, help="the largest angle in degrees")
    parser.add_argument("--out", type=Path, default=Path("results/paper_network.json"))
    parser.add_argument("--random", type=int, default=0, help="how many random scenes besides")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    crab = Template.load(SHARED / "crab")
    network = PaperNetwork(moving(crab))
    rows: list[Row] = []
    sweeps = {
        "limbs": limbs(asked.limit),
        "rest": rest(crab, asked.limit),
        "random": anywhere(crab, asked.random),
    }
    for sweep, truths in sweeps.items():
        for row in measure(network, sweep, truths):
            rows.append(row)
            outcome = "found" if row.succeeded else "missed"
            print(f"{row.sweep} {row.angle:+.1f}: {row.seconds:.1f} s, {outcome}", flush=True)
    show(rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report = {"rows": [asdict(row) | {"succeeded": row.succeeded} for row in rows], "paper": PAPER}
    report |= {"peak gigabytes": round(peak, 2), "threads": asked.threads}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"peak {peak:.2f} GB, wrote {asked.out}")


if __name__ == "__main__":
    main()
