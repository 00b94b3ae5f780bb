"""`wherein reproduce`: run the experiments of the paper."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import Console, UnreadableError
from wherein.cli.options import Overwrite, Quiet, Seed
from wherein.errors import PictureError, TemplateError, WorkerError
from wherein.experiments import Name


def reproduce(
    figure: Annotated[Name, typer.Argument(metavar="FIGURE", help=f"Experiment: {', '.join(Name)}.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs, in less than a minute.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with another template, and its background beach.jpg.",
            show_default="the robot",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write to.")] = Path("figures"),
    seed: Seed = 0,
    images: Annotated[
        int | None, typer.Option(metavar="N", help="Number of images of each kind (fig1 and fig5).")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment from the paper.

    Writes its numbers as JSON and its figure as a picture. If it is interrupted, run the same command again
    to continue.

    Example: wherein reproduce fig4 --quick --out figures
    """
    from wherein.experiments.runs.experiment import experiment_named
    from wherein.experiments.runs.reproduction import Request
    from wherein.experiments.runs.reproduction import reproduce as run
    from wherein.files import write_errors

    console = Console(quiet)
    if data is not None and not experiment_named(figure).pictured:
        console.message(f"{figure} uses no pictures: --data is ignored")
    request = Request(figure, out, data, seed, quick, images, overwrite)
    try:
        with write_errors(out), console.progress(figure) as progress:
            written = run(request, progress)
    except (TemplateError, PictureError) as error:
        raise UnreadableError("data", data or out, error) from error
    except WorkerError as error:
        raise WorkerError(f"{error} Run the same command to continue from {request.journal}") from error
    except KeyboardInterrupt:
        console.message(f"Run the same command to continue from {request.journal}")
        raise
    for path in written:
        console.text(str(path))
