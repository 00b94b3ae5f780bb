"""`wherein info`: show installed and missing components."""

from wherein.cli.console import Console
from wherein.cli.options import Json, Quiet


def info(as_json: Json = False, quiet: Quiet = False) -> None:
    """Show versions, the C kernel, folders and missing extras.

    Example: wherein info --json
    """
    from wherein.cli.inventory import describe, inventory

    console, found = Console(quiet), inventory()
    if as_json:
        console.result(found)
        return
    for line in describe(found):
        console.text(line)
