"""A registration drawn: the motif's outline on the scene, and the motif beside what was found."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from PIL import Image, ImageDraw
from torch import Tensor

from wherein.drawing.palette import Color
from wherein.images.eight_bit import to_image
from wherein.images.motif import Motif
from wherein.images.polygons import outer
from wherein.motion.field import lattice, transform
from wherein.motion.homography import Matrix, mapped, square
from wherein.warp import warp

FOUND: Color = (0, 230, 118)
START: Color = (255, 171, 0)
"""Colours of the outlines where the motif was found, and where the search started."""

_INK: Color = (33, 33, 33)
_PAPER: Color = (250, 250, 250)

_GAP, _LINE = 16, 18
"""Pixels between the pictures of a page, and of a line of text."""

_AMPLIFIED = 4
"""How many times differences are enlarged. A choice: noise shows, and a misfit of a pixel is plain."""


def draw_outline(image: Image.Image, motif: Motif, matrix: Matrix, color: Color, width: int = 3) -> None:
    """Draw the motif's outline without its holes, moved by `matrix`, onto the image."""
    for ring in outer(motif.rings):
        corners = [(float(x), float(y)) for x, y in mapped(matrix, ring)]
        ImageDraw.Draw(image).line([*corners, *corners[:2]], fill=color, width=width, joint="curve")


def rectified(scene: Float[Tensor, "3 H W"], motif: Motif, matrix: Matrix) -> Float[Tensor, "3 h w"]:
    """The scene on the motif's grid: what `matrix` says is the motif, upright."""
    full = torch.from_numpy(square(matrix))
    field = transform(full, lattice(motif.height, motif.width, full))
    return warp(scene, field.to(scene)) * (motif.mask > 0.5)


def draw_registration(
    scene: Float[Tensor, "3 H W"],
    motif: Motif,
    found: Matrix,
    start: Matrix | None,
    lines: Sequence[str] = (),
) -> Image.Image:
    """A page with the scene, on which outlines show the start and the result, and below it the motif, what
    was found, and their difference.

    Arguments:
        scene: the picture that was searched.
        motif: what was registered.
        found, start: matrices; there may be no start.
        lines: of text at the bottom.
    """
    picture = to_image(scene)
    if start is not None:
        draw_outline(picture, motif, start, START, 2)
    draw_outline(picture, motif, found, FOUND)
    upright = rectified(scene, motif, found)
    inside = (motif.mask > 0.5).to(scene.dtype)
    difference = (light_corrected(upright, motif) - motif.pixels).abs() * inside * _AMPLIFIED
    panels = [
        ("motif", motif.pixels * inside),
        ("found, rectified", upright),
        (f"difference x {_AMPLIFIED}, light corrected", difference),
    ]
    return _page(picture, [(title, to_image(pixels)) for title, pixels in panels], lines)


def light_corrected(upright: Float[Tensor, "3 h w"], motif: Motif) -> Float[Tensor, "3 h w"]:
    """What was found in the light of the motif: with the best gain for all channels and bias for each."""
    chosen = motif.mask > 0.5
    scene, wanted = upright[:, chosen], motif.pixels[:, chosen]
    centred, target = scene - scene.mean(1, keepdim=True), wanted - wanted.mean(1, keepdim=True)
    gain = (centred * target).sum() / centred.pow(2).sum().clamp_min(1e-12)  # not 0 / 0 without texture
    bias = wanted.mean(1) - gain * scene.mean(1)
    return gain * upright + bias[:, None, None]


def _page(
    picture: Image.Image, panels: Sequence[tuple[str, Image.Image]], lines: Sequence[str]
) -> Image.Image:
    """The picture in the upper left corner, so that its pixels keep their coordinates; the panels in a row of
    its width below; then the lines, which begin where the panels do."""
    fit = (picture.width - _GAP * (len(panels) + 1)) / sum(image.width for _, image in panels)
    small = [
        (title, image.resize((int(image.width * fit), int(image.height * fit)))) for title, image in panels
    ]
    row = max(image.height for _, image in small) + _LINE
    size = (picture.width, picture.height + row + _LINE * len(lines) + 3 * _GAP)
    page = Image.new("RGB", size, _PAPER)
    page.paste(picture, (0, 0))
    pen, x, y = ImageDraw.Draw(page), _GAP, picture.height + _GAP
    for title, image in small:
        pen.text((x, y), title, fill=_INK)
        page.paste(image, (x, y + _LINE))
        x += image.width + _GAP
    for number, line in enumerate(lines):
        pen.text((_GAP, y + row + _GAP + number * _LINE), line, fill=_INK)
    return page
