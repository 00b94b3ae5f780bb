"""`wherein`: the commands and their arguments.

Nothing heavy is imported here: torch comes in only when work starts.
"""

from typing import Annotated

import typer

from wherein.cli.commands.calibrate import calibrate
from wherein.cli.commands.demo import demo
from wherein.cli.commands.detect import detect
from wherein.cli.commands.info import info
from wherein.cli.commands.register import register
from wherein.cli.commands.reproduce import reproduce
from wherein.cli.commands.studio import studio
from wherein.cli.commands.template import template
from wherein.cli.output import heard

app = typer.Typer(
    name="wherein",
    help="Find where in a picture a thing is, by optimisation over transformations.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich alone would take longer to import than all else
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)
    ] = False,
) -> None:
    """Find where in a picture a thing is, by optimisation over transformations."""
    if version:
        from wherein import __version__

        typer.echo(f"wherein {__version__}")
        raise typer.Exit


for command in (detect, register, calibrate, studio, reproduce, demo, info):
    app.command()(command)
app.add_typer(template)


def main() -> None:
    """The console script, and `python -m wherein`, which goes by the same name in help and completion."""
    with heard():
        app(prog_name="wherein")
