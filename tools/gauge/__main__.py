"""The command line: `python -m tools.gauge OUT_FOLDER [--seed N]`."""

from pathlib import Path

import typer

from tools.gauge.parts import GAUGE
from tools.robot.template import SEED, write


def main(out_folder: Path, seed: int = SEED) -> None:
    """Draw the gauge and write its template (template.json and pictures) into OUT_FOLDER."""
    write(out_folder, seed, GAUGE)
    typer.echo(f"wrote {out_folder / 'template.json'}")


if __name__ == "__main__":
    typer.run(main)
