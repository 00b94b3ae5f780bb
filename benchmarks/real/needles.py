"""Real, 8: four needles on one plate, drawn in the style of a gas or water meter."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.geometry import Array, apply, corners, linear, rotation, shift
from benchmarks.real import camera, placing
from benchmarks.real.common import OURS, Picture, Plan, interleaved, median
from benchmarks.workload import Share, aim, section
from wherein import making
from wherein.motion.homography import angle_at
from wherein.template import Template

PLATE, FINE = (320, 240), 4  # size in px, and the factor by which it is drawn larger
CENTRES = ((80, 70), (240, 70), (80, 174), (240, 174))
LENGTH, HUB = 40.0, 7.0  # length of a needle from its pivot, and radius of its hub, in px
RED, PAPER, INK = (176, 30, 34), (236, 234, 226), (28, 28, 30)
NEAR = 5.0  # degrees
SCALES, ROTATION, TILT = (0.7, 1.4), 20.0, 20.0  # of the scenes; the detector has default ranges


@dataclass(frozen=True)
class Shape:
    """A needle that points to the right: half its width at the hub and at the tip, in px, and its ends."""

    base: float
    tip: float
    tail: float = 0.0  # px beyond the pivot
    head: str = ""  # arrow | dot


SHAPES = {
    "with tail": Shape(2.2, 2.2, tail=16.0),
    "without tail": Shape(2.2, 2.2),
    "tapered": Shape(5.0, 0.6),
    "arrow": Shape(1.8, 1.8, head="arrow"),
    "dot at the end": Shape(1.8, 1.8, head="dot"),
}
ABOUT = (
    "A plate of 320 × 240 px with four dials, each with a needle that turns by ±180°; the template is cut "
    "out of the clean plate with all needles at rest. Scenes of 640 × 480 px on photographs that no "
    "calibration uses: scale 0.7 to 1.4, rotation ±20°, tilt up to 20°, changed light, shadow, glare, blur, "
    "noise, JPEG. Default arguments. A plate is found if its corners are within 5 % of the diagonal (RMS). "
    "Right: the needle is found, and its turn is within 5°. Confident errors: needles that are found with a "
    "larger error, also on a plate in a wrong pose."
)
COLUMNS = (
    ("needle", "needle", "text"),
    ("plates found", "found", "of total"),
    ("turns right", "right", "of needles"),
    ("confident errors", "wrong", "of needles"),
    ("not found", "unseen", "of needles"),
    ("median error °", "error", "number"),
    ("ms", "seconds", "ms"),
)


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Measure every shape of needle."""
    names = list(SHAPES)[: plan.counts.needles]
    rows, losses = [], []
    for done, name in enumerate(names):
        share(done / len(names))
        row, lost = turned(plan, name)
        rows.append(row)
        losses += lost
    aims = [aim("needles: confident errors", "<=", 0, sum(row["wrong"] for row in rows))]
    return section("needles", ABOUT, COLUMNS, rows=rows, targets=aims, losses=losses)


# --- drawing ---


def outline(shape: Shape) -> list[tuple[float, float]]:
    """The outline of a needle with its hub, relative to its pivot, pointing to the right."""
    end = LENGTH - 9 if shape.head == "arrow" else LENGTH
    upper = [(-shape.tail, -shape.base)] if shape.tail else []
    first = np.degrees(np.arcsin(shape.base / HUB))
    arc = np.radians(np.linspace(180 - first, first, 15))
    hub = [(HUB * float(np.cos(a)), -HUB * float(np.sin(a))) for a in arc]
    upper += hub if shape.tail else [(-HUB, 0.0), *hub]
    upper.append((end, -shape.tip))
    if shape.head == "arrow":
        upper += [(end, -5.0), (LENGTH, 0.0)]
    if shape.head == "dot":
        turns = np.radians(np.linspace(160, 0, 12))
        upper += [(end + 4.5 * float(np.cos(a)), -4.5 * float(np.sin(a))) for a in turns]
    lower = [(x, -y) for x, y in reversed(upper) if y != 0]
    return [*upper, *lower]


