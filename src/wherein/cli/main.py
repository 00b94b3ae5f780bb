"""`wherein`: the program and its commands.

This module imports nothing slow: torch is loaded only when a command starts its work.
"""

import os
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from wherein.cli.commands.calibrate_command import calibrate
from wherein.cli.commands.demo_command import demo
from wherein.cli.commands.detect_command import detect
from wherein.cli.commands.info_command import info
from wherein.cli.commands.register_command import register
from wherein.cli.commands.reproduce_command import reproduce
from wherein.cli.commands.studio_command import studio
from wherein.cli.commands.template_command import check, new
from wherein.cli.console import clean_exit, errors_as_exit_status


class Command(TyperCommand):
    """A command that converts errors to exit statuses, and has the usual notation of arguments in its help.

    Typer would show `{TEMPLATE} {SCENE}... <list[str]>` instead of `TEMPLATE SCENE...`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; messages of errors are in the style of `wherein`, and not of pydantic."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            # The message of pydantic names neither the number of values nor how they are separated.
            if "unable to parse" in error.message:
                error.message = _needed_numbers(error.param)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and convert its errors to exit statuses."""
        with errors_as_exit_status():
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the name of the command in the line `Usage:`."""
        arguments = [(_name(p), p.required) for p in self.params if p.param_type_name == "argument"]
        return ["[OPTIONS]", *(name if required else f"[{name}]" for name, required in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections `Arguments` and `Options` of the help."""
        parameters: list[Any] = self.get_params(ctx)
        arguments = [(_name(p), p.help) for p in parameters if p.param_type_name == "argument"]
        options = [p.get_help_record(ctx) for p in parameters if p.param_type_name == "option"]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _needed_numbers(option: Any) -> str:
    """A message about the values that an option needs, if it was followed by something else.

    That is often another option, or numbers that are separated by commas.
    """
    needed = "a number" if option.nargs == 1 else f"{option.nargs} numbers, with spaces between them"
    return f"it needs {needed}: {option.opts[0]} {option.metavar or 'N'}"


def _name(argument: Any) -> str:
    return f"{argument.metavar}{'...' if argument.nargs == -1 else ''}"


def _group(name: str, title: str) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=title,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help: importing rich takes longer than everything else here
    )


app = _group("wherein", "Find objects in pictures and measure their pose, part by part.")


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Handle the options of `wherein` itself."""
    if version:
        from wherein import __version__

        typer.echo(f"wherein {__version__}")
        raise typer.Exit


for command in (detect, register, calibrate, studio, reproduce, demo, info):
    app.command(cls=Command)(command)
template = _group("template", "Make and check templates.")
template.command(cls=Command)(new)
template.command(cls=Command)(check)
app.add_typer(template)


def main() -> None:
    """Run the program, for the console script and `python -m wherein`, with the same name in help."""
    # OpenCV and FFmpeg print errors of videos themselves, besides the error message of `wherein`.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    with clean_exit():
        app(prog_name="wherein")
