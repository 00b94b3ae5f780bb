"""`wherein register`: find one motif in one scene."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wherein.cli.console import UNREADABLE, Console, UnreadableError
from wherein.cli.options import Draw, JsonLines, Overwrite, Quiet
from wherein.errors import ArgumentError


class MotionName(StrEnum):
    """The names of the motion models. They are repeated here, since `wherein.motion` would import torch.

    A test compares them.
    """

    TRANSLATION = "translation"
    EUCLIDEAN = "euclidean"
    SIMILARITY = "similarity"
    AFFINE = "affine"
    HOMOGRAPHY = "homography"


def register(
    scene: Annotated[Path, typer.Argument(metavar="SCENE", help="Picture to search in.")],
    motif: Annotated[
        Path,
        typer.Argument(
            metavar="MOTIF",
            help="Picture to search for, or a template without moving parts. Its alpha channel is its mask.",
        ),
    ],
    motion: Annotated[MotionName, typer.Option(help="Type of transformation to fit.")] = MotionName.EUCLIDEAN,
    mask: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Mask of the motif: a picture, white at the pixels to compare."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="MATRIX",
            help="Initial pose: a matrix from motif to scene pixels, as in [[1,0,40],[0,1,30]].",
        ),
    ] = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Use a robust fit, for a motif that is partly hidden.")
    ] = False,
    draw: Draw = None,
    overwrite: Overwrite = False,
    as_json: JsonLines = False,
    quiet: Quiet = False,
) -> None:
    """Find one motif in one scene and print its pose.

    Prints a JSON object; on a terminal it prints text instead, unless --json is given.

    Example: wherein register scene.png motif.png --motion similarity
    """
    from wherein.cli.output_files import check_drawing
    from wherein.files import save

    # Checks come before `register_run` is imported, which loads torch.
    target = check_drawing(draw, scene.stem, overwrite)
    matrix = _parse_matrix(start)
    console = Console(quiet, as_json)
    try:
        _check_exist(scene=scene, motif=motif, mask=mask)
        from wherein.cli.register_run import advice, describe, run_registration

        outcome = run_registration(scene, motif, motion.value, mask, matrix, robust, target is not None)
    except UnreadableError as error:
        if not console.readable:
            console.result({error.role: str(error.path), "error": str(error)})
        if console.json_on_terminal:  # the terminal already shows the error, as JSON
            raise typer.Exit(UNREADABLE) from error
        raise
    if console.readable:
        for line in describe(outcome.record, outcome.refined):
            console.text(line)
    else:
        console.result(outcome.record)
    hint = advice(outcome.record)
    if hint is not None:
        console.message(hint)
    if target is not None and outcome.drawn is not None:
        save(outcome.drawn, target)


def _check_exist(**paths: Path | None) -> None:
    """Raise `UnreadableError` for a file that does not exist, before torch is loaded."""
    from wherein.cli.input_files import check_exists

    for role, path in paths.items():
        if path is not None:
            check_exists(role, path)


def _parse_matrix(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"--start is not JSON ({error}): use a matrix such as [[1,0,40],[0,1,30]]"
        raise ArgumentError(message) from error
