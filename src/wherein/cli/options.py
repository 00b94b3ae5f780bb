"""Options that several commands have, and the values that they may take."""

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from wherein.formats.table import BY_EXTENSION, FORMATS

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


if TYPE_CHECKING:
    FormatName: TypeAlias = str
else:  # typer takes the choices of an option from an Enum, and mypy cannot follow one made from a table
    FormatName = StrEnum("FormatName", {name.upper(): name for name in FORMATS})

_FOLDER_FORMATS = ", ".join(entry.name for entry in FORMATS.values() if entry.file_per_scene)

Export = Annotated[
    Path | None,
    typer.Option(
        help=f"Export the detections to this {' or '.join(BY_EXTENSION)} file, or folder ({_FOLDER_FORMATS})."
    ),
]
ExportFormat = Annotated[
    FormatName | None,
    typer.Option("--format", help="Format of the export. By default its file extension decides."),
]
