"""`wherein demo`: what it can do, on a photograph."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.options import Quiet
from wherein.cli.output import USAGE, stop
from wherein.errors import WhereinError


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another pose, light and noise for each seed.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let files be replaced.")] = False,
    quiet: Quiet = False,
) -> None:
    """Find robots of moving parts in a photograph; write what was found as pictures and a page.

    Example: wherein demo --out demo
    """
    from wherein.cli import show

    try:
        show.check(out, overwrite)
        show.demo(out, seed, _nobody if quiet else typer.echo, quiet)
    except WhereinError as error:
        stop(str(error), USAGE)


def _nobody(line: str) -> None:
    """Is told, and says nothing."""
