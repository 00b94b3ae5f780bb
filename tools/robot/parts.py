"""A tin robot: its tree of parts, and how each is drawn.

Everything is placed in canvas pixels. Left and right are those of the picture.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.robot.shapes import (
    Field,
    Point,
    box,
    disc,
    ellipse,
    heart,
    joined,
    limb,
    polygon,
    ring,
    spots,
    star,
    stripes,
    within,
    without,
)
from tools.robot.sheet import INK, STEEL, WHITE, Colour, Paint, Sheet, mixed

TEAL: Colour = (0.13, 0.56, 0.57)
DEEP: Colour = (0.08, 0.36, 0.42)
CREAM: Colour = (0.96, 0.90, 0.74)
RED: Colour = (0.84, 0.23, 0.17)
MUSTARD: Colour = (0.95, 0.70, 0.20)
NAVY: Colour = (0.17, 0.24, 0.42)
AMBER: Colour = (1.00, 0.80, 0.30)
WINE: Colour = (0.42, 0.08, 0.12)
PINK: Colour = (0.95, 0.56, 0.45)
BRASS: Colour = (0.84, 0.64, 0.28)

Pattern = Callable[[Field, Field], Paint]
"""The paint at two coordinates about a joint, mostly along the part and across it."""

Drawing = Callable[[Sheet], None]

SIZE = (260, 260)
NECK: Point = (130.0, 98.0)
SOCKET_LEFT, SOCKET_RIGHT = (108.0, 45.0), (152.0, 45.0)
SHOULDER_LEFT, SHOULDER_RIGHT = (85.0, 120.0), (175.0, 120.0)
ELBOW_LEFT, ELBOW_RIGHT = (54.0, 147.0), (213.0, 131.0)
HIP_LEFT, HIP_RIGHT = (109.0, 184.0), (151.0, 184.0)
KEYHOLE: Point = (169.0, 164.0)


@dataclass(frozen=True)
class Group:
    """Parts that move together; `pivot` and `turn` are None for the root, which moves freely."""

    name: str
    parent: str | None
    pivot: Point | None = None
    turn: float | None = None


@dataclass(frozen=True)
class Piece:
    """A part with a picture: `draw` paints it into a `window` (left, top, right, bottom) of the canvas.

    Without a `pivot` it is static. `reading` is what its turn means, as in template.json.
    """

    name: str
    parent: str
    draw: Drawing
    window: tuple[int, int, int, int]
    pivot: Point | None = None
    turn: float | None = None
    reading: dict[str, Any] | None = None


@dataclass(frozen=True)
class Figure:
    """All that a template is drawn from: its name, the size of its canvas, and its parts in painting order,
    the later covering the earlier."""

    name: str
    size: tuple[int, int]
    groups: tuple[Group, ...]
    pieces: tuple[Piece, ...]


def torso(sheet: Sheet) -> None:
    """The barrel: neck, collar, chest plate with dial, heart and lamps, hazard belt, rivets."""
    x, y = sheet.frame(130, 142)
    sheet.tin(box(x, y + 42, 14, 12, 4), mixed(STEEL, INK, stripes(y, 5, 1.6), 0.8), 6)
    hips = box(x, y - 36, 32, 10, 7)
    sheet.tin(hips, mixed(NAVY, TEAL, stripes(x + y, 9, 3)), 6)
    barrel = polygon(x, y, [(-37, -30), (37, -30), (31, 30), (-31, 30)]) - 7
    skin = mixed(TEAL, DEEP, spots(x, y, 7, 1.5), 0.75)
    skin = mixed(skin, CREAM, stripes(y, 200, 2.2, -28.5))
    skin = mixed(skin, RED, stripes(y, 200, 3.2, -32.5))
    belt = np.abs(y - 27) - 6.5
    hazard = mixed(MUSTARD, INK, stripes(x + 0.9 * y, 12, 5.5), 0.9)
    skin = mixed(skin, INK, belt - 1.2)
    sheet.tin(barrel, mixed(skin, hazard, belt), 13)
    _chest(sheet)
    for at in ((93, 117), (167, 117), (96, 137), (164.5, 137), (98.5, 156), (161.5, 156)):
        sheet.rivet(*at)


def _chest(sheet: Sheet) -> None:
    x, y = sheet.frame(130, 136)
    plate = box(x, y, 28, 21, 5)
    sheet.tin(plate, mixed(CREAM, MUSTARD, ring(plate + 4, 1.1), 0.8), 2.5)
    _dial(sheet, 117, 133)
    u, v = sheet.frame(144, 131, 8)
    sheet.tin(heart(u, v, 11.5), mixed(RED, PINK, spots(u + v, v - u, 5, 1.0)), 6, 1.3)
    sheet.paint(ellipse(u + 4.5, v + 4, 2.4, 1.6), WHITE, 0.75)
    for shift, colour in ((-17, TEAL), (-9, MUSTARD), (-1, RED)):
        sheet.bead(x - shift, y - 14.5, 2.3, colour)
    for step in range(3):
        sheet.paint(box(x - 14, y - 11 - 3 * step, 9 - 1.6 * step, 0.8, 0.8), NAVY, 0.85)


def _dial(sheet: Sheet, x: float, y: float) -> None:
    u, v = sheet.frame(x, y)
    sheet.tin(disc(u, v, 11.5), BRASS, 3, 1.3)
    sheet.paint(disc(u, v, 8.8), INK)
    sheet.paint(disc(u, v, 8.2), CREAM)
    turn = np.degrees(np.arctan2(v, u))
    sheet.paint(within(ring(disc(u, v, 6.6), 2.0), np.abs(turn + 25) - 40), RED)
    for mark in range(-210, 31, 40):
        along, across = sheet.frame(x, y, mark)
        sheet.paint(box(along - 6.6, across, 1.3, 0.5, 0.1), INK)
    along, across = sheet.frame(x, y, -58)
    sheet.paint(polygon(along, across, [(-2.5, -1.1), (7, 0), (-2.5, 1.1)]) - 0.2, INK)
    sheet.bead(u, v, 1.4, RED)


def face(sheet: Sheet) -> None:
    """The head: ears, brow, two eyes that do not match, cheeks and a grin with a gold tooth."""
    x, y = sheet.frame(130, 73)
    for side, colour in ((-1, RED), (1, MUSTARD)):
        sheet.tin(box(x - side * 42, y - 1, 6, 11, 3), mixed(colour, INK, stripes(y, 5.5, 1.5), 0.6), 4)
    crown = box(x, y + 28, 18, 6, 5)
    sheet.tin(crown, mixed(RED, CREAM, stripes(x - y, 8, 3)), 4)
    skull = box(x, y, 39, 27, 13)
    skin = mixed(TEAL, DEEP, stripes(y, 4, 1.0, 1), 0.45)
    skin = mixed(skin, DEEP, within(spots(x - 3, y, 6, 1.5), y + 14), 0.8)
    sheet.tin(skull, skin, 11)
    plate = box(x, y - 1, 32, 21.5, 9)
    sheet.tin(plate, mixed(CREAM, PINK, spots(x, y, 3.2, 0.55), 0.55), 3)
    _eye(sheet, 114.5, 65.5, 12.0, (2.2, 0.8), RED)
    _eye(sheet, 146.5, 66, 10.5, (1.8, 1.0), NAVY)
    _mouth(sheet)
    for at in ((97.5, 55.5), (162.5, 55.5), (97.5, 92.5), (162.5, 92.5)):
        sheet.rivet(*at, 1.7)


def _eye(sheet: Sheet, x: float, y: float, radius: float, look: Point, lash: Colour) -> None:
    u, v = sheet.frame(x, y)
    turn = np.arctan2(v, u)
    rim = mixed(STEEL, lash, np.sin(8 * turn) * radius / 8, 0.85)
    sheet.tin(disc(u, v, radius), rim, 3, 1.4)
    sheet.paint(disc(u, v, radius - 2.6), INK)
    glow = np.clip(np.hypot(u + 1, v + 1) / radius, 0, 1)[..., None]
    sheet.paint(disc(u, v, radius - 3.3), np.asarray(WHITE) * (1 - glow) + np.asarray(AMBER) * glow)
    sheet.paint(disc(u - look[0], v - look[1], radius * 0.44), INK)
    sheet.paint(disc(u - look[0] + 1.5, v - look[1] + 1.6, radius * 0.17), WHITE)


def _mouth(sheet: Sheet) -> None:
    x, y = sheet.frame(130, 84)
    lip = (-0.013 * x * x - y) * 0.93  # negative below a line that rises to joined sides
    smile = within(ellipse(x, y + 4.5, 16.5, 13.6), lip)
    sheet.paint(smile - 1.4, INK)
    sheet.paint(smile, mixed(WINE, PINK, ellipse(x - 2, y - 9, 8, 3.4)))
    teeth = mixed(CREAM, BRASS, box(x - 7.4, y - 1, 2.2, 6, 0.1))
    gaps = stripes(x, 5.6, 1.0, 1.8)
    sheet.paint(within(smile, -lip - 4.0), mixed(teeth, INK, gaps, 0.8))
    sheet.paint(within(smile, ring(-lip - 4.2, 0.8)), INK)
    for side in (-1, 1):
        sheet.paint(ellipse(x - side * 24.5, y + 0.5, 4.4, 3.6), RED, 0.6)
        sheet.paint(disc(x - side * 24.5 + 1.2, y + 1.6, 1.0), WHITE, 0.55)


def antenna(x: float, y: float, degrees: float, ball: Pattern, slot: float) -> Drawing:
    """A spring with a ball on it, in a bolted socket."""

    def draw(sheet: Sheet) -> None:
        u, v = sheet.frame(x, y, degrees)
        spring = polygon(u, v, [(0, -5.5), (26, -3.2), (26, 3.2), (0, 5.5)]) - 1.5
        sheet.tin(spring, mixed(STEEL, INK, stripes(u + 0.35 * v, 5.2, 1.8), 0.9), 5)
        sheet.tin(disc(u - 34, v, 10.5), ball(u - 34, v), 10)
        tilt = math.radians(degrees)
        across, down = sheet.frame(x + 34 * math.cos(tilt), y + 34 * math.sin(tilt))
        sheet.paint(disc(across + 3.4, down + 3.8, 1.9), WHITE, 0.8)
        _bolted(sheet, x, y, 7.5, STEEL, slot)

    return draw


def upper_arm(shoulder: Point, elbow: Point, pattern: Pattern, slot: float) -> Drawing:
    """A rod from shoulder to elbow with a ball at the shoulder and a slotted bolt in it."""

    def draw(sheet: Sheet) -> None:
        length, degrees = _polar(shoulder, elbow)
        u, v = sheet.frame(*shoulder, degrees)
        sheet.tin(limb(u, v, length - 5, 9.5, 8.5), pattern(u, v), 8)
        _bolted(sheet, *shoulder, 13.5, TEAL, slot)

    return draw


def forearm(elbow: Point, wrist: Point, pattern: Pattern, slot: float) -> Drawing:
    """A flaring sleeve from the elbow with a bolt, a cuff, and an open claw."""

    def draw(sheet: Sheet) -> None:
        length, degrees = _polar(elbow, wrist)
        u, v = sheet.frame(*elbow, degrees)
        w = u - length
        claw = without(
            disc(w - 10, v, 12.5), disc(w - 13, v, 5.5), polygon(w, v, [(13, 0), (30, -7.5), (30, 7.5)])
        )
        sheet.tin(claw, mixed(MUSTARD, INK, stripes(w, 5, 1.3, 4), 0.5), 5)
        sheet.tin(limb(u, v, length - 4, 8.5, 10.5), pattern(u, v), 8)
        cuff = box(w + 1, v, 4, 12.5, 3)
        sheet.tin(cuff, mixed(CREAM, RED, stripes(v, 6, 2.4, 1.2)), 4)
        _bolted(sheet, *elbow, 10.0, STEEL, slot)

    return draw


def _bolted(sheet: Sheet, x: float, y: float, radius: float, colour: Colour, slot: float) -> None:
    u, v = sheet.frame(x, y)
    sheet.tin(disc(u, v, radius), mixed(colour, INK, ring(disc(u, v, radius * 0.72), 0.8), 0.6), radius * 0.8)
    sheet.bead(u, v, radius * 0.42, BRASS)
    along, across = sheet.frame(x, y, slot)
    sheet.paint(box(along, across, radius * 0.36, 0.75, 0.2), INK, 0.9)


def _polar(start: Point, end: Point) -> tuple[float, float]:
    dx, dy = end[0] - start[0], end[1] - start[1]
    return math.hypot(dx, dy), math.degrees(math.atan2(dy, dx))


def leg(hip: Point, side: int, pattern: Pattern) -> Drawing:
    """A stocking, a cuff and a boot that points to its `side`."""

    def draw(sheet: Sheet) -> None:
        x, y = sheet.frame(*hip)
        out = x * side
        sheet.tin(limb(y, x, 46, 10.5, 10), pattern(x, y), 9)
        upper = joined(box(out - 1, y - 52, 13, 10, 6), ellipse(out - 8, y - 60, 21, 11))
        boot = within(upper, y - 66)
        leather = mixed(RED, CREAM, ellipse(out - 24, y - 62, 10, 9))
        sheet.tin(boot, mixed(leather, INK, ring(ellipse(out - 24, y - 62, 10, 9), 1.0), 0.8), 8)
        sheet.tin(box(out - 1, y - 42, 14, 3.6, 2.5), mixed(CREAM, NAVY, stripes(x, 6, 2.2, side)), 3)
        sheet.tin(box(out - 8, y - 66, 22, 3.4, 2.5), mixed(NAVY, STEEL, stripes(x, 7, 2, 1)), 3)
        for step in range(2):
            sheet.paint(box(out - 3 - 4 * step, y - 50 - 4 * step, 3.5, 0.9, 0.8), CREAM)

    return draw


def key(sheet: Sheet) -> None:
    """The key that winds it up: a shaft and two ears with holes."""
    u, v = sheet.frame(*KEYHOLE, 4)
    sheet.tin(box(u - 8, v, 18, 4.5, 2), mixed(BRASS, INK, stripes(u, 4.5, 1.2), 0.7), 4)
    ears = joined(
        ellipse(u - 31, v + 11, 10, 11.5), ellipse(u - 31, v - 11, 10, 11.5), box(u - 28, v, 6, 6, 3)
    )
    bow = without(ears, ellipse(u - 32, v + 12, 4.2, 5.2), ellipse(u - 32, v - 12, 4.2, 5.2))
    sheet.tin(bow, mixed(BRASS, INK, spots(u + v, u - v, 5, 0.9), 0.5), 5)


def _swirled(u: Field, v: Field) -> Paint:
    return mixed(RED, CREAM, stripes(v + 0.5 * u + 0.05 * u * u, 7.5, 3.0, 1))


def _starred(u: Field, v: Field) -> Paint:
    ground = mixed(MUSTARD, RED, stripes(u - 0.3 * v, 30, 6, -3))
    emblem = star(v, u, 7.2)
    return mixed(mixed(ground, CREAM, emblem - 1.2), NAVY, emblem)


def _banded(u: Field, v: Field) -> Paint:
    return mixed(mixed(RED, CREAM, stripes(u, 11, 4.5, 6)), MUSTARD, stripes(v, 40, 2.2, 3))


def _barred(u: Field, v: Field) -> Paint:
    return mixed(mixed(RED, CREAM, stripes(u + 0.8 * v, 10, 3.6, 4)), NAVY, stripes(v, 40, 2.2, -4))


def _dotted(u: Field, v: Field) -> Paint:
    return mixed(TEAL, CREAM, spots(u + 1, v + 3.5, 7, 2.0))


def _chevroned(u: Field, v: Field) -> Paint:
    return mixed(TEAL, CREAM, stripes(u + np.abs(v + 1), 9, 3.0, 3))


def _ringed(x: Field, y: Field) -> Paint:
    return mixed(mixed(NAVY, MUSTARD, stripes(y, 9, 3.2, 3)), CREAM, stripes(x, 40, 1.8, -4))


def _checked(x: Field, y: Field) -> Paint:
    return mixed(NAVY, MUSTARD, np.maximum(np.abs((x + y) % 11 - 5.5), np.abs((x - y) % 11 - 5.5)) - 3.0)


GROUPS = (
    Group("robot", None),
    Group("head", "robot", NECK, 20),
    Group("arm_left", "robot", SHOULDER_LEFT, 35),
    Group("arm_right", "robot", SHOULDER_RIGHT, 35),
)

PIECES = (
    Piece("key", "robot", key, (150, 125, 230, 195), KEYHOLE, 25),
    Piece("leg_left", "robot", leg(HIP_LEFT, -1, _ringed), (70, 165, 140, 260), HIP_LEFT, 20),
    Piece("leg_right", "robot", leg(HIP_RIGHT, 1, _checked), (120, 165, 195, 260), HIP_RIGHT, 20),
    Piece("torso", "robot", torso, (80, 80, 180, 200)),
    Piece("face", "head", face, (75, 35, 185, 110)),
    Piece(
        "antenna_left", "head", antenna(*SOCKET_LEFT, -108, _swirled, 15), (75, 0, 130, 75), SOCKET_LEFT, 30
    ),
    Piece(
        "antenna_right",
        "head",
        antenna(*SOCKET_RIGHT, -68, _starred, 100),
        (130, 0, 190, 75),
        SOCKET_RIGHT,
        30,
    ),
    Piece(
        "upper_arm_left", "arm_left", upper_arm(SHOULDER_LEFT, ELBOW_LEFT, _banded, 35), (35, 100, 105, 165)
    ),
    Piece(
        "forearm_left",
        "arm_left",
        forearm(ELBOW_LEFT, (37, 184), _dotted, 70),
        (0, 130, 75, 225),
        ELBOW_LEFT,
        40,
    ),
    Piece(
        "upper_arm_right",
        "arm_right",
        upper_arm(SHOULDER_RIGHT, ELBOW_RIGHT, _barred, -62),
        (155, 100, 230, 150),
    ),
    Piece(
        "forearm_right",
        "arm_right",
        forearm(ELBOW_RIGHT, (226, 91), _chevroned, -20),
        (190, 50, 260, 150),
        ELBOW_RIGHT,
        40,
    ),
)
"""In the order of painting: the later cover the earlier."""

ROBOT = Figure("robot", SIZE, GROUPS, PIECES)
