"""`wherein calibrate`: what a template's scores stand for."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.options import Json, Quiet, Rotation, Scale
from wherein.cli.output import UNREADABLE, USAGE, say, stop
from wherein.errors import WhereinError


def calibrate(
    template: Annotated[str, typer.Argument(help="A folder with template.json, or a .zip of it.")],
    backgrounds: Annotated[
        Path | None, typer.Option(help="A folder of pictures like the scenes, without the object.")
    ] = None,
    rotation: Rotation = 180.0,
    scale: Scale = (1.0, 1.0),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Make anew what is kept.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure what a template's scores stand for, and keep that for `detect` with the same range.

    Example: wherein calibrate robot --backgrounds photographs/
    """
    from wherein.cli import calibrating, waiting
    from wherein.cli.detecting import load_template
    from wherein.cli.work import UnreadableError
    from wherein.detect.detector import checked_range

    def warn(words: str) -> None:
        if not quiet:
            typer.echo(f"wherein: {words}", err=True)

    try:
        wanted = load_template(template)
        ranges = checked_range(rotation, scale, wanted)
        with waiting.progress(f"calibrating {wanted.name}", quiet) as progress:
            made = calibrating.calibrated(wanted, ranges, backgrounds, overwrite, progress, warn)
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    if as_json:
        say(calibrating.record(made))
    else:
        for line in calibrating.in_words(made):
            typer.echo(line)
    if made.place is None:
        stop("the calibration could not be kept: neither beside the template nor in the user's cache", USAGE)
    raise typer.Exit(made.status)
