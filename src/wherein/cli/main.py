"""`wherein`: the commands and their arguments.

Nothing heavy is imported here: torch comes in only when work starts.
"""

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wherein.cli.output import NONE_FOUND, UNREADABLE, USAGE, heard, say, stop
from wherein.errors import WhereinError

app = typer.Typer(
    name="wherein",
    help="Find where in a picture a thing is, by optimisation over transformations.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


class MotionName(StrEnum):
    """The motion models by name; a test keeps them in step with `wherein.motion`."""

    TRANSLATION = "translation"
    EUCLIDEAN = "euclidean"
    SIMILARITY = "similarity"
    AFFINE = "affine"
    HOMOGRAPHY = "homography"


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


@app.command()
def register(
    scene: Annotated[Path, typer.Argument(help="The picture to look in.")],
    motif: Annotated[Path, typer.Argument(help="The picture to look for; its alpha is its mask.")],
    motion: Annotated[MotionName, typer.Option(help="How the motif may move.")] = MotionName.EUCLIDEAN,
    mask: Annotated[Path | None, typer.Option(help="A picture that is white where the motif counts.")] = None,
    start: Annotated[
        str | None, typer.Option(help="A matrix as JSON, motif pixels → scene pixels: [[1,0,40],[0,1,30]].")
    ] = None,
    robust: Annotated[bool, typer.Option("--robust", help="For motifs that are partly hidden.")] = False,
    draw: Annotated[Path | None, typer.Option(help="Write a picture of the result to this file.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let --draw replace a file.")] = False,
) -> None:
    """Register one motif in one scene and print the pose as JSON.

    Example: wherein register scene.png motif.png --motion similarity
    """
    if draw is not None:
        _check_target(draw, overwrite)
    matrix = _matrix(start)
    from wherein.cli import work

    began = time.perf_counter()
    try:
        record, picture = work.register(scene, motif, motion.value, mask, matrix, robust, draw is not None)
    except work.UnreadableError as error:
        say({error.role: str(error.path), "error": str(error)})
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    say({**record, "seconds": round(time.perf_counter() - began, 4)})
    if draw is not None and picture is not None:
        _save(picture, draw)


@app.command()
def detect(
    template: Annotated[str, typer.Argument(help="A folder with template.json, or a .zip of it.")],
    scenes: Annotated[list[str], typer.Argument(help="Pictures, folders or globs.", metavar="SCENE…")],
    rotation: Annotated[float, typer.Option(help="Degrees to search to either side.")] = 180.0,
    scale: Annotated[tuple[float, float], typer.Option(help="Lowest and highest scale.")] = (1.0, 1.0),
    max_instances: Annotated[int | None, typer.Option(help="The most to tell of a scene.")] = None,
    threshold: Annotated[float | None, typer.Option(help="The least score; calibrated by default.")] = None,
    draw: Annotated[Path | None, typer.Option(help="Write a picture of each scene to this folder.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about all scenes to this .html.")] = None,
    maps: Annotated[bool, typer.Option("--maps", help="Put occurrence maps into the page.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let both replace files.")] = False,
    fail_if_none: Annotated[bool, typer.Option("--fail-if-none", help="Exit 1 if nothing is found.")] = False,
) -> None:
    """Find a template of moving parts in pictures: one JSON object a line, a line a scene.

    Example: wherein detect robot/ photographs/ --scale 0.8 1.25 --report found.html
    """
    from wherein.cli import detecting, waiting
    from wherein.cli.scenes import given
    from wherein.cli.targets import Outputs
    from wherein.cli.work import UnreadableError
    from wherein.detect import Detector

    outputs = Outputs(draw, report, maps, overwrite)

    def make() -> Detector:
        with waiting.progress("calibrating, once for this template") as progress:
            return Detector(wanted, rotation, scale, max_instances, threshold=threshold, progress=progress)

    try:
        outputs.check()
        wanted = detecting.load_template(template)
        outcome = detecting.Detecting(wanted, make, say, outputs)(list(given(scenes)))
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    if outcome.status == 0 and fail_if_none and not outcome.found:
        raise typer.Exit(NONE_FOUND)
    raise typer.Exit(outcome.status)


@app.command()
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


PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")


def _check_target(path: Path, overwrite: bool) -> None:
    """Before any work: can a picture go there?"""
    if path.suffix.lower() not in PICTURES:
        stop(f"--draw {path} must end in one of {', '.join(PICTURES)}", USAGE)
    if path.is_dir():
        stop(f"--draw {path} is a folder; give a file in it", USAGE)
    if path.exists() and not overwrite:
        stop(f"{path} exists; give another name or --overwrite", USAGE)


def _save(picture: Any, path: Path) -> None:
    from wherein.cli import work

    try:
        work.save(picture, path)
    except work.UnwritableError as error:
        stop(str(error), USAGE)


def _matrix(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        stop(f"--start must be a matrix as JSON, such as [[1,0,40],[0,1,30]]: {error}", USAGE)


def main() -> None:
    """The console script."""
    with heard():
        app()
