"""Options that several commands have, and the values that they may take."""

from enum import StrEnum
from typing import Annotated

import typer

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no messages: results and errors only.")
]
"""Every command has it, so that scripts can give it to all."""

Json = Annotated[bool, typer.Option("--json", help="One JSON object in place of words.")]


class Format(StrEnum):
    """Formats of others in which `wherein detect` can write what it found."""

    COCO = "coco"
    CSV = "csv"
    LABELME = "labelme"


SUFFIXES = {Format.COCO: ".json", Format.CSV: ".csv"}
"""Of the formats that are one file; labelme's is a folder with a file a scene."""
