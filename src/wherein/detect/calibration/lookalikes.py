"""Which parts could be taken for one another, and which for themselves, turned."""

import math
from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.detect.fast.piece_search import EUCLIDEAN
from wherein.images.motif import Motif
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import MotifPyramid, Poses, ScenePyramid
from wherein.template.bundle import Template
from wherein.template.paint import paint
from wherein.template.pose import placed
from wherein.template.tree import Point

ALIKE = 0.6
"""ZNCC from which two parts are told as alike."""

_SIZES = 1.5
"""Parts that differ more in area are not compared: the smaller fits on a piece of anything."""

_APART, _LOOK = 15.0, 5.0
"""Degrees from which a turn counts as another pose, and from one look to the next."""


def alike(template: Template) -> list[tuple[str, str, float]]:
    """Pairs (a, b, ZNCC) where a's picture fits on b's, the most alike first; each pair once."""
    found: dict[tuple[str, str], float] = {}
    for a, b in permutations(template.parts.leaves, 2):
        first, second = template.parts[a].motif, template.parts[b].motif
        if first is None or second is None or not 1 / _SIZES < _area(first) / _area(second) < _SIZES:
            continue
        pair = (min(a, b), max(a, b))
        fit = _fit(first, second, _all_around(first, second), steps=20)
        found[pair] = max(found.get(pair, -1.0), float(fit.zncc.max()))
    alike_ones = [(a, b, round(zncc, 3)) for (a, b), zncc in found.items() if zncc >= ALIKE]
    return sorted(alike_ones, key=lambda pair: -pair[2])


def self_alike(motif: Motif, joint: Point | None = None, reach: float = 180.0) -> tuple[float, float]:
    """The other turn by which a motif looks most like itself, in degrees, and its ZNCC.

    Turns from which a descent comes name do not count: what changes slowly as it turns has but one best.

    Arguments:
        motif: what is turned.
        joint: what it turns about, in its own pixels; None: anything.
        reach: ± degrees.
    """
    turns, zncc = _about_joint(motif, joint, reach) if joint is not None else _at_rest(motif)
    zncc = np.where((np.abs(turns) >= _APART) & (np.abs(turns) <= reach + 1), zncc, -1.0)
    return float(turns[zncc.argmax()]), float(zncc.max())


def _at_rest(motif: Motif) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turns at which it rests on itself, and their ZNCC."""
    ended = _fit(motif, motif, _all_around(motif, motif), steps=20)
    return np.degrees(np.arctan2(ended.poses[:, 1, 0], ended.poses[:, 0, 0])), ended.zncc


def _about_joint(motif: Motif, joint: Point, reach: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turns about a joint, and their ZNCC where it is not less than at both turns beside."""
    count = int(min(reach, 180.0) / _LOOK)
    turns = np.linspace(-count * _LOOK, count * _LOOK, 2 * count + 1)
    poses: Poses = np.stack([placed(float(turn), 1.0, joint, joint) for turn in turns])
    zncc = np.pad(_fit(motif, motif, poses, steps=0).zncc, 1, constant_values=-1.0)
    best = (zncc[1:-1] >= zncc[:-2]) & (zncc[1:-1] >= zncc[2:])
    return turns, np.where(best, zncc[1:-1], -1.0)


def _area(motif: Motif) -> float:
    return float((motif.mask > 0.5).sum())


def _all_around(wanted: Motif, there: Motif) -> Poses:
    """Poses that put one motif's middle on the other's, 15° apart."""
    return np.stack([placed(float(angle), 1.0, there.centre, wanted.centre) for angle in range(0, 360, 15)])


def _fit(wanted: Motif, there: Motif, starts: Poses, steps: int) -> Fits:
    """How well one motif fits on the other, painted on its own mean colour.

    Arguments:
        wanted, there: the two.
        starts: the one's pixels → the other's; they are brought to rest.
        steps: of the descent, at half size; 0 only looks.
    """
    side = 2 * math.ceil(math.hypot(max(wanted.width, there.width), max(wanted.height, there.height)))
    mean = there.pixels[:, there.mask > 0.5].mean(1)
    middle = ((side - 1) / 2, (side - 1) / 2)
    at = placed(0.0, 1.0, middle, there.centre)
    ground = mean[:, None, None].expand(3, side, side)
    scene = ScenePyramid(paint(ground, there, torch.from_numpy(at)).contiguous())
    ended = descend(scene, MotifPyramid(wanted), EUCLIDEAN, Stage(2, steps), at @ starts)
    return Fits(np.linalg.inv(at) @ ended.poses, ended.zncc)
