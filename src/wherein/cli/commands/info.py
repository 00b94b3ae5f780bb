"""`wherein info`: what is here, and what is missing."""

import typer

from wherein.cli.options import Json, Quiet
from wherein.cli.output import say


def info(as_json: Json = False, quiet: Quiet = False) -> None:
    """Tell versions, the C kernel, threads, where calibrations are kept, and which extras are missing.

    Example: wherein info --json
    """
    from wherein.cli.inventory import describe, inventory

    told = inventory()
    if as_json:
        say(told)
        return
    for line in describe(told):
        typer.echo(line)
