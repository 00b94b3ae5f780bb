"""Real, 2: pairs of video frames, by the criteria of ../shared/real/pairs.py."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import wherein
from benchmarks.geometry import apply
from benchmarks.real import opencv
from benchmarks.real.common import OURS, Picture, Plan, folder, interleaved, lost, median, rgb, spread
from benchmarks.workload import Share, aim, section

MOTIONS = ("similarity", "translation")
PEER = "matchTemplate"
ABOUT = (
    "The contents of a box in one frame of a video are searched for 20 frames later "
    "(`../shared/real/pairs.py`). AUC: the mean success rate over thresholds of the IoU of the boxes. "
    "wherein: `register` with its defaults."
)
COLUMNS = (
    ("method", "method", "text"),
    ("AUC", "auc", "number"),
    ("IoU > 0.5", "found", "of total"),
    ("ms a pair", "seconds", "ms"),
)
Box = tuple[float, float, float, float]


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Run wherein with both motions and matchTemplate alternately on every pair."""
    where = folder("pairs")
    pairs = spread(json.loads((where / "pairs.json").read_text(encoding="utf-8")), plan.counts.pairs)
    overlaps: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for done, pair in enumerate(pairs):
        share(done / len(pairs))
        motif, scene = cut(pair, where)
        calls = {f"{OURS}, {motion}": partial(registered, scene, motif, motion) for motion in MOTIONS}
        for name, answer in interleaved(
            calls | {PEER: partial(matched, scene, motif)}, plan.counts.repeats
        ).items():
            overlaps.setdefault(name, []).append(overlap(answer.value, tuple(pair["truth_box"])))
            seconds.setdefault(name, []).append(answer.seconds)
    rows = [_row(name, np.array(some), seconds[name]) for name, some in overlaps.items()]
    best = max(row["auc"] for row in rows if row["method"] != PEER)
    losses = lost("pairs: AUC", best, {PEER: rows[-1]["auc"]})
    aims = [aim(f"pairs: AUC / that of {PEER}", ">=", 1, best / max(rows[-1]["auc"], 1e-6))]
    return section("pairs", ABOUT, COLUMNS, rows=rows, targets=aims, losses=losses)


def cut(pair: Mapping[str, Any], where: Path) -> tuple[Picture, Picture]:
    """The motif (the box in the first frame), and the scene (the second frame)."""
    x, y, width, height = (round(value) for value in pair["template_box"])
    x, y = max(x, 0), max(y, 0)
    motif = rgb(where / pair["template_image"])[y : y + height, x : x + width]
    return np.ascontiguousarray(motif), rgb(where / pair["search_image"])


def registered(scene: Picture, motif: Picture, motion: str) -> Box:
    """The bounding box of the motif as registered by wherein."""
    height, width = motif.shape[:2]
    outer = np.array([[-0.5, -0.5], [width - 0.5, -0.5], [width - 0.5, height - 0.5], [-0.5, height - 0.5]])
    corners = apply(np.asarray(wherein.register(scene, motif, motion=motion).matrix), outer)
    low, size = corners.min(axis=0), np.ptp(corners, axis=0)
    return float(low[0] + 0.5), float(low[1] + 0.5), float(size[0]), float(size[1])


def matched(scene: Picture, motif: Picture) -> Box:
    """The box of the motif as found by matchTemplate."""
    x, y, _ = opencv.match_template(motif, scene)[0]
    return x, y, motif.shape[1], motif.shape[0]


def overlap(a: Box, b: Box) -> float:
    """Intersection / union of two boxes (x, y, width, height)."""
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    tall = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(wide, 0) * max(tall, 0)
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def _row(name: str, overlaps: np.ndarray, seconds: list[float]) -> dict[str, Any]:
    thresholds = np.arange(0, 1, 0.05)
    return {
        "method": name,
        "auc": float(np.mean([(overlaps > threshold).mean() for threshold in thresholds])),
        "found": int((overlaps > 0.5).sum()),
        "total": len(overlaps),
        "seconds": median(seconds),
    }
