"""Real, 4: one coin of scikit-image's `coins` is the template, the other 23 are searched for."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import photographs
from benchmarks.real import opencv
from benchmarks.real.common import OURS, MissingDataError, Picture, Plan, interleaved, lost, rigid
from benchmarks.workload import Share, section

PEER = "matchTemplate"
# Centre (x, y) and radius in px of every coin: a watershed of the picture, as in scikit-image's user guide.
COINS = (
    *((44, 54, 21), (100, 56, 19), (155, 51, 23), (215, 51, 23), (276, 52, 20), (335, 44, 29)),
    *((45, 124, 20), (102, 126, 19), (154, 127, 18), (205, 124, 20), (271, 119, 25), (336, 125, 19)),
    *((44, 197, 19), (102, 196, 22), (154, 198, 19), (212, 193, 23), (274, 194, 22), (347, 187, 32)),
    *((46, 260, 28), (114, 266, 21), (172, 261, 27), (244, 263, 24), (301, 263, 25), (358, 268, 22)),
)
TEMPLATES = (2, 10, 15)  # well lit coins of medium size, from three rows
ABOUT = (
    "A coin is cut out with a round mask and searched for with default arguments. The other coins have other "
    "faces, sizes (0.8 to 1.4 times its own) and light. Detections: coins with a detection within half a "
    "radius. Ahead: coins among detections and candidates, by descending score, before the first that is not "
    f"a coin. {PEER}: the best 24 positions at its own size."
)
COLUMNS = (
    ("method", "method", "text"),
    ("template", "template", "text"),
    ("detections", "found", "of total"),
    ("ahead", "ahead", "of total"),
    ("elsewhere", "wrong", "text"),
    ("ms", "seconds", "ms"),
)
Point = tuple[float, float]


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Measure with several coins as the template."""
    try:
        scene = photographs.load("coins")
    except ValueError as reason:
        raise MissingDataError(str(reason)) from reason
    rows, losses = [], []
    for done, index in enumerate(TEMPLATES[: plan.counts.coins]):
        share(done / min(plan.counts.coins, len(TEMPLATES)))
        ours, theirs = _compared(plan, scene, index)
        rows += [ours, theirs]
        losses += lost(f"coins: ahead of others, template {index}", ours["ahead"], {PEER: theirs["ahead"]})
        losses += [f"coins: {ours['total'] - ours['ahead']} of 23 not ahead, template {index}"]
    return section("coins", ABOUT, COLUMNS, rows=rows, losses=losses)


def cutout(scene: Picture, index: int) -> Picture:
    """A coin with a round mask, (h, w, 4)."""
    x, y, radius = COINS[index]
    top, left = max(y - radius, 0), max(x - radius, 0)
    part = scene[top : y + radius + 1, left : x + radius + 1]
    rows, columns = np.mgrid[top : top + part.shape[0], left : left + part.shape[1]]
    alpha = np.where((rows - y) ** 2 + (columns - x) ** 2 <= (radius + 0.5) ** 2, 255, 0)
    return np.dstack([part, alpha.astype(np.uint8)])


def _compared(plan: Plan, scene: Picture, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    motif = cutout(scene, index)
    detector = plan.detector(rigid(f"coin {index}", motif))
    plain = np.ascontiguousarray(motif[..., :3])
    calls = {
        OURS: lambda: detector(scene),
        PEER: partial(opencv.match_template, plain, scene, len(COINS)),
    }
    answers = interleaved(calls, plan.counts.repeats)
    found = answers[OURS].value
    detections = [one.center for one in found]
    ranked = sorted([*found, *found.candidates], key=lambda one: -one.score)
    height, width = plain.shape[:2]
    places = [(x + (width - 1) / 2, y + (height - 1) / 2) for x, y, _ in answers[PEER].value]
    ours = _row(OURS, index, detections, [one.center for one in ranked], answers[OURS].seconds)
    return ours, _row(PEER, index, None, places, answers[PEER].seconds)


def _row(
    method: str, index: int, detections: list[Point] | None, ranked: list[Point], seconds: float
) -> dict[str, Any]:
    hits = None if detections is None else [coin_at(place) for place in detections]
    return {
        "method": method,
        "template": f"coin {index}",
        "found": None if hits is None else len(set(hits) - {None, index}),
        "wrong": None if hits is None else hits.count(None),
        "ahead": ahead([coin_at(place) for place in ranked], index),
        "total": len(COINS) - 1,
        "seconds": seconds,
    }


def coin_at(place: Point) -> int | None:
    """The coin whose centre is within half its radius of a position; None if there is none."""
    for index, (x, y, radius) in enumerate(COINS):
        if np.hypot(place[0] - x, place[1] - y) <= radius / 2:
            return index
    return None


def ahead(ranked: Iterable[int | None], own: int) -> int:
    """The number of other coins before the first position that is not a coin."""
    seen: set[int] = set()
    for coin in ranked:
        if coin is None:
            break
        seen.add(coin)
    return len(seen - {own})
