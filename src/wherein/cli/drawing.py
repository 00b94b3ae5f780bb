"""Where a command may draw a picture."""

from pathlib import Path

from wherein.cli.output import USAGE, stop

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")


def check_drawing(path: Path, overwrite: bool) -> None:
    """Before any work: can a picture go there? Ends the program where it cannot."""
    if path.suffix.lower() not in PICTURES:
        stop(f"--draw {path} must end in one of {', '.join(PICTURES)}", USAGE)
    if path.is_dir():
        stop(f"--draw {path} is a folder; give a file in it", USAGE)
    if path.exists() and not overwrite:
        stop(f"{path} exists; give another name or --overwrite", USAGE)
    from wherein.cli.places import UnwritableError, check_file

    try:
        check_file(path)
    except UnwritableError as error:
        stop(str(error), USAGE)
