"""`wherein`: the program and its commands.

Nothing slow is imported here: torch is loaded only when a command starts its work.
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
    """A command that turns errors into exit statuses, and whose help names arguments in the usual way.

    Typer would show `{TEMPLATE} {SCENE}... <list[str]>`; here it is `TEMPLATE SCENE...`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; say what is wrong with it as `wherein` does, and not as pydantic."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if "unable to parse" in error.message:
                error.message = _needed_numbers(error.param)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; every error that it raises becomes an exit status here, and only here."""
        with errors_as_exit_status():
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the name of the command in the line `Usage:`."""
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
    """What an option wants that was given something else: another option, or numbers with commas."""
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
    """Run the program: the console script and `python -m wherein`, under one name in help and completion."""
    # OpenCV and FFmpeg print what goes wrong with a video beside the error of `wherein`, which says the same.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    with clean_exit():
        app(prog_name="wherein")
