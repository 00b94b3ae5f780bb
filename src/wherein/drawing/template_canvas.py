"""The canvas of a template, drawn: every part's mask in its colour, every joint and how far it turns."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from wherein.drawing.palette import Color
from wherein.images.motif import Motif
from wherein.making.measures import part_pixels
from wherein.template import Template

INK: Color = (20, 20, 20)
PAPER: Color = (255, 255, 255)
_SQUARES: tuple[Color, Color] = ((236, 236, 236), (208, 208, 208))
"""What is seen where there is nothing."""

_SIDE, _MOST = 760, 12.0
"""Pixels of a plate's longer side, and how many times a small canvas is enlarged at most."""

_FINE = 2
"""How many times larger it is drawn first: what makes lines smooth."""

_TINT = 45
"""Of 255: how strongly a part's colour lies on it."""


def plate(template: Template, palette: Mapping[str, Color]) -> Image.Image:
    """The canvas as large as is good to look at, with masks and joints."""
    zoom = _FINE * min(_MOST, _SIDE / max(template.size))
    size = (max(1, round(template.size[0] * zoom)), max(1, round(template.size[1] * zoom)))
    mask = template.canvas.mask
    whole = Motif(template.canvas.pixels, mask) if mask is not None else Motif.whole(template.canvas.pixels)
    image = on_squares(cutout(whole).resize(size, Image.Resampling.BICUBIC), 12 * _FINE)
    for name in template.paint_order:
        _outline(image, template, name, palette[name], zoom)
    for name, part in template.parts.items():
        if part.moves:
            _joint(ImageDraw.Draw(image), template, name, palette.get(name, PAPER), zoom)
    return image.reduce(_FINE)


def cutout(motif: Motif) -> Image.Image:
    """A motif as a picture with alpha."""
    layers = torch.cat((motif.pixels, motif.mask[None])).detach().cpu().clamp(0, 1)
    levels = (layers * 255).round().to(torch.uint8).movedim(0, -1)
    return Image.fromarray(np.ascontiguousarray(levels.numpy()))


def on_squares(image: Image.Image, side: int = 12) -> Image.Image:
    """A picture with alpha on squares of two greys."""
    y, x = np.indices((image.height, image.width)) // side
    ground = np.array(_SQUARES, dtype=np.uint8)[(x + y) % 2]
    page = Image.fromarray(ground)
    page.paste(image, (0, 0), image)
    return page


def _outline(image: Image.Image, template: Template, name: str, color: Color, zoom: float) -> None:
    """A tint on the mask, and a line along its edge on a dark one."""
    part = template.parts[name]
    assert part.motif is not None, "a leaf"
    alpha = cutout(part.motif).getchannel("A")
    width, height = max(1, round(alpha.width * zoom)), max(1, round(alpha.height * zoom))
    room = 4 * _FINE
    inside = Image.new("L", (width + 2 * room, height + 2 * room))
    inside.paste(alpha.resize((width, height), Image.Resampling.BILINEAR), (room, room))
    inside = inside.point(lambda level: 255 * (level > 127))
    at = round(part.at[0] * zoom) - room, round(part.at[1] * zoom) - room
    edge = ImageChops.subtract(inside, inside.filter(ImageFilter.MinFilter(2 * _FINE + 1)))
    dark = ImageChops.subtract(inside.filter(ImageFilter.MaxFilter(2 * _FINE - 1)), inside)
    image.paste(color, at, inside.point(lambda level: _TINT * (level > 0)))
    image.paste(INK, at, dark)
    image.paste(color, at, edge)


def _joint(pen: ImageDraw.ImageDraw, template: Template, name: str, color: Color, zoom: float) -> None:
    """A dot, and the sector in which the part's middle turns."""
    part = template.parts[name]
    x, y = ((place + 0.5) * zoom for place in part.joint)
    middle = part_pixels(template, name).double().mean(0)
    towards = float(middle[0]) - part.joint[0], float(middle[1]) - part.joint[1]
    reach = max(26.0 * _FINE, min(1.3 * zoom * math.hypot(*towards), 120.0 * _FINE))
    heading = math.atan2(towards[1], towards[0])
    turns = np.linspace(-part.turn, part.turn, 2 + int(part.turn / 3))
    angles = [heading + math.radians(turn) for turn in turns]
    arc = [(x + reach * math.cos(angle), y + reach * math.sin(angle)) for angle in angles]
    sector = [(x, y), *arc, (x, y)] if part.turn < 180 else arc
    for ink, width in ((INK, 4 * _FINE), (color, 2 * _FINE)):
        pen.line(sector, fill=ink, width=width, joint="curve")
    for ink, radius in ((INK, 7), (PAPER, 5), (INK, 2)):
        size = radius * _FINE
        pen.ellipse((x - size, y - size, x + size, y + size), fill=ink)
