"""`wherein studio`: make and try templates in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from wherein.cli.options import Quiet
from wherein.cli.output import UNREADABLE, USAGE, stop
from wherein.errors import WhereinError


def studio(
    template: Annotated[
        str | None, typer.Argument(help="A folder with template.json, or a .zip of it, to go on with.")
    ] = None,
    port: Annotated[int, typer.Option(help="On 127.0.0.1; 0: any that is free.")] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
    save_to: Annotated[
        Path | None, typer.Option(help="The folder or .zip that Save writes; TEMPLATE by default.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let Save replace a template.")] = False,
    quiet: Quiet = False,
) -> None:
    """Outline a template in the browser, and watch it being found; served on this machine only.

    Example: wherein studio --save-to robot
    """
    from wherein.cli import detecting, work
    from wherein.cli.places import check_file

    try:
        from wherein.studio import server
    except ModuleNotFoundError as error:
        stop(f"the studio needs {error.name}, which is not installed: pip install 'wherein[studio]'", USAGE)
    from wherein.studio.session import SaveTarget

    target = SaveTarget(save_to or (Path(template) if template is not None else None), overwrite)
    try:
        if save_to is not None:
            check_file(save_to)
        first = detecting.load_template(template) if template is not None else None
        made = server.prepare(first, port, target)
    except work.UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)
    if not quiet:
        typer.echo("the studio is served here until Ctrl-C; keep its address to yourself:", err=True)
    typer.echo(made.address)
    if open_:
        server.open_browser(made.address)
    made.serve()
