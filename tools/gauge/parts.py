"""A pressure gauge: a round dial with a scale from 0 to 10 bar, its needle, and the lever of a tap beside it.

Everything is placed in canvas pixels. At rest the needle points up, at the middle of the scale.
"""

import math

import numpy as np

from tools.gauge.glyphs import text
from tools.robot.parts import BRASS, CREAM, DEEP, MUSTARD, RED, TEAL, Figure, Group, Piece
from tools.robot.shapes import Point, box, disc, joined, limb, polygon, ring, star, stripes, within
from tools.robot.sheet import INK, STEEL, WHITE, Colour, Sheet, mixed

SIZE = (312, 236)
AXLE: Point = (116.0, 118.0)
TAP: Point = (266.0, 150.0)
RADIUS = 110.0
"""Of the dial with its rim."""

SWEEP = 135.0
"""Degrees that the needle turns from the middle of the scale to either end."""

RANGE = 10.0
"""In bar: the last mark of the scale, which begins at 0."""

SLACK = 6.0
"""Degrees that the needle can turn beyond the scale."""

PAPER: Colour = (0.93, 0.92, 0.88)
GREEN: Colour = (0.27, 0.58, 0.31)


def turn_of(value: float) -> float:
    """The turn of the needle at a value in bar."""
    return (2 * value / RANGE - 1) * SWEEP


def tap(sheet: Sheet) -> None:
    """The pipe from the dial, and the valve at its end."""
    x, y = sheet.frame(*TAP)
    pipe = box(x + 30, y, 22, 9, 3)
    sheet.tin(pipe, mixed(BRASS, INK, stripes(x, 7, 1.6), 0.55), 8)
    valve = box(x, y, 22, 26, 7)
    sheet.tin(valve, mixed(BRASS, DEEP, ring(box(x, y, 15, 19, 4), 2.2), 0.7), 7)
    for across, down in ((-14, -18), (14, -18), (-14, 18), (14, 18)):
        sheet.rivet(TAP[0] + across, TAP[1] + down, 2.4)


def dial(sheet: Sheet) -> None:
    """The rim, and the plate with its scale."""
    u, v = sheet.frame(*AXLE)
    sheet.tin(disc(u, v, RADIUS), mixed(STEEL, INK, ring(disc(u, v, RADIUS - 7), 1.4), 0.6), 9)
    sheet.paint(disc(u, v, RADIUS - 12), INK)
    sheet.paint(disc(u, v, RADIUS - 13.5), PAPER)
    _zones(sheet)
    _marks(sheet)
    _print(sheet)


def _zones(sheet: Sheet) -> None:
    """Coloured arcs: the range of normal pressures in green, that of dangerous ones in red."""
    u, v = sheet.frame(*AXLE)
    turn = np.degrees(np.arctan2(u, -v))
    band = ring(disc(u, v, 86), 6)
    for low, high, colour in ((2.0, 6.0, GREEN), (8.0, 10.0, RED)):
        middle, half = (turn_of(low) + turn_of(high)) / 2, (turn_of(high) - turn_of(low)) / 2
        sheet.paint(within(band, (np.abs(turn - middle) - half) * math.radians(86)), colour)


def _marks(sheet: Sheet) -> None:
    """A long mark and a number every 2 bar, a shorter mark every 1 bar, a fine one every 0.2 bar."""
    u, v = sheet.frame(*AXLE)
    along, turn = np.hypot(u, v), np.degrees(np.arctan2(u, -v))
    for every, long, wide in ((0.2, 7.0, 1.2), (1.0, 12.0, 2.2), (2.0, 17.0, 3.2)):
        between = turn_of(every) - turn_of(0)
        # All marks of a kind at once: the turn from the nearest of them, as a length on the plate.
        away = (turn - turn_of(0) + between / 2) % between - between / 2
        mark = box(along - 90 + long / 2, along * np.radians(away), long / 2, wide / 2, 0.1)
        sheet.paint(within(mark, np.abs(turn) - SWEEP - 1), INK)
    for value in range(0, int(RANGE) + 1, 2):
        towards = math.radians(turn_of(value))
        at = AXLE[0] + 59 * math.sin(towards), AXLE[1] - 59 * math.cos(towards)
        sheet.paint(text(*sheet.frame(*at), str(value), 17, 3.0), INK)


def _print(sheet: Sheet) -> None:
    """The unit, and the maker's mark."""
    u, v = sheet.frame(AXLE[0], AXLE[1] + 64)
    sheet.paint(text(u, v, "bar", 20, 3.2), INK)
    u, v = sheet.frame(AXLE[0], AXLE[1] - 32)
    sheet.paint(disc(u, v, 10), DEEP)
    sheet.paint(star(u, v, 8), MUSTARD)
    u, v = sheet.frame(AXLE[0], AXLE[1] + 36)
    sheet.paint(box(u, v, 27, 7, 2), TEAL)
    sheet.paint(within(box(u, v, 24, 4.5, 1), stripes(u, 8, 3)), CREAM)


def needle(sheet: Sheet) -> None:
    """A tapered pointer with a ring for a counterweight, and the cap of the axle."""
    along, across = sheet.frame(*AXLE, -90)
    pointer = polygon(along, across, [(-26, -4.2), (0, -6.5), (82, -1.6), (82, 1.6), (0, 6.5), (-26, 4.2)])
    weight = disc(along + 28, across, 10)
    sheet.paint(joined(pointer, weight), INK)
    sheet.paint(disc(along + 28, across, 4.5), RED)
    sheet.paint(polygon(along, across, [(30, -1.6), (76, -0.7), (76, 0.7), (30, 1.6)]), RED)
    sheet.tin(disc(along, across, 11), BRASS, 7)
    sheet.paint(box(along, across, 7, 1.3, 0.6), INK)


def lever(sheet: Sheet) -> None:
    """The lever of the tap: red, with a white arrow, on a nut of steel."""
    along, across = sheet.frame(*TAP, -90)
    sheet.tin(limb(along, across, 82, 10, 14), mixed(RED, WHITE, stripes(along, 400, 5, 58), 0.9), 7)
    sheet.paint(polygon(along, across, [(92, 0), (76, -8), (76, 8)]), WHITE)
    sheet.paint(box(along - 40, across, 13, 2.2, 1), INK, 0.8)
    sheet.tin(star(along, across, 12, 6) - 1, STEEL, 5)
    sheet.paint(disc(along, across, 3), INK)


GAUGE = Figure(
    name="gauge",
    size=SIZE,
    groups=(Group("gauge", None),),
    pieces=(
        Piece("tap", "gauge", tap, (205, 115, 312, 190)),
        Piece("dial", "gauge", dial, (0, 0, 236, 236)),
        Piece("lever", "gauge", lever, (240, 40, 300, 180), TAP, 50),
        Piece(
            "needle",
            "gauge",
            needle,
            (96, 24, 136, 172),
            AXLE,
            SWEEP + SLACK,
            {"unit": "bar", "at": [[-SWEEP, 0], [SWEEP, RANGE]]},
        ),
    ),
)
