"""`wherein studio`: make and try templates in the browser."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.console import Console
from wherein.cli.options import Quiet
from wherein.errors import MissingError
from wherein.extras import require_package

_EXPOSED = (
    "Other devices in the network can open this address. The connection is not encrypted: use --host only in "
    "a network that you trust."
)

_QUIET_ZONE = 2
"""Width of the light border of a QR code, in modules. The standard requires 4. A choice: with 2, the code
fits into a small terminal."""


def show_qr_code(address: str, console: Console) -> None:
    """Print an address as a QR code, if standard error is a terminal."""
    if console.quiet or not sys.stderr.isatty():
        return
    segno = require_package("segno", "a QR code", "pip install 'wherein[studio]'")
    lines = io.StringIO()
    segno.make(address, error="l", micro=False).terminal(lines, border=_QUIET_ZONE, compact=True)
    for line in lines.getvalue().splitlines():
        # The block characters are the light modules. Without colours, a light terminal would invert the code.
        typer.secho(line, fg="bright_white", bg="black", err=True)


def studio(
    template: Annotated[
        str | None,
        typer.Argument(metavar="TEMPLATE", help="Template to open: a folder with template.json, or a .zip."),
    ] = None,
    port: Annotated[int, typer.Option(metavar="PORT", help="Port; 0 chooses a free one.")] = 0,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Serve the local network too, for example a phone: an IPv4 address of this computer, or "
            "auto. Prints a QR code. Anyone who has the printed address can use the studio.",
            show_default="127.0.0.1, this computer only",
        ),
    ] = None,
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

    The studio runs on this computer only, unless --host is given. Press Ctrl-C to stop it.

    Example: wherein studio --save-to robot
    """
    from wherein.cli.input_files import check_template_path, load_template
    from wherein.cli.output_files import check_file

    if template is not None:
        check_template_path(template)
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
    address = server.network_address() if host == "auto" else host
    made = server.prepare(first, port, target, host=address or server.LOCAL)
    console.message(
        "Press Ctrl-C to stop the studio. Keep its address secret: anyone who has it can use the studio."
    )
    if address is not None:
        console.message(_EXPOSED)
        show_qr_code(made.address, console)
    console.text(made.address)
    if open_:
        server.open_browser(made.address)
    made.serve()
