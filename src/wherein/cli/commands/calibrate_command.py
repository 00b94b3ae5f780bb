"""`wherein calibrate`: measure the scores of a template with and without the object."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import USAGE, Console, stop
from wherein.cli.options import CalibratedPath, Json, Quiet, Rotation, Scale, TemplateWorkers, Tilt


def calibrate(
    template: CalibratedPath,
    backgrounds: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Pictures like your scenes, but without the object.",
            show_default="synthetic clutter",
        ),
    ] = None,
    rotation: Rotation = 180.0,
    scale: Scale = (0.5, 2.0),
    tilt: Tilt = 40.0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Calibrate again, replacing the stored calibration.")
    ] = False,
    workers: TemplateWorkers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the scores of a template with and without the object.

    Stores the result, including the threshold, for `detect` with the same rotation, scale and tilt. `detect`
    calibrates a template on first use. Use this command to calibrate with your own backgrounds, or to see
    the numbers.

    Example: wherein calibrate robot --backgrounds photographs/
    """
    from wherein.cli.input_files import check_backgrounds, check_template_path

    check_template_path(template)
    if backgrounds is not None:
        check_backgrounds(backgrounds)
    from wherein.cli.calibrate_run import CalibrateRun, describe, to_record
    from wherein.cli.input_files import load_library
    from wherein.detect.arguments import checked_range

    console, library = Console(quiet), load_library(template)
    ranges = {one.name: checked_range(rotation, scale, tilt, one) for one in library.templates}
    run, status = CalibrateRun(template, ranges, backgrounds, overwrite, console), 0
    for result in run(library.templates, workers or 1):
        if as_json:
            console.result(to_record(result))
        else:
            for line in describe(result):
                console.text(line)
        if result.path is None:
            stop(
                "cannot store the calibration: neither the template's folder nor the cache folder is "
                "writable",
                USAGE,
            )
        status = max(status, result.exit_status)
    raise typer.Exit(status)
