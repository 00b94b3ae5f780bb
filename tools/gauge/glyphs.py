"""Digits and letters as strokes, so that no font and no release of Pillow changes the drawing."""

import math
from itertools import pairwise

import numpy as np

from tools.robot.shapes import Field, Point, joined, limb

HEIGHT = 1.0
WIDTH = 0.58
"""Of a glyph: the unit of length is the height of a digit."""

ADVANCE = 0.8
"""From one glyph to the next."""

Stroke = list[Point]


def arc(x: float, y: float, a: float, b: float, start: float, end: float) -> Stroke:
    """Part of an ellipse about (x, y) with half axes a and b, between two angles in degrees, x towards y."""
    turns = np.radians(np.linspace(start, end, 13))
    return [(x + a * math.cos(turn), y + b * math.sin(turn)) for turn in turns]


_MIDDLE = WIDTH / 2

GLYPHS: dict[str, list[Stroke]] = {
    "0": [arc(_MIDDLE, 0.5, _MIDDLE, 0.5, 0, 360)],
    "1": [[(0.1, 0.2), (0.34, 0.0), (0.34, 1.0)]],
    "2": [[*arc(_MIDDLE, 0.28, _MIDDLE, 0.28, -180, 30), (0.0, 1.0), (WIDTH, 1.0)]],
    "4": [[(0.44, 1.0), (0.44, 0.0), (0.0, 0.7), (WIDTH, 0.7)]],
    "6": [arc(_MIDDLE, 0.7, _MIDDLE, 0.3, 0, 360), [(0.46, 0.0), (0.14, 0.34), (0.01, 0.66)]],
    "8": [arc(_MIDDLE, 0.25, 0.25, 0.25, 0, 360), arc(_MIDDLE, 0.74, _MIDDLE, 0.26, 0, 360)],
    "a": [arc(_MIDDLE, 0.7, _MIDDLE, 0.3, 0, 360), [(WIDTH, 0.38), (WIDTH, 1.0)]],
    "b": [arc(_MIDDLE, 0.7, _MIDDLE, 0.3, 0, 360), [(0.0, 0.0), (0.0, 1.0)]],
    "r": [[(0.05, 0.38), (0.05, 1.0)], arc(0.3, 0.64, 0.25, 0.26, -180, -50)],
}
"""In a box from (0, 0) to (WIDTH, HEIGHT), y down."""


def text(u: Field, v: Field, words: str, height: float, weight: float) -> Field:
    """Words about the origin.

    Arguments:
        u, v: coordinates, to the right and down.
        words: of characters in `GLYPHS`.
        height: of a digit.
        weight: the width of a stroke.
    """
    width = (len(words) - 1) * ADVANCE + WIDTH
    # Only near the words: everywhere else it is enough to know that they are far, and much quicker.
    near = np.hypot(u, v) < (width + HEIGHT) * height / 2 + weight
    shape = np.full_like(u, height)
    strokes = [
        [_placed(point, number, width, height) for point in stroke]
        for number, letter in enumerate(words)
        for stroke in GLYPHS[letter]
    ]
    lines = (ends for stroke in strokes for ends in pairwise(stroke))
    shape[near] = joined(*(_segment(u[near], v[near], start, end, weight) for start, end in lines))
    return shape


def _placed(point: Point, number: int, width: float, height: float) -> Point:
    x, y = point
    return (x + number * ADVANCE - width / 2) * height, (y - HEIGHT / 2) * height


def _segment(u: Field, v: Field, start: Point, end: Point, weight: float) -> Field:
    du, dv = end[0] - start[0], end[1] - start[1]
    length = math.hypot(du, dv)
    x, y = u - start[0], v - start[1]
    along, across = (x * du + y * dv) / length, (y * du - x * dv) / length
    return limb(along, across, length, weight / 2, weight / 2)
