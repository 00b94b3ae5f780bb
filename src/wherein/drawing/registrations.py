"""Drawings of registrations: the motif's outline on the scene, and the motif beside the rectified scene."""

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
"""Colours of the motif's outline at the result, and at the start of the optimisation."""

_INK: Color = (33, 33, 33)
_PAPER: Color = (250, 250, 250)

_GAP, _LINE = 16, 18
"""Gap between the pictures of a page, and height of a line of text, in pixels."""

_AMPLIFIED = 4
"""Amplification of differences. A choice: noise is visible, and an error of one pixel is obvious."""


def draw_outline(image: Image.Image, motif: Motif, matrix: Matrix, color: Color, width: int = 3) -> None:
    """Draw the motif's outline, without holes, at the pose `matrix`; the image is changed in place."""
    for ring in outer(motif.rings):
        # Two corners are repeated: one closes the ring, the other makes Pillow round the last corner.
        corners = [(float(x), float(y)) for x, y in mapped(matrix, ring)]
        ImageDraw.Draw(image).line([*corners, *corners[:2]], fill=color, width=width, joint="curve")


def rectified(scene: Float[Tensor, "3 H W"], motif: Motif, matrix: Matrix) -> Float[Tensor, "3 h w"]:
    """The scene sampled on the motif's pixels by `matrix`, and black outside the mask."""
    full = torch.from_numpy(square(matrix))
    # Inverse mapping: the matrix gives, for each pixel of the motif, the point of the scene to sample.
    field = transform(full, lattice(motif.height, motif.width, full))
    return warp(scene, field.to(scene)) * (motif.mask > 0.5)


def draw_registration(
    scene: Float[Tensor, "3 H W"],
    motif: Motif,
    found: Matrix,
    start: Matrix | None,
    lines: Sequence[str] = (),
) -> Image.Image:
    """A page with the scene and the outlines of start and result; below, the motif, the rectified scene, and
    their difference.

    Arguments:
        scene: the picture that was searched.
        motif: the registered motif.
        found: the matrix of the result.
        start: the matrix of the start, if there was one.
        lines: lines of text at the bottom.
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
    """The rectified scene with the light of the motif: one gain for all channels, and one bias per channel.

    The least-squares solution: the gain is Σ sc·tc / Σ sc², where sc and tc are the scene and the motif minus
    their means of each channel, and the bias is the difference of the means that remains.
    """
    chosen = motif.mask > 0.5
    scene, wanted = upright[:, chosen], motif.pixels[:, chosen]
    centred, target = scene - scene.mean(1, keepdim=True), wanted - wanted.mean(1, keepdim=True)
    gain = (centred * target).sum() / centred.pow(2).sum().clamp_min(1e-12)  # avoids 0 / 0 without texture
    bias = wanted.mean(1) - gain * scene.mean(1)
    return gain * upright + bias[:, None, None]


def _page(
    picture: Image.Image, panels: Sequence[tuple[str, Image.Image]], lines: Sequence[str]
) -> Image.Image:
    """A page of the picture, the panels in a row of its width, and the lines of text.

    The picture is in the upper left corner, so that its pixels keep their coordinates.
    """
    # The common scale at which all panels and the gaps beside them have the width of the picture.
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
