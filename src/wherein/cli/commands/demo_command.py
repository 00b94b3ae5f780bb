"""`wherein demo`: a demonstration on a photograph."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import Console
from wherein.cli.options import Overwrite, Quiet, Seed


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write to.")] = Path("demo"),
    pictures: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Only write pictures to try wherein with: photographs of a cup and of a pressure gauge, "
            "each with others to find it in.",
        ),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find three robots in a photograph, and read a pressure gauge.

    Prints how accurate the poses and the reading are, and writes pictures and reports.

    Example: wherein demo --out demo
    """
    from wherein.cli.demo_run import check_target, run_demo, write_pictures

    console = Console(quiet)
    if pictures is not None:
        lines = write_pictures(pictures, overwrite)
    else:
        check_target(out, overwrite)
        lines = run_demo(out, seed, console)
    for line in lines:
        if not quiet:
            console.text(line)
