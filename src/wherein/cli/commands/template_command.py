"""`wherein template new` and `wherein template check`: make a template, and check it."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import Console
from wherein.cli.options import CheckedPath, Draw, Json, Overwrite, Quiet, Rotation, Scale, Tilt


def new(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Picture, or labelme or COCO annotations (.json).")
    ],
    out: Annotated[Path, typer.Option(metavar="PATH", help="Template to write: a folder, or a .zip file.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the template.", show_default="the name of --out"),
    ] = None,
    box: Annotated[
        tuple[int, int, int, int] | None,
        typer.Option(metavar="LEFT TOP WIDTH HEIGHT", help="Outline of the motif, a rectangle in pixels."),
    ] = None,
    polygon: Annotated[
        str | None,
        typer.Option(metavar="CORNERS", help='Outline of the motif: "x,y x,y x,y …", or a .json file.'),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE", help="Picture that was annotated; for COCO, the name or id of one of its images."
        ),
    ] = None,
    object_: Annotated[
        str | None,
        typer.Option(
            "--object",
            metavar="ID",
            help="Object to use: a labelme group id, or a COCO group or annotation id.",
        ),
    ] = None,
    paint_order: Annotated[
        str | None,
        typer.Option(metavar="PARTS", help="Parts from bottom to top, separated by commas: body,claw."),
    ] = None,
    keep_covered: Annotated[
        bool, typer.Option("--keep-covered", help="Keep the pixels of a part that parts above it cover.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing template.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make a template from a picture or from annotations.

    In a picture, the outline is given by --box, --polygon or the alpha channel; otherwise the whole picture
    is used.

    In a labelme file, each polygon is a part, named by its label. A point labelled "claw.pivot" is the joint
    of the part "claw". The description of a shape may contain turn=40, static or parent=arm.

    Example: wherein template new mug.jpg --box 210 95 180 160 --out mug
    """
    from wherein.cli.input_files import check_exists
    from wherein.cli.output_files import check_template

    # Checks come before the imports below, which load torch.
    check_exists("picture", source)
    check_template(out, overwrite)
    from wherein.cli.template_run import TemplateSource, make_template, save_template, summary
    from wherein.making.checks import findings

    order = tuple(part.strip() for part in (paint_order or "").split(",") if part.strip())
    template, notes = make_template(
        TemplateSource(source, name or out.stem, box, polygon, image, object_, order, keep_covered)
    )
    save_template(template, out, overwrite)
    if not quiet:
        console = Console()
        console.text(f"{summary(template)}, written to {out}")
        for line in (*(f"note: {note}" for note in notes), *map(str, findings(template))):
            console.text(line)


def check(
    template: CheckedPath,
    rotation: Rotation = 180.0,
    scale: Scale = (0.5, 2.0),
    tilt: Tilt = 40.0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Look at the template only: do not calibrate it and try it out.")
    ] = False,
    draw: Draw = None,
    as_json: Json = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Check a template, and predict how well it will be found.

    Prints its parts and joints, each problem that makes it hard to find, with the measured value, and how
    small and how tilted the object is still found. For that the template is calibrated, as for `detect` with
    the same rotation, scale and tilt, and searched for in test scenes that show it.

    Example: wherein template check mug --draw mug.png
    """
    from wherein.cli.input_files import check_template_path
    from wherein.cli.output_files import check_drawing

    check_template_path(template)
    check_drawing(draw, Path(template).stem, overwrite)
    from wherein.cli.input_files import load_library
    from wherein.cli.template_run import check_lines, draw_sheet, predictions, sheets, to_record
    from wherein.making.checks import by_severity, findings

    console, library = Console(quiet), load_library(template)
    targets = sheets(library, draw, Path(template).stem, overwrite)
    for one in library.templates:
        found, target = findings(one), targets[one.name]
        if not quick:
            found = by_severity([*found, *predictions(one, rotation, scale, tilt, console)])
        if target is not None:
            draw_sheet(one, found, target)
        if as_json:
            console.result(to_record(one, found))
            continue
        for line in check_lines(one, found, quiet):
            console.text(line)
