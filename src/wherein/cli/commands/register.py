"""`wherein register`: one motif in one scene."""

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wherein.cli.drawing import check_drawing
from wherein.cli.options import Quiet
from wherein.cli.output import UNREADABLE, USAGE, say, stop
from wherein.errors import WhereinError


class MotionName(StrEnum):
    """The motion models by name; a test keeps them in step with `wherein.motion`."""

    TRANSLATION = "translation"
    EUCLIDEAN = "euclidean"
    SIMILARITY = "similarity"
    AFFINE = "affine"
    HOMOGRAPHY = "homography"


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
    quiet: Quiet = False,
) -> None:
    """Register one motif in one scene and print the pose as JSON.

    Example: wherein register scene.png motif.png --motion similarity
    """
    if draw is not None:
        check_drawing(draw, overwrite)
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


def _save(picture: Any, path: Path) -> None:
    from wherein.cli import work
    from wherein.cli.places import UnwritableError

    try:
        work.save(picture, path)
    except UnwritableError as error:
        stop(str(error), USAGE)


def _matrix(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        stop(f"--start must be a matrix as JSON, such as [[1,0,40],[0,1,30]]: {error}", USAGE)
