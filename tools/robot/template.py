"""From the drawn parts to a template on disk: the pictures, the canvas and template.json."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from tools.robot.parts import ROBOT, Figure, Group, Piece
from tools.robot.shapes import Point
from tools.robot.sheet import Sheet

SEED = 7
"""Of the wear and tear. A choice: the pictures in src/wherein/demo were drawn with it."""

MARGIN = 1
"""Transparent pixels around each picture. One is enough for its edges to stay soft when it is rotated."""


@dataclass(frozen=True)
class Drawn:
    """A part, its picture, and the position of the picture's top-left pixel on the canvas."""

    piece: Piece
    image: Image.Image
    at: tuple[int, int]


def draw_piece(piece: Piece, seed: int) -> Drawn:
    """Draw a part and crop its picture to what is painted, plus `MARGIN`."""
    left, top, right, bottom = piece.window
    sheet = Sheet(left, top, right - left, bottom - top, seed)
    piece.draw(sheet)
    image = sheet.image()
    full = image.getchannel("A").getbbox()
    if full is None:
        raise ValueError(f"nothing of {piece.name} lies in its window {piece.window}")
    cut = (full[0] - MARGIN, full[1] - MARGIN, full[2] + MARGIN, full[3] + MARGIN)
    return Drawn(piece, image.crop(cut), (left + cut[0], top + cut[1]))


def draw_pieces(seed: int = SEED, figure: Figure = ROBOT) -> list[Drawn]:
    """All parts in painting order; their wear and tear depends on `seed` and differs from part to part."""
    return [draw_piece(piece, seed * 1000 + 10 * number) for number, piece in enumerate(figure.pieces)]


def assemble(pieces: list[Drawn], size: tuple[int, int]) -> Image.Image:
    """The canvas: all parts in rest position, painted in order."""
    canvas = Image.new("RGBA", size)
    for drawn in pieces:
        canvas.alpha_composite(drawn.image, drawn.at)
    return canvas


def describe(pieces: list[Drawn], figure: Figure) -> dict[str, Any]:
    """The content of template.json."""
    parts = {group.name: describe_group(group) for group in figure.groups}
    parts |= {drawn.piece.name: describe_piece(drawn) for drawn in pieces}
    return {
        "format": "wherein-template/1",
        "name": figure.name,
        "canvas": f"{figure.name}.png",
        "paint_order": [drawn.piece.name for drawn in pieces],
        "parts": parts,
    }


def describe_group(group: Group) -> dict[str, Any]:
    """A group's entry; its coordinates are those of the canvas."""
    return {"parent": group.parent} | describe_joint(group.pivot, group.turn, (0, 0))


def describe_piece(drawn: Drawn) -> dict[str, Any]:
    """A leaf's entry; its coordinates are those of its picture."""
    piece = drawn.piece
    entry = {"parent": piece.parent, "image": f"{piece.name}.png", "at": list(drawn.at)}
    joint = describe_joint(piece.pivot, piece.turn, drawn.at) or {"static": True}
    return entry | joint | ({"reading": piece.reading} if piece.reading else {})


def describe_joint(pivot: Point | None, turn: float | None, at: tuple[int, int]) -> dict[str, Any]:
    """The joint of a moving part whose top-left pixel lies `at` on the canvas; empty for a static part."""
    if pivot is None:
        return {}
    return {"pivot": [pivot[0] - at[0], pivot[1] - at[1]], "turn": turn}


def to_text(template: dict[str, Any]) -> str:
    """The template as JSON, one line for each part."""
    parts = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in template["parts"].items()]
    rest = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in template.items() if name != "parts"]
    listed = ",\n    ".join(parts)
    return "{\n  " + ",\n  ".join([*rest, f'"parts": {{\n    {listed}\n  }}']) + "\n}\n"


def write(folder: Path, seed: int = SEED, figure: Figure = ROBOT) -> None:
    """Write template.json and the pictures into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = draw_pieces(seed, figure)
    for drawn in pieces:
        drawn.image.save(folder / f"{drawn.piece.name}.png", optimize=True)
    assemble(pieces, figure.size).save(folder / f"{figure.name}.png", optimize=True)
    (folder / "template.json").write_text(to_text(describe(pieces, figure)))