def plate(shape: Shape, turns: Sequence[float]) -> Picture:
    """The plate (h, w, 4) with needles turned from their rest position, which is upwards."""
    image = Image.new("RGBA", (PLATE[0] * FINE, PLATE[1] * FINE))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((0, 0, image.width - 1, image.height - 1), 14 * FINE, fill=(*PAPER, 255))
    draw.rounded_rectangle(
        (4 * FINE, 4 * FINE, image.width - 4 * FINE, image.height - 4 * FINE),
        11 * FINE,
        outline=INK,
        width=FINE,
    )
    for label, centre in zip(("x 0.1", "x 0.01", "x 0.001", "x 1"), CENTRES, strict=True):
        _dial(draw, centre, label)
    for centre, turn in zip(CENTRES, turns, strict=True):
        points = _placed(outline(shape), centre, turn)
        draw.polygon([(_fine(x), _fine(y)) for x, y in points], fill=(*RED, 255))
        _circle(draw, centre, 1.6, fill=(90, 90, 92, 255))
    return np.asarray(image.resize(PLATE, Image.Resampling.BOX))


def _fine(value: float) -> float:
    """A coordinate of the plate in the larger drawing; pixel centres are at whole numbers in both."""
    return (value + 0.5) * FINE - 0.5


def _circle(draw: ImageDraw.ImageDraw, centre: tuple[float, float], radius: float, **style: Any) -> None:
    x, y = (_fine(value) for value in centre)
    draw.ellipse((x - radius * FINE, y - radius * FINE, x + radius * FINE, y + radius * FINE), **style)


