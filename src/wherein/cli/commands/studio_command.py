"""`wherein studio`: make and try templates in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import Console
from wherein.cli.options import Quiet
from wherein.errors import MissingError


def studio(
    template: Annotated[
        str | None,
        typer.Argument(metavar="TEMPLATE", help="Template to open: a folder with template.json, or a .zip."),
    ] = None,
    port: Annotated[int, typer.Option(metavar="PORT", help="Port on 127.0.0.1; 0 chooses a free one.")] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the studio in the browser.")] = True,
    save_to: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Folder or .zip file to which the Save button writes.",
            show_default="TEMPLATE",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Let the Save button replace an existing template.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make and try templates in the browser.

    The studio runs on this computer only. Press Ctrl-C to stop it.

    Example: wherein studio --save-to robot
    """
    from wherein.cli.input_files import load_template
    from wherein.cli.output_files import check_file

    try:
        from wherein.studio import server
    except ModuleNotFoundError as error:
        remedy = "pip install 'wherein[studio]'"
        raise MissingError(f"the studio needs {error.name}, which is not installed: {remedy}") from error
    from wherein.studio.session import SaveTarget

    console = Console(quiet)
    target = SaveTarget(save_to or (Path(template) if template is not None else None), overwrite)
    if save_to is not None:
        check_file(save_to)
    first = load_template(template) if template is not None else None
    made = server.prepare(first, port, target)
    console.message(
        "Press Ctrl-C to stop the studio. Keep its address secret: anyone who has it can use the studio."
    )
    console.text(made.address)
    if open_:
        server.open_browser(made.address)
    made.serve()
