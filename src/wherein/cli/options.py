"""Options that several commands have, and the values that they may take."""

import math
from enum import StrEnum
from typing import Annotated

import typer

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no messages: results and errors only.")
]
"""Every command has it, so that scripts can give it to all."""

Json = Annotated[bool, typer.Option("--json", help="One JSON object in place of words.")]


def _rotation(rotation: float) -> float:
    if not 0 <= rotation <= 180:
        raise typer.BadParameter(f"{rotation:g}: give the degrees to search to either side, 0 to 180")
    return rotation


def _count(count: int | None) -> int | None:
    if count is not None and count < 1:
        raise typer.BadParameter(f"{count}: give a positive whole number, or leave it out for all")
    return count


def _scale(scale: tuple[float, float]) -> tuple[float, float]:
    low, high = scale
    if not 0 < low <= high < math.inf:
        raise typer.BadParameter(f"{low:g} {high:g}: give the lowest and the highest, 0 < lowest ≤ highest")
    return scale


def _threshold(threshold: float | None) -> float | None:
    if threshold is not None and not 0 < threshold < 1:
        raise typer.BadParameter(f"{threshold:g}: give a score between 0 and 1, or leave it out")
    return threshold


# What is wrong with a number is said here, at once: before the detector could say it, torch must be loaded.
Rotation = Annotated[float, typer.Option(callback=_rotation, help="Degrees to search to either side.")]
Scale = Annotated[tuple[float, float], typer.Option(callback=_scale, help="Lowest and highest scale.")]
Threshold = Annotated[
    float | None, typer.Option(callback=_threshold, help="The least score; calibrated by default.")
]
MaxInstances = Annotated[int | None, typer.Option(callback=_count, help="The most to tell of a scene.")]


class Format(StrEnum):
    """Formats of others in which `wherein detect` can write what it found."""

    COCO = "coco"
    CSV = "csv"
    LABELME = "labelme"


SUFFIXES = {Format.COCO: ".json", Format.CSV: ".csv"}
"""Of the formats that are one file; labelme's is a folder with a file a scene."""
