"""Real, 7: shapes in one colour, which have no texture except their outlines."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.geometry import apply
from benchmarks.real import camera, placing
from benchmarks.real.common import OURS, Picture, Plan, interleaved, median, rigid
from benchmarks.workload import Share, section

SIDE, FINE = 120, 4  # side of a shape in px, and the factor by which it is drawn larger
COLOUR = (40, 60, 130)
EDGE = 2  # width of the transparent border in px: without it, a square would have no outline
SCALES = (0.6, 1.8)
BACKGROUNDS = {"light": (225, 222, 215), "dark": (18, 18, 22), "photograph": None}
LIGHT = (235, 235, 225)  # the colour of an inverted shape
Draw = Callable[[ImageDraw.ImageDraw, int], None]


def _disc(draw: ImageDraw.ImageDraw, side: int) -> None:
    draw.ellipse((0.04 * side, 0.04 * side, 0.96 * side, 0.96 * side), fill=255)


def _square(draw: ImageDraw.ImageDraw, side: int) -> None:
    draw.rectangle((0.08 * side, 0.08 * side, 0.92 * side, 0.92 * side), fill=255)


def _key(draw: ImageDraw.ImageDraw, side: int) -> None:
    draw.ellipse((0.02 * side, 0.3 * side, 0.42 * side, 0.7 * side), fill=255)
    draw.ellipse((0.13 * side, 0.41 * side, 0.31 * side, 0.59 * side), fill=0)
    draw.rectangle((0.4 * side, 0.45 * side, 0.97 * side, 0.55 * side), fill=255)
    for left, deep in ((0.66, 0.68), (0.78, 0.64), (0.9, 0.7)):
        draw.rectangle((left * side, 0.5 * side, (left + 0.06) * side, deep * side), fill=255)


def _arrow(draw: ImageDraw.ImageDraw, side: int) -> None:
    points = ((0.03, 0.4), (0.55, 0.4), (0.55, 0.2), (0.97, 0.5), (0.55, 0.8), (0.55, 0.6), (0.03, 0.6))
    draw.polygon([(x * side, y * side) for x, y in points], fill=255)


def _logo(draw: ImageDraw.ImageDraw, side: int) -> None:
    """A ring with a gap, and a bar with a dot in it."""
    draw.ellipse((0.03 * side, 0.03 * side, 0.97 * side, 0.97 * side), fill=255)
    draw.ellipse((0.16 * side, 0.16 * side, 0.84 * side, 0.84 * side), fill=0)
    draw.polygon([(0.5 * side, 0.5 * side), (side, 0.1 * side), (side, 0.45 * side)], fill=0)
    draw.rectangle((0.32 * side, 0.42 * side, 0.44 * side, 0.76 * side), fill=255)
    draw.ellipse((0.54 * side, 0.54 * side, 0.7 * side, 0.7 * side), fill=255)


def _letter(letter: str) -> Draw:
    def drawn(draw: ImageDraw.ImageDraw, side: int) -> None:
        font = ImageFont.load_default(size=0.9 * side)
        draw.text((side / 2, side / 2), letter, fill=255, font=font, anchor="mm", stroke_width=side // 40)

    return drawn


SHAPES: dict[str, tuple[Draw, bool]] = {  # how to draw it, and whether it looks the same in several poses
    "arrow": (_arrow, False),
    "disc": (_disc, True),
    "square": (_square, True),
    "key": (_key, False),
    "letter R": (_letter("R"), False),
    "letter S": (_letter("S"), True),
    "letter F": (_letter("F"), False),
    "logo": (_logo, False),
}
ABOUT = (
    f"Cut-outs of {SIDE} px in one colour, painted at scale 0.6 to 1.8 and any rotation on a plain light or "
    "dark background and on photographs, with changed light, blur, noise and JPEG; default arguments. "
    "Inverted: the template is a dark shape on white, without alpha; the scene is a light shape on dark; "
    "polarity is 'any'. Found: as for the stamps; disc, square and S by the IoU of the outlines. False, with "
    "it: detections elsewhere in these scenes. False, without it: scenes with a detection, of as many scenes "
    "without the object."
)
COLUMNS = (
    ("shape", "shape", "text"),
    ("on", "on", "text"),
    ("found", "found", "of total"),
    ("false, with it", "beside", "text"),
    ("false, without it", "false", "of total"),
    ("ms", "seconds", "ms"),
)


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Measure every shape on every background."""
    names = list(SHAPES)[: plan.counts.shapes]
    rows, losses = [], []
    for done, name in enumerate(names):
        share(done / len(names))
        for row, lost in shaped(plan, name):
            rows.append(row)
            losses += lost
    rows += [_total(rows, on) for on in dict.fromkeys(row["on"] for row in rows)]
    return section("silhouettes", ABOUT, COLUMNS, rows=rows, losses=losses)


