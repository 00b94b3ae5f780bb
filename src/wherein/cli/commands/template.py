"""`wherein template`: make a template, and see what will make it hard to find."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.drawing import check_drawing
from wherein.cli.options import Quiet
from wherein.cli.output import UNREADABLE, USAGE, say, stop
from wherein.errors import WhereinError

template = typer.Typer(
    name="template",
    help="Make a template, and check it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@template.command()
def new(
    source: Annotated[Path, typer.Argument(help="A picture, or labelme's or COCO's .json.")],
    out: Annotated[Path, typer.Option(help="The folder to write, or a file whose name ends in .zip.")],
    name: Annotated[str | None, typer.Option(help="Of the template; that of --out by default.")] = None,
    box: Annotated[
        tuple[int, int, int, int] | None, typer.Option(help="The motif: left, top, width, height.")
    ] = None,
    polygon: Annotated[
        str | None, typer.Option(help='The motif: "x,y x,y x,y …", or a .json file of corners.')
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="The annotation's picture, or the name or id of one in COCO's.")
    ] = None,
    object_: Annotated[
        str | None, typer.Option("--object", help="Which object: labelme's group, COCO's group or id.")
    ] = None,
    paint_order: Annotated[str | None, typer.Option(help="Parts, the lowest first: body,claw.")] = None,
    keep_covered: Annotated[
        bool, typer.Option("--keep-covered", help="Parts keep pixels that parts above them cover.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the template at --out.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make a template from a picture: its alpha, a box or a polygon is the outline; or from annotations.

    In labelme's, a polygon is a part by its label, a point "claw.pivot" the joint of "claw", and the
    description may say turn=40, static or parent=arm.

    Example: wherein template new mug.jpg --box 210 95 180 160 --out mug
    """
    from wherein.cli import templating
    from wherein.cli.work import UnreadableError
    from wherein.making.checks import findings

    order = tuple(part.strip() for part in (paint_order or "").split(",") if part.strip())
    wish = templating.Wish(source, name or out.stem, box, polygon, image, object_, order, keep_covered)
    try:
        templating.check_target(out, overwrite)
        made, notes = templating.made(wish)
        templating.written(made, out, overwrite)
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    if quiet:
        return
    typer.echo(f"{templating.headline(made)}, written to {out}")
    for line in (*(f"note: {note}" for note in notes), *map(str, findings(made))):
        typer.echo(line)


@template.command()
def check(
    folder: Annotated[str, typer.Argument(help="A folder with template.json, or a .zip of it.")],
    draw: Annotated[Path | None, typer.Option(help="Draw tree, joints and masks to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let --draw replace a file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what will make a template hard to find, part by part, with what was measured.

    Example: wherein template check mug --draw mug.png
    """
    if draw is not None:
        check_drawing(draw, overwrite)
    from wherein.cli import templating
    from wherein.cli.detecting import load_template
    from wherein.cli.work import UnreadableError
    from wherein.making.checks import findings

    try:
        loaded = load_template(folder)
        found = findings(loaded)
        if draw is not None:
            templating.drawn(loaded, found, draw)
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    if json:
        say(templating.record(loaded, found))
        return
    typer.echo(templating.headline(loaded))
    for line in (*templating.branches(loaded.parts), *map(str, found)):
        typer.echo(line)
    if not found and not quiet:
        typer.echo("nothing that was measured stands in the way of finding it")
