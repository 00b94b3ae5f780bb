"""Detections drawn on their scene."""

import colorsys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from wherein.images.load import Picture

if TYPE_CHECKING:
    from wherein.detect.detections import Detection

_PAPER, _INK = (255, 255, 255), (20, 20, 20)


def draw_detections(scene: Picture, items: Sequence["Detection"]) -> Image.Image:
    """The scene with every leaf's outline, its name, and the score of the whole.

    A part that was found has a full line, one that was not a thin grey one where it would be.
    """
    levels = (scene.pixels.detach().cpu().clamp(0, 1) * 255).round().to(torch.uint8)
    image = Image.fromarray(np.ascontiguousarray(levels.movedim(0, -1).numpy()))
    large = 2 if max(image.size) < 900 else 1
    image = image.resize((image.width * large, image.height * large), Image.Resampling.BICUBIC)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    for item in items:
        for number, (name, part) in enumerate(item.parts.items()):
            corners = [
                (float(x * large + (large - 1) / 2), float(y * large + (large - 1) / 2))
                for x, y in part.polygon
            ]
            color = _color(number, len(item.parts)) if part.found else (150, 150, 150)
            pen.line([*corners, *corners[:2]], fill=color, width=3 if part.found else 1, joint="curve")
            if part.found:
                _label(pen, _middle(corners), f"{name} {part.score:.2f}", font, color)
        x, y = item.matrix[:, 2] * large
        _label(pen, (float(x), float(y)), f"{item.score:.2f}, {item.angle:.1f}°", font, _INK)
    return image


def _color(number: int, count: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hsv_to_rgb(number / max(count, 1), 0.85, 0.95)
    return int(255 * red), int(255 * green), int(255 * blue)


def _middle(corners: Sequence[tuple[float, float]]) -> tuple[float, float]:
    x, y = np.mean(corners, axis=0)
    return float(x), float(y)


def _label(
    pen: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
    color: tuple[int, int, int],
) -> None:
    """Text on paper of its own, so that it can be read on any photograph."""
    left, top, right, bottom = pen.textbbox(at, text, font=font, anchor="mm")
    pen.rectangle((left - 3, top - 2, right + 3, bottom + 2), fill=_PAPER, outline=color)
    pen.text(at, text, fill=_INK, font=font, anchor="mm")
