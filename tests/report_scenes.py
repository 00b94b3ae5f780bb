"""Reports on many scenes without a search: robots painted into photographs, and invented fits."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from detecting import photo, ready
from wherein.demo import ROBOT
from wherein.detect.explain.fit_trace import FitTrace, FitTraces, TraceStage
from wherein.detect.fast.assemble import Assembler
from wherein.detect.fast.pieces import Pieces
from wherein.detect.result import Detection, Detections
from wherein.images.picture import Picture
from wherein.report.page import page
from wherein.template import Template
from wherein.template.pose import frames, matrices, placed
from wherein.template.render import render

WIDTH, HEIGHT = 640, 480
PHOTOGRAPHS = ("coffee", "astronaut", "chelsea")
THRESHOLD = 0.5
SCORES = (0.96, 0.82, 0.91, 0.42, 0.0, 0.0, 0.88, 0.97, 0.79, 0.44, 0.0, 0.0)
"""Scores of the different scenes; further scenes repeat them. Every sixth scene cannot be read."""

DIFFERENT = len(SCORES)


class Replayed:
    """A detector with invented traces of fits, so that no fit is repeated for the report."""

    def __init__(self, template: Template) -> None:
        self._detector = ready(template)
        self._pieces = [piece.name for piece in Pieces.of(template).pieces]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._detector, name)

    def fit_traces(self, found: Detections) -> Sequence[FitTraces]:
        """Four levels with six rounds each, for every piece that was found."""
        losses = [math.exp(-0.17 * k) for k in range(28)]
        stages = tuple(
            TraceStage(scale, tuple(1 - loss for loss in losses[7 * k : 7 * k + 7]))
            for k, scale in enumerate((6, 3, 1.5, 1))
        )
        trace = FitTrace(stages, zncc=0.95, from_search=True)
        return [{name: trace for name in self._pieces if name in item.parts} for item in found]


@cache
def robot() -> Template:
    return replace(Template.load(ROBOT), source=None)


def pose(number: int) -> tuple[Any, dict[str, float]]:
    """The pose of the robot in a scene, and the turns of its joints."""
    template = robot()
    at = (250.0 + 30 * (number % 5), 220.0 + 12 * (number % 4))
    turns = {name: float((number * 13) % 21 - 10) for name, part in template.parts.items() if part.moves}
    return placed(37.0 * number, 0.7 + 0.1 * (number % 3), at, template.centre), turns


@cache
def robot_scene(number: int, score: float) -> Detections:
    """A scene with a robot that was found or nearly found, by its score; no robot if the score is 0."""
    template = robot()
    root, turns = pose(number)
    ground = photo(PHOTOGRAPHS[number % len(PHOTOGRAPHS)], WIDTH, HEIGHT, number)
    pixels = render(ground, template, matrices(template.parts, root, turns)) if score else ground
    hidden = template.parts.leaves[number % 5] if number % 2 else None
    leaves = {name: (0.9, name != hidden) for name in template.parts.leaves}
    item = Assembler(template)(frames(template.parts, root, turns), leaves, score)
    items: tuple[Detection, ...] = (item,) if score >= THRESHOLD else ()
    near = (item,) if 0 < score < THRESHOLD else ()
    return Detections(items, template.name, Picture(pixels, None), 0.1 + 0.01 * number, candidates=near)


def kind(number: int) -> str:
    """What a scene of `write_report` is: the CSS class of its card."""
    score = SCORES[number % DIFFERENT]
    if number % 6 == 5:
        return "error"
    return "found" if score >= THRESHOLD else "near" if score else "nothing"


def write_report(path: Path, scenes: int) -> Path:
    """Write a report on a number of scenes, whose names count down."""
    detector: Any = Replayed(robot())
    with page(path, robot(), scenes) as report:
        for number in range(scenes):
            name = f"photographs/scene {scenes - number}.jpg"
            if kind(number) == "error":
                report.unreadable(name, "the file ends too early: copy it again")
                continue
            report.add(name, robot_scene(number % DIFFERENT, SCORES[number % DIFFERENT]), detector)
    return path
