"""`wherein detect`: a template in many scenes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wherein.cli.options import Export, ExportFormat, MaxInstances, Quiet, Rotation, Scale, Threshold
from wherein.cli.output import NONE_FOUND, UNREADABLE, USAGE, say, stop
from wherein.errors import WhereinError


def detect(
    template: Annotated[str, typer.Argument(help="A folder with template.json, or a .zip of it.")],
    scenes: Annotated[
        list[str], typer.Argument(help="Pictures, videos, folders or globs; camera:0.", metavar="SCENE…")
    ],
    rotation: Rotation = 180.0,
    scale: Scale = (1.0, 1.0),
    max_instances: MaxInstances = None,
    threshold: Threshold = None,
    draw: Annotated[
        Path | None, typer.Option(help="Write a picture (or video) of each scene to this folder.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about all scenes to this .html.")] = None,
    maps: Annotated[bool, typer.Option("--maps", help="Put occurrence maps into the page.")] = False,
    export: Export = None,
    export_format: ExportFormat = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let files be replaced.")] = False,
    fail_if_none: Annotated[bool, typer.Option("--fail-if-none", help="Exit 1 if nothing is found.")] = False,
    quiet: Quiet = False,
) -> None:
    """Find a template of moving parts in pictures: one JSON object a line, a line a scene or a frame.

    Example: wherein detect robot photographs/ --report found.html
    """
    from wherein.cli import detecting, waiting
    from wherein.cli.scenes import given
    from wherein.cli.targets import Outputs
    from wherein.cli.work import UnreadableError
    from wherein.detect.detector import Detector

    outputs, pictures = Outputs(draw, report, maps, overwrite, export, export_format), list(given(scenes))

    def make() -> Detector:
        bar.hide()
        with waiting.progress("calibrating, once for this template", quiet) as progress:
            return Detector(wanted, rotation, scale, max_instances, threshold=threshold, progress=progress)

    def tell(record: dict[str, Any]) -> None:
        bar.hide()
        say(record)

    def note(text: str) -> None:
        if not quiet:
            bar.hide()
            typer.echo(text, err=True)

    try:
        outputs.check()
        wanted = detecting.load_template(template)
        with waiting.counted(len(pictures), quiet) as bar:
            outcome = detecting.Detecting(wanted, make, tell, outputs, bar.step, note)(pictures)
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    if outcome.status == 0 and fail_if_none and not outcome.found:
        raise typer.Exit(NONE_FOUND)
    raise typer.Exit(outcome.status)