def _dial(draw: ImageDraw.ImageDraw, centre: tuple[float, float], label: str) -> None:
    _circle(draw, centre, LENGTH + 6, outline=INK, width=FINE)
    font, small = ImageFont.load_default(size=8 * FINE), ImageFont.load_default(size=7 * FINE)
    for mark in range(20):
        turn = np.radians(18 * mark - 90)
        direction = np.array([np.cos(turn), np.sin(turn)])
        inner = LENGTH + (2 if mark % 2 else -1)
        ends = [tuple(_fine(v) for v in centre + r * direction) for r in (inner, LENGTH + 6)]
        draw.line(ends, fill=INK, width=FINE)
        if mark % 4 == 0:
            at = tuple(_fine(v) for v in centre + (LENGTH - 8) * direction)
            draw.text(at, str(mark // 2), fill=INK, font=font, anchor="mm")
    draw.text((_fine(centre[0] + LENGTH + 8), _fine(centre[1] + LENGTH - 4)), label, fill=INK, font=small)


def _placed(points: Sequence[tuple[float, float]], centre: tuple[float, float], turn: float) -> Array:
    """An outline that points to the right, moved to a pivot and rotated: 0 points upwards."""
    return apply(shift(*centre) @ linear(rotation(turn - 90)), np.array(points))


def template(shape: Shape) -> Template:
    """The template: the plate, and four needles at rest that turn by ±180°."""
    width, height = PLATE
    border = [(-0.5, -0.5), (width - 0.5, -0.5), (width - 0.5, height - 0.5), (-0.5, height - 0.5)]
    wide = Shape(shape.base + 1, shape.tip + 1, shape.tail + 1 if shape.tail else 0.0, shape.head)
    needles = [
        making.Outline(
            f"needle{k}", _placed(outline(wide), centre, 0.0).tolist(), parent="plate", pivot=centre, turn=180
        )
        for k, centre in enumerate(CENTRES)
    ]
    return making.cut(plate(shape, (0, 0, 0, 0)), [making.Outline("plate", border), *needles], "meter")


# --- scenes ---


def pose(rng: np.random.Generator) -> Array:
    """A random pose of the plate, 3×3, tilted about a random axis; the camera is three plate widths away."""
    middle = (PLATE[0] - 1) / 2, (PLATE[1] - 1) / 2
    for _ in range(2000):
        scale, angle = np.exp(rng.uniform(*np.log(SCALES))), rng.uniform(-ROTATION, ROTATION)
        tilt, axis = np.radians(rng.uniform(0, TILT)), rng.uniform(0, 360)
        lean = np.array([[np.cos(tilt), 0, 0], [0, 1, 0], [np.sin(tilt) / (3 * PLATE[0]), 0, 1]])
        seen = linear(rotation(axis)) @ lean @ linear(rotation(-axis))
        at = rng.uniform(0.2, 0.8, 2) * placing.SIZE
        matrix = shift(*at) @ linear(scale * rotation(angle)) @ seen @ shift(-middle[0], -middle[1])
        ends = apply(matrix, corners(*PLATE))
        if (ends >= 0).all() and (ends <= np.array(placing.SIZE) - 1).all():
            return matrix
    raise ValueError("the plate does not fit into a scene")


def turned(plan: Plan, name: str) -> tuple[dict[str, Any], list[str]]:
    """The row of one shape, and a sentence for each confident error and each missed plate."""
    meter = template(SHAPES[name])
    detector = plan.detector(meter)
    errors: list[float] = []
    seconds, losses, found, unseen = [], [], 0, 0
    for index in range(plan.counts.needle_scenes):
        rng = plan.rng("needles", name, index)
        turns = rng.uniform(-180, 180, len(CENTRES))
        truth = pose(rng)
        scene = camera.paint(camera.background(placing.SIZE, rng), plate(SHAPES[name], turns), truth)
        scene = camera.photographed(scene, rng, glare=True)
        answer = interleaved({OURS: partial(detector, scene)}, 1)[OURS]
        seconds.append(answer.seconds)
        one = next((one for one in answer.value if _on_plate(np.asarray(one.matrix), truth)), None)
        found += one is not None
        losses += (
            [] if one is not None else [f"needles: {name}, scene {index}: {_missed(answer.value, truth)}"]
        )
        if one is None and not len(answer.value):
            continue
        for k, turn in enumerate(turns):  # needles on a plate in a wrong pose count: they mislead as well
            part = (one or answer.value[0]).parts[f"needle{k}"]
            if not part.found:
                unseen += 1
                continue
            errors.append(difference(part.turn, turn))
            if errors[-1] > NEAR and one is not None:
                losses.append(f"needles: {name}, scene {index}: {part.turn:.0f}° for {turn:.0f}°")
    row = {
        "needle": name,
        "found": found,
        "total": plan.counts.needle_scenes,
        "right": sum(error <= NEAR for error in errors),
        "wrong": sum(error > NEAR for error in errors),
        "unseen": unseen,
        "needles": len(CENTRES) * plan.counts.needle_scenes,
        "error": median(errors),
        "seconds": median(seconds),
    }
    return row, losses


def _missed(found: Any, truth: Array) -> str:
    """The best detection if the plate was missed, as text."""
    if not len(found):
        return "plate not found"
    middle = (PLATE[0] - 1) / 2, (PLATE[1] - 1) / 2
    turn = difference(found[0].angle, angle_at(truth, middle))
    off = np.linalg.norm(np.array(found[0].center) - apply(truth, np.array([middle]))[0])
    return f"plate {off:.0f} px off, turned by {turn:.0f}°"


def difference(a: float, b: float) -> float:
    """The absolute difference of two angles, 0 to 180 degrees."""
    return float(abs((a - b + 180) % 360 - 180))


def _on_plate(matrix: Array, truth: Array) -> bool:
    """Whether the RMS error of the plate's corners is at most 5 % of its diagonal."""
    here, there = apply(matrix, corners(*PLATE)), apply(truth, corners(*PLATE))
    error = np.sqrt(((here - there) ** 2).sum(axis=1).mean())
    return bool(error <= placing.NEAR * np.linalg.norm(there[2] - there[0]))
