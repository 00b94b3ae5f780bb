"""`wherein reproduce`: the paper's experiments."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.options import Quiet
from wherein.cli.output import UNREADABLE, USAGE, stop
from wherein.errors import LostError, PictureError, TemplateError, WhereinError
from wherein.experiments import Name


def reproduce(
    figure: Annotated[Name, typer.Argument(help="Which experiment of the paper.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs: under a minute.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="A folder with another template, and beach.jpg to put it in.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("figures"),
    seed: Annotated[int, typer.Option(help="Of everything random: the same seed, the same numbers.")] = 0,
    images: Annotated[int | None, typer.Option(help="How many images of each kind (fig1).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let it replace files.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the paper; write its numbers as JSON and its figure as a picture.

    A run that was stopped goes on where it was when the same command is given again.

    Example: wherein reproduce fig4 --quick --out figures
    """
    from wherein.cli import waiting
    from wherein.cli.places import writing
    from wherein.experiments.runs.experiment import experiment_named
    from wherein.experiments.runs.reproduction import Request
    from wherein.experiments.runs.reproduction import reproduce as run

    if data is not None and not experiment_named(figure).pictured and not quiet:
        typer.echo(f"{figure} has no pictures in it: --data changes nothing", err=True)
    request = Request(figure, out, data, seed, quick, images, overwrite)
    try:
        with writing(out), waiting.progress(figure, quiet) as progress:
            written = run(request, progress)
    except (TemplateError, PictureError) as error:
        stop(str(error), UNREADABLE)
    except LostError as error:
        stop(f"{error} The same command goes on from what {request.journal} has", USAGE)
    except WhereinError as error:
        stop(str(error), USAGE)
    except KeyboardInterrupt:
        typer.echo(f"the same command goes on from what {request.journal} has", err=True)
        raise
    for path in written:
        typer.echo(str(path))
