"""Draw the demonstration's template: `python -m wherein.demo.draw OUT_FOLDER`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from PIL import Image

from wherein.demo.parts import GROUPS, PIECES, SIZE, Group, Piece
from wherein.demo.shapes import Point
from wherein.demo.sheet import Sheet

NAME = "robot"
SEED = 7
MARGIN = 1
"""Empty pixels around each picture, so that its edges stay soft when it is turned."""


@dataclass(frozen=True)
class Drawn:
    """A piece, its picture, and where the picture's top-left pixel lies on the canvas."""

    piece: Piece
    image: Image.Image
    at: tuple[int, int]


def draw_piece(piece: Piece, seed: int) -> Drawn:
    """Draw a piece and cut away what is empty around it."""
    left, top, right, bottom = piece.window
    sheet = Sheet(left, top, right - left, bottom - top, seed)
    piece.draw(sheet)
    image = sheet.image()
    full = image.getchannel("A").getbbox()
    if full is None:
        raise ValueError(f"nothing of {piece.name} lies in its window {piece.window}")
    cut = (full[0] - MARGIN, full[1] - MARGIN, full[2] + MARGIN, full[3] + MARGIN)
    return Drawn(piece, image.crop(cut), (left + cut[0], top + cut[1]))


def draw_pieces(seed: int = SEED) -> list[Drawn]:
    """All pieces in the order of painting; wear and tear differ by `seed`, and from piece to piece."""
    return [draw_piece(piece, seed * 1000 + 10 * number) for number, piece in enumerate(PIECES)]


def assemble(pieces: list[Drawn]) -> Image.Image:
    """The canvas: the pieces painted in order, at rest."""
    canvas = Image.new("RGBA", SIZE)
    for drawn in pieces:
        canvas.alpha_composite(drawn.image, drawn.at)
    return canvas


def describe(pieces: list[Drawn]) -> dict[str, Any]:
    """What goes into template.json."""
    parts = {group.name: describe_group(group) for group in GROUPS}
    parts |= {drawn.piece.name: describe_piece(drawn) for drawn in pieces}
    return {
        "format": "wherein-template/1",
        "name": NAME,
        "canvas": f"{NAME}.png",
        "paint_order": [drawn.piece.name for drawn in pieces],
        "parts": parts,
    }


def describe_group(group: Group) -> dict[str, Any]:
    """A group's entry; its pixels are the canvas's."""
    return {"parent": group.parent} | describe_joint(group.pivot, group.turn, (0, 0))


def describe_piece(drawn: Drawn) -> dict[str, Any]:
    """A leaf's entry; its pixels are its picture's."""
    piece = drawn.piece
    entry = {"parent": piece.parent, "image": f"{piece.name}.png", "at": list(drawn.at)}
    return entry | (describe_joint(piece.pivot, piece.turn, drawn.at) or {"static": True})


def describe_joint(pivot: Point | None, turn: float | None, at: tuple[int, int]) -> dict[str, Any]:
    """The joint of a moving part whose first pixel lies `at` on the canvas; nothing for another."""
    if pivot is None:
        return {}
    return {"pivot": [pivot[0] - at[0], pivot[1] - at[1]], "turn": turn}


def to_text(template: dict[str, Any]) -> str:
    """The template as JSON, a line a part."""
    parts = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in template["parts"].items()]
    rest = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in template.items() if name != "parts"]
    listed = ",\n    ".join(parts)
    return "{\n  " + ",\n  ".join([*rest, f'"parts": {{\n    {listed}\n  }}']) + "\n}\n"


def write(folder: Path, seed: int = SEED) -> None:
    """Write template.json and the pictures into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = draw_pieces(seed)
    for drawn in pieces:
        drawn.image.save(folder / f"{drawn.piece.name}.png", optimize=True)
    assemble(pieces).save(folder / f"{NAME}.png", optimize=True)
    (folder / "template.json").write_text(to_text(describe(pieces)))


def main(out_folder: Path, seed: int = SEED) -> None:
    """Draw the demonstration's template into a folder."""
    write(out_folder, seed)
    typer.echo(f"wrote {out_folder / 'template.json'}")


if __name__ == "__main__":
    typer.run(main)
