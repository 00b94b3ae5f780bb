"""Real, 9: icons, buttons and menus on a computer screen, upright and without tilt.

The screen is `screen.html`, rendered by Chromium, which also reports the boxes of all elements.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real import opencv
from benchmarks.real.common import OURS, MissingDataError, Picture, Plan, interleaved, median, rigid, spread
from benchmarks.workload import Share, section

PAGE, SIZE, CHROMIUM = Path(__file__).with_name("screen.html"), (1024, 640), Path("/usr/bin/chromium")
PEER, PEER_SCORE, MOST = "matchTemplate", 0.9, 200
EDGE = 2  # px around an element that are cut out with it
NEAR = 3.0  # maximum error of a detection's centre in px
UPRIGHT = {"rotation": 0, "scale": 1, "tilt": 0}
SCREENS: dict[str, tuple[float, bool, dict[str, Any]]] = {  # resolution, whether inverted, search range
    "the same": (1.0, False, UPRIGHT),
    "inverted": (1.0, True, UPRIGHT | {"polarity": "any"}),
    "resolution × 1.25": (1.25, False, UPRIGHT | {"scale": (1.0, 1.5)}),
    "resolution × 1.5": (1.5, False, UPRIGHT | {"scale": (1.0, 2.0)}),
}
ABOUT = (
    f"Elements are cut out of a screen of {SIZE[0]} × {SIZE[1]} px and searched for on the same screen, on "
    "the screen with inverted colours, and on the screen rendered at other resolutions. Found: the centre is "
    f"within {NEAR:g} px. {PEER}: positions with a ZNCC of at least {PEER_SCORE}, at the template's own size."
)
COLUMNS = (
    ("method", "method", "text"),
    ("screen", "screen", "text"),
    ("templates", "templates", "text"),
    ("found", "found", "of total"),
    ("false", "false", "text"),
    ("ms", "seconds", "ms"),
)
Point = tuple[float, float]
Box = tuple[float, float, float, float]
_BOXES = """() => [...document.querySelectorAll("[data-name]")].map((e) => {
  const { left, top, right, bottom } = e.getBoundingClientRect();
  return [e.dataset.name, [left, top, right, bottom]];
})"""


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Search for every kind of element on every screen."""
    pictures = {scale: rendered(scale) for scale in dict.fromkeys(scale for scale, _, _ in SCREENS.values())}
    screen, boxes = pictures[1.0]
    names = spread(list(dict.fromkeys(name for name, _ in boxes)), plan.counts.screens)
    rows, losses = [], []
    for done, (what, (scale, inverted, ranges)) in enumerate(SCREENS.items()):
        picture, there = pictures[scale]
        scene, made = 255 - picture if inverted else picture, []
        for k, name in enumerate(names):
            share((done + k / len(names)) / len(SCREENS))
            box = next(box for own, box in boxes if own == name)
            truth = [_middle(one, scale) for own, one in there if own == name]
            made += _compared(plan, name, cut(screen, box), scene, truth, ranges)
        losses += [f"screens: {what}: {one['name']}: {_described(one)}" for one in made if _lost(one)]
        rows += [_row(what, [one for one in made if one["method"] == method]) for method in (OURS, PEER)]
    return section("screens", ABOUT, COLUMNS, rows=rows, losses=losses)


def rendered(scale: float) -> tuple[Picture, list[tuple[str, Box]]]:
    """The screen at a resolution, and the boxes of its elements in pixels of resolution 1."""
    if not CHROMIUM.exists():
        raise MissingDataError(f"no {CHROMIUM}")
    from io import BytesIO

    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        size = {"width": SIZE[0], "height": SIZE[1]}
        page = browser.new_page(viewport=size, device_scale_factor=scale)
        page.set_content(PAGE.read_text(encoding="utf-8"))
        boxes = [(str(name), tuple(box)) for name, box in page.evaluate(_BOXES)]
        picture = np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"))
        browser.close()
    return picture, boxes


def cut(screen: Picture, box: Box) -> Picture:
    """The picture of an element, with a few pixels around it."""
    left, top, right, bottom = (round(side) for side in box)
    return np.ascontiguousarray(
        screen[max(top - EDGE, 0) : bottom + EDGE, max(left - EDGE, 0) : right + EDGE]
    )


def _middle(box: Box, scale: float) -> Point:
    left, top, right, bottom = (scale * side for side in box)
    return (left + right - 1) / 2, (top + bottom - 1) / 2


def _compared(
    plan: Plan, name: str, motif: Picture, scene: Picture, truth: Sequence[Point], ranges: dict[str, Any]
) -> list[dict[str, Any]]:
    detector = plan.detector(rigid(name, motif), **ranges)
    calls = {
        OURS: lambda: detector(scene),
        PEER: partial(opencv.match_template, motif, scene, MOST, PEER_SCORE),
    }
    answers = interleaved(calls, plan.counts.repeats)
    height, width = motif.shape[:2]
    places = {
        OURS: [one.center for one in answers[OURS].value],
        PEER: [(x + (width - 1) / 2, y + (height - 1) / 2) for x, y, _ in answers[PEER].value],
    }
    return [
        {"method": method, "name": name, "seconds": answers[method].seconds, **counted(found, truth)}
        for method, found in places.items()
    ]


def counted(found: Sequence[Point], truth: Sequence[Point]) -> dict[str, int]:
    """The numbers of true positions that were found, of all true positions, and of false detections."""
    near = [[float(np.hypot(x - u, y - v)) <= NEAR for u, v in truth] for x, y in found]
    hit = sum(map(any, zip(*near, strict=True))) if near else 0
    return {"found": hit, "total": len(truth), "false": sum(not any(one) for one in near)}


def _lost(row: dict[str, Any]) -> bool:
    return row["method"] == OURS and (row["found"] < row["total"] or row["false"] > 0)


def _described(row: dict[str, Any]) -> str:
    return f"{row['found']} of {row['total']} found, {row['false']} false"


def _row(what: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    sums = {key: sum(row[key] for row in rows) for key in ("found", "total", "false")}
    seconds = median([row["seconds"] for row in rows])
    return {"method": rows[0]["method"], "screen": what, "templates": len(rows), "seconds": seconds, **sums}
