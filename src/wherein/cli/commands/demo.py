"""`wherein demo`: what it can do, on a photograph."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.output import USAGE, stop
from wherein.errors import WhereinError


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Another pose, light and noise for each seed.")] = 0,
) -> None:
    """Find robots of moving parts in a photograph; write what was found as pictures and a page.

    Example: wherein demo --out demo
    """
    from wherein.cli import show

    try:
        show.demo(out, seed, typer.echo)
    except WhereinError as error:
        stop(str(error), USAGE)
