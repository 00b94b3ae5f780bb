"""`wherein detect`: find a template in many scenes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wherein.cli.console import Console
from wherein.cli.options import (
    Draw,
    Engine,
    EngineChoice,
    Export,
    ExportFormat,
    JsonLines,
    LibraryPath,
    MaxInstances,
    Memory,
    Overlap,
    Overwrite,
    PolarityChoice,
    Quiet,
    Region,
    Rotation,
    Scale,
    Shard,
    Threshold,
    Tilt,
    Workers,
)
from wherein.engine.manifest import ALL

if TYPE_CHECKING:
    from wherein.cli.input_files import SceneList


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
    memory: Memory = None,
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Search the subfolders of a folder too.")
    ] = False,
    draw: Draw = None,
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
    as_json: JsonLines = False,
    workers: Workers = None,
    engine: EngineChoice = Engine.LOCAL,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="With --engine ray: address of the cluster; it needs --resume.",
            show_default="a cluster on this machine",
        ),
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="With --engine ray: start Ray's dashboard, on this machine.")
    ] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep finished scenes in this folder, and continue there if the same command was stopped.",
        ),
    ] = None,
    shard: Shard = None,
    fail_if_none: Annotated[
        bool, typer.Option("--fail-if-none", help="Exit with status 1 if nothing is found.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Find one or several templates in pictures and videos.

    Prints one JSON object per line: a line for each picture, or for each frame of a video. On a terminal it
    prints a table instead, unless --json is given.

    Example: wherein detect robot photographs/ --report found.html
    """
    from wherein.cli.input_files import check_order, list_scenes
    from wherein.cli.output_files import OutputFiles
    from wherein.engine.engine_options import EngineOptions
    from wherein.engine.manifest import has_begun

    # All checks come before `detect_run` is imported, which loads torch.
    resumed = resume is not None and has_begun(resume)
    outputs = OutputFiles(draw, report, maps, overwrite, export, export_format, resumed)
    outputs.check()
    outputs.check_apart([Path(scene) for scene in scenes if Path(scene).is_dir()], recursive)
    check_order(template, scenes)
    console, listed = Console(quiet, as_json), list_scenes(scenes, recursive)
    use_ray = engine is Engine.RAY
    shared = EngineOptions(workers, use_ray, address, dashboard, resume, shard or ALL)
    shared.check(listed.scenes)
    _check_any(template, listed, console)
    for line in listed.skipped_messages:
        console.message(line)
    from wherein.cli.detect_run import DetectRun, SearchOptions

    options = SearchOptions(
        rotation, scale, tilt, max_instances, overlap, None if polarity is None else str(polarity), memory
    )
    run = DetectRun(Path(template), options, outputs, console, threshold, region, shared)
    raise typer.Exit(run(listed).exit_status(fail_if_none))


def _check_any(template: str, listed: "SceneList", console: Console) -> None:
    """Exit, before torch is loaded, if there is no template or no scene."""
    from wherein.cli.input_files import check_template_path
    from wherein.cli.scene_totals import Totals

    check_template_path(template)
    if any(scene.error is None for scene in listed.scenes):
        return
    totals = Totals(unreadable=len(listed.scenes))
    for scene in listed.scenes:
        console.unreadable("scene", str(scene.path), scene.error or "")
    console.message(totals.summary(listed.skipped_summary))
    raise typer.Exit(totals.exit_status(fail_if_none=False))