def mask(name: str) -> np.ndarray:
    """The mask of a shape, (SIDE, SIDE), 0 to 255."""
    image = Image.new("L", (SIDE * FINE, SIDE * FINE))
    SHAPES[name][0](ImageDraw.Draw(image), SIDE * FINE)
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX))


def painted(name: str, colour: tuple[int, int, int]) -> Picture:
    """The shape in one colour, with alpha, cropped to its visible pixels with a border of EDGE."""
    alpha = mask(name)
    picture = np.dstack([np.full((*alpha.shape, 3), colour, np.uint8), alpha])
    rows, columns = np.nonzero(alpha.any(axis=1))[0], np.nonzero(alpha.any(axis=0))[0]
    tight = picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return np.pad(tight, ((EDGE, EDGE), (EDGE, EDGE), (0, 0)))


def on_white(cutout: Picture) -> Picture:
    """A cut-out on white, without alpha, with a border of a tenth of its size."""
    border = max(cutout.shape[:2]) // 10
    alpha = cutout[..., 3:] / 255
    flat = np.rint(cutout[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
    return np.pad(flat, ((border, border), (border, border), (0, 0)), constant_values=255)


def shaped(plan: Plan, name: str) -> list[tuple[dict[str, Any], list[str]]]:
    """The rows of one shape: one for each background, and one for the inverted shape."""
    cutout = painted(name, COLOUR)
    template = rigid(name, cutout)
    detector = plan.detector(template)
    made = [_row(plan, detector, name, on, cutout, np.eye(3)) for on in BACKGROUNDS]
    flat = on_white(cutout)
    border = (flat.shape[1] - cutout.shape[1]) // 2
    either = plan.detector(rigid(name, flat), polarity="any")
    # The pose of the picture with a border is the pose of the cut-out, shifted by the border.
    inset = np.array([[1, 0, -border], [0, 1, -border], [0, 0, 1.0]])
    return [*made, _row(plan, either, name, "inverted", painted(name, LIGHT), inset)]


def _row(
    plan: Plan, detector: Any, name: str, on: str, cutout: Picture, inset: np.ndarray
) -> tuple[dict[str, Any], list[str]]:
    found = beside = false = 0
    seconds, losses, count = [], [], plan.counts.shape_scenes
    shape = rigid(name, cutout)
    outline = apply(np.linalg.inv(inset)[:2], shape.outlines[shape.parts.root])
    for index in range(count):
        for there in (True, False):
            scene, truth = made(plan, name, on, index, cutout if there else None)
            answer = interleaved({OURS: partial(detector, scene)}, 1)[OURS]
            full = None if truth is None else np.vstack([truth, [0, 0, 1]]) @ inset
            verdict = placing.judge(answer.value, full, detector.template, SHAPES[name][1], outline)
            seconds.append(answer.seconds)
            found, false = found + verdict.found, false + (not there and verdict.false > 0)
            beside += verdict.false if there else 0
            if not there and verdict.false:
                losses.append(
                    f"silhouettes: {name}, {on}, scene {index} without it: score {verdict.scored:.2f}, "
                    f"threshold {detector.threshold:.2f}"
                )
            if there and not verdict.found:
                losses.append(f"silhouettes: {name}, {on}, scene {index}: {_words(verdict)}")
    counts = {"found": found, "total": count, "beside": beside, "false": false}
    return {"shape": name, "on": on, **counts, "seconds": median(seconds)}, losses


def _words(verdict: placing.Verdict) -> str:
    if np.isfinite(verdict.error):
        return f"IoU {verdict.overlap:.2f}, {verdict.error:.0%} off"
    return "nothing near" if verdict.scored is None else f"best score {verdict.scored:.2f}"


def made(
    plan: Plan, name: str, on: str, index: int, cutout: Picture | None
) -> tuple[Picture, np.ndarray | None]:
    """A scene with or without a shape, and the true pose of the cut-out."""
    rng = plan.rng("silhouettes", name, on, index, int(cutout is not None))
    plain = BACKGROUNDS["dark" if on == "inverted" else on]
    width, height = placing.SIZE
    scene = (
        camera.background(placing.SIZE, rng)
        if plain is None
        else np.full((height, width, 3), plain, np.uint8)
    )
    truth = None
    if cutout is not None:
        truth = placing.pose((cutout.shape[1], cutout.shape[0]), SCALES, rng)
        scene = camera.paint(scene, cutout, truth)
    return camera.photographed(scene, rng), truth


def _total(rows: list[dict[str, Any]], on: str) -> dict[str, Any]:
    some = [row for row in rows if row["on"] == on]
    summed = {key: sum(row[key] for row in some) for key in ("found", "total", "beside", "false")}
    return {"shape": "all", "on": on, **summed, "seconds": median([row["seconds"] for row in some])}
