"""Arguments and options of several commands, and the checks of their values."""

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from wherein.engine.manifest import Portion
from wherein.errors import ArgumentError
from wherein.formats.registry import BY_EXTENSION, FORMATS
from wherein.memory import bytes_of
from wherein.thresholds import MAX_SCALE, MIN_SCALE, MinScore

CheckedPath = Annotated[
    str,
    typer.Argument(
        metavar="TEMPLATE",
        help="Template: a folder with template.json, a .zip of one, or a picture. Or a folder of these: each "
        "is checked.",
    ),
]

LibraryPath = Annotated[
    str,
    typer.Argument(
        metavar="TEMPLATE",
        help="Template: a folder with template.json, a .zip of one, or a picture. Or a folder of these: each "
        "detection then says its template.",
    ),
]

CalibratedPath = Annotated[
    str,
    typer.Argument(
        metavar="TEMPLATE",
        help="Template: a folder with template.json, a .zip of one, or a picture. Or a folder of these: each "
        "is calibrated.",
    ),
]

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only results and errors, no progress or messages.")
]
"""Every command has this option, so that scripts can always pass it."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

JsonLines = Annotated[
    bool,
    typer.Option("--json", help="Print JSON on a terminal too. Into a file or a pipe it is always JSON."),
]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]

Draw = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help="Draw the results: a folder, or a picture file if there is only one to draw."
    ),
]
"""The same option for every command that draws."""

Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]


Box = tuple[int, int, int, int]
"""x, y, width and height in pixels."""


def _rotation(rotation: float) -> float:
    if not 0 <= rotation <= 180:
        raise typer.BadParameter(f"{rotation:g} is not allowed: use 0 to 180 degrees.")
    return rotation


def _count(count: int | None) -> int | None:
    if count is not None and count < 1:
        raise typer.BadParameter(f"{count} is not allowed: use 1 or more, or omit the option.")
    return count


def _scale(scale: tuple[float, float]) -> tuple[float, float]:
    low, high = scale
    if not 0 < low <= high < math.inf:
        raise typer.BadParameter(f"{low:g} {high:g} is not allowed: use two numbers with 0 < LOW ≤ HIGH.")
    if low < MIN_SCALE or high > MAX_SCALE:
        percent = low >= 10  # probably percentages, such as 80 120
        hint = f" Did you mean {low / 100:g} {high / 100:g}?" if percent else ""
        raise typer.BadParameter(
            f"{low:g} {high:g} is not allowed: scales are factors from {MIN_SCALE:g} to {MAX_SCALE:g}, "
            f"as in 0.8 1.25.{hint}"
        )
    return scale


def _tilt(tilt: float) -> float:
    if not 0 <= tilt <= 70:
        raise typer.BadParameter(f"{tilt:g} is not allowed: use 0 to 70 degrees.")
    return tilt


def _overlap(overlap: float | None) -> float | None:
    if overlap is not None and not 0 <= overlap <= 1:
        raise typer.BadParameter(f"{overlap:g} is not allowed: use a fraction from 0 to 1.")
    return overlap


def _region(region: Box | None) -> Box | None:
    if region is not None and min(region[2:]) < 1:
        given = " ".join(map(str, region))
        raise typer.BadParameter(f"{given} is empty: use X Y WIDTH HEIGHT in pixels, at least 1 × 1.")
    return region


def _threshold(text: str) -> MinScore:
    try:
        return MinScore.of(text)
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from error


def _memory(text: str) -> int:
    try:
        return bytes_of(text)
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from error


# The detector checks these numbers too. The checks here report errors before torch is loaded.
Rotation = Annotated[
    float,
    typer.Option(
        callback=_rotation, metavar="DEGREES", help="Search rotations from -DEGREES to +DEGREES (0 to 180)."
    ),
]
Scale = Annotated[
    tuple[float, float],
    typer.Option(
        callback=_scale,
        metavar="LOW HIGH",
        help="Smallest and largest scale to search.",
        show_default="0.5 2",
    ),
]
Tilt = Annotated[
    float,
    typer.Option(
        callback=_tilt,
        metavar="DEGREES",
        help="Search tilts of up to DEGREES out of the picture plane (0 to 70). 0 is faster: use it for "
        "screens, and for cameras that face the object.",
    ),
]
Threshold = Annotated[
    MinScore | None,
    typer.Option(
        parser=_threshold,
        metavar="SCORE",
        help="Minimum score of a detection, between 0 and 1; or the rate of false alarms that is allowed, "
        "per megapixel, as in 0.01/MP.",
        show_default="from the calibration",
    ),
]
Overlap = Annotated[
    float | None,
    typer.Option(
        callback=_overlap,
        metavar="FRACTION",
        help="How much of a detection others may cover, from 0 to 1.",
        show_default="0.5",
    ),
]


class Polarity(StrEnum):
    """Whether objects with inverted contrast are found too, such as white print on black."""

    SAME = "same"
    ANY = "any"


PolarityChoice = Annotated[
    Polarity | None,
    typer.Option(
        "--polarity",
        help="Contrast of the object: as in the template, or also inverted.",
        show_default="same",
    ),
]
Region = Annotated[
    Box | None,
    typer.Option(callback=_region, metavar="X Y WIDTH HEIGHT", help="Search this part of each scene only."),
]
Memory = Annotated[
    int | None,
    typer.Option(
        parser=_memory,
        metavar="SIZE",
        help="Maximum memory of each process, such as 4GB. A scene that would take more is searched in "
        "overlapping tiles; TIFF and OME-Zarr are then read by region.",
        show_default="4GB for scenes of more than 200 megapixels, else no limit",
    ),
]
MaxInstances = Annotated[
    int | None,
    typer.Option(
        callback=_count,
        metavar="N",
        help="Maximum number of detections per scene.",
        show_default="no limit",
    ),
]


Workers = Annotated[
    int | None,
    typer.Option(
        callback=_count,
        metavar="N",
        help="Number of processes that search scenes side by side.",
        show_default="1, or with Ray the CPUs of the cluster",
    ),
]


TemplateWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        callback=_count,
        metavar="N",
        help="Number of templates of a folder that are calibrated at the same time.",
        show_default="1",
    ),
]


class Engine(StrEnum):
    """The place of workers: this machine, or a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


EngineChoice = Annotated[
    Engine, typer.Option(help="Where workers are: on this machine, or on a Ray cluster.")
]


def _portion(text: str) -> Portion:
    try:
        return Portion.of(text)
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from error


Shard = Annotated[
    Portion | None,
    typer.Option(
        parser=_portion,
        metavar="I/N",
        help="Search only the I-th of N equal parts of the scenes, for schedulers such as Slurm.",
        show_default="all scenes",
    ),
]


if TYPE_CHECKING:
    FormatName: TypeAlias = str
else:  # typer takes the choices of an option from an Enum; mypy does not support an Enum made from a table
    FormatName = StrEnum("FormatName", {name.upper(): name for name in FORMATS})

# From the registry, so that a new format needs no change here.
_FOLDER_FORMATS = ", ".join(entry.name for entry in FORMATS.values() if entry.file_per_scene)

Export = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help=f"Export the detections to a {' or '.join(BY_EXTENSION)} file, or to a folder "
        f"({_FOLDER_FORMATS}).",
    ),
]
ExportFormat = Annotated[
    FormatName | None,
    typer.Option("--format", help="Format of the export.", show_default="from the file extension"),
]
