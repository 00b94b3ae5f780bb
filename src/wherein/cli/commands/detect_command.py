"""`wherein detect`: find a template in many scenes."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import Console
from wherein.cli.options import (
    Export,
    ExportFormat,
    LibraryPath,
    MaxInstances,
    Overlap,
    Overwrite,
    PolarityChoice,
    Quiet,
    Region,
    Rotation,
    Scale,
    Threshold,
    Tilt,
)


def detect(
    template: LibraryPath,
    scenes: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENE", help="Picture, video, folder or glob pattern; camera:0 is the first camera."
        ),
    ],
    rotation: Rotation = 180.0,
    scale: Scale = (0.5, 2.0),
    tilt: Tilt = 40.0,
    region: Region = None,
    threshold: Threshold = None,
    max_instances: MaxInstances = None,
    overlap: Overlap = None,
    polarity: PolarityChoice = None,
    draw: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write an annotated copy of each scene to this folder."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML report on all scenes to this file.")
    ] = None,
    maps: Annotated[
        bool,
        typer.Option(
            "--maps",
            help="Add occurrence maps to the report: how well the object fits at each position.",
        ),
    ] = False,
    export: Export = None,
    export_format: ExportFormat = None,
    overwrite: Overwrite = False,
    fail_if_none: Annotated[
        bool, typer.Option("--fail-if-none", help="Exit with status 1 if nothing is found.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Find a template, or each of a folder of templates, in pictures and videos.

    Prints one JSON object per line: a line for each picture, or for each frame of a video.

    Example: wherein detect robot photographs/ --report found.html
    """
    from wherein.cli.detect_run import DetectRun, SearchOptions
    from wherein.cli.input_files import list_scenes, load_library
    from wherein.cli.output_files import OutputFiles

    outputs = OutputFiles(draw, report, maps, overwrite, export, export_format)
    outputs.check()
    options = SearchOptions(
        rotation, scale, tilt, max_instances, overlap, None if polarity is None else str(polarity)
    )
    run = DetectRun(load_library(template), options, outputs, Console(quiet), threshold, region)
    totals = run(list(list_scenes(scenes)))
    raise typer.Exit(totals.exit_status(fail_if_none))
