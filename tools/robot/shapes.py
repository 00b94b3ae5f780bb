"""Shapes as signed distances in pixels, negative inside, and noise that is the same on every machine.

Every function takes coordinates as two arrays of one shape and gives an array of that shape.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]
Point = tuple[float, float]


def disc(u: Field, v: Field, radius: float) -> Field:
    """A disc about the origin."""
    return np.hypot(u, v) - radius


def ellipse(u: Field, v: Field, a: float, b: float) -> Field:
    """An ellipse about the origin with half axes `a` and `b`, to first order near its edge."""
    level = np.hypot(u / a, v / b)
    slope = np.hypot(u / a**2, v / b**2)
    return level * (level - 1) / np.maximum(slope, 1e-9)


def box(u: Field, v: Field, half_width: float, half_height: float, radius: float) -> Field:
    """A rectangle about the origin whose corners are rounded by `radius`."""
    beyond_u, beyond_v = np.abs(u) - half_width + radius, np.abs(v) - half_height + radius
    outside = np.hypot(np.maximum(beyond_u, 0), np.maximum(beyond_v, 0))
    return outside + np.minimum(np.maximum(beyond_u, beyond_v), 0) - radius


def limb(u: Field, v: Field, length: float, start: float, end: float) -> Field:
    """A rod along u from 0 to `length` with round ends of radius `start` and `end`."""
    along = np.clip(u / length, 0, 1)
    return np.hypot(u - along * length, v) - (start + (end - start) * along)


def polygon(u: Field, v: Field, corners: Sequence[Point]) -> Field:
    """A polygon, exactly."""
    nearest, inside = np.full_like(u, np.inf), np.zeros(u.shape, dtype=bool)
    for (u0, v0), (u1, v1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        du, dv = u1 - u0, v1 - v0
        along = np.clip(((u - u0) * du + (v - v0) * dv) / (du * du + dv * dv), 0, 1)
        nearest = np.minimum(nearest, np.hypot(u - u0 - along * du, v - v0 - along * dv))
        crosses = (v0 <= v) != (v1 <= v)
        inside ^= crosses & ((u - u0) * dv * np.sign(dv) < (v - v0) * du * np.sign(dv))
    return np.where(inside, -nearest, nearest)


def star(u: Field, v: Field, radius: float, points: int = 5) -> Field:
    """A star about the origin, one of its points up."""
    corners = [
        (reach * math.sin(turn), -reach * math.cos(turn))
        for i in range(2 * points)
        for reach, turn in [(radius * (0.45 if i % 2 else 1.0), math.pi * i / points)]
    ]
    return polygon(u, v, corners)


def heart(u: Field, v: Field, size: float) -> Field:
    """A heart about the origin, `size` from its middle to its tip."""
    turns = [2 * math.pi * i / 40 for i in range(40)]
    corners = [
        (
            size / 17 * 16 * math.sin(t) ** 3,
            -size / 17 * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)),
        )
        for t in turns
    ]
    return polygon(u, v, corners)


def ring(distance: Field, width: float) -> Field:
    """The line of a `width` along a shape's edge."""
    return np.abs(distance) - width / 2


def joined(*shapes: Field) -> Field:
    """The union."""
    return np.minimum.reduce(shapes)


def within(*shapes: Field) -> Field:
    """What is in all of them."""
    return np.maximum.reduce(shapes)


def without(shape: Field, *holes: Field) -> Field:
    """The first but for the others."""
    return np.maximum.reduce([shape, *(-hole for hole in holes)])


def stripes(u: Field, period: float, width: float, start: float = 0.0) -> Field:
    """Endless stripes of a `width` across u, one of them centred on `start`."""
    return np.abs((u - start + period / 2) % period - period / 2) - width / 2


def spots(u: Field, v: Field, period: float, radius: float) -> Field:
    """Spots in rows, every second row shifted by half a `period`."""
    row = np.floor(v / period)
    shifted = u + (row % 2) * period / 2
    return np.hypot((shifted % period) - period / 2, (v % period) - period / 2) - radius


def noise(u: Field, v: Field, seed: int) -> Field:
    """Smooth noise in [−1, 1] that varies over one unit of u and of v.

    By a hash of the whole-numbered points and not by a random generator, so that no release of numpy
    changes the drawing.
    """
    left, top = np.floor(u), np.floor(v)
    across, down = _ease(u - left), _ease(v - top)
    columns, rows = left.astype(np.int64), top.astype(np.int64)
    above = _hash(columns, rows, seed) * (1 - across) + _hash(columns + 1, rows, seed) * across
    below = _hash(columns, rows + 1, seed) * (1 - across) + _hash(columns + 1, rows + 1, seed) * across
    return above * (1 - down) + below * down


def _ease(t: Field) -> Field:
    return t * t * (3 - 2 * t)


def _hash(columns: NDArray[np.int64], rows: NDArray[np.int64], seed: int) -> Field:
    """A number in [−1, 1] for each point of the lattice."""
    mixed = columns.astype(np.uint32) * np.uint32(0x9E3779B1)
    mixed ^= rows.astype(np.uint32) * np.uint32(0x85EBCA77)
    mixed ^= np.uint32(seed * 0xC2B2AE3D & 0xFFFFFFFF)
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    mixed ^= mixed >> np.uint32(15)
    return mixed.astype(np.float64) / 0x7FFFFFFF - 1
