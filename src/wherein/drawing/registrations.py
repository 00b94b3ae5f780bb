"""Pictures of results, drawn with Pillow."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from torch import Tensor

from wherein.images.eight_bit import to_image
from wherein.images.motif import Motif
from wherein.images.polygons import outline
from wherein.motion.field import lattice, transform
from wherein.warp import warp

FOUND, START, INK, PAPER = (0, 230, 118), (255, 171, 0), (33, 33, 33), (250, 250, 250)
Matrix = NDArray[np.float64]


def homogeneous(matrix: Matrix) -> Float[Tensor, "3 3"]:
    """A 2×3 or 3×3 matrix as a 3×3 tensor."""
    full = np.vstack((matrix, (0.0, 0.0, 1.0))) if matrix.shape[0] == 2 else matrix
    return torch.from_numpy(np.ascontiguousarray(full, dtype=np.float64))


def draw_outline(
    image: Image.Image, motif: Motif, matrix: Matrix, color: tuple[int, int, int], width: int = 3
) -> None:
    """Draw the motif's outline, moved by `matrix`, onto the image."""
    moved = transform(homogeneous(matrix), torch.from_numpy(outline(motif)))
    corners = [(float(x), float(y)) for x, y in moved]
    ImageDraw.Draw(image).line([*corners, *corners[:2]], fill=color, width=width, joint="curve")


def brought_back(scene: Float[Tensor, "3 H W"], motif: Motif, matrix: Matrix) -> Float[Tensor, "3 h w"]:
    """The part of the scene that `matrix` says is the motif, upright."""
    full = homogeneous(matrix)
    field = transform(full, lattice(motif.height, motif.width, full))
    return warp(scene, field.to(scene)) * (motif.mask > 0.5)


def draw_registration(
    scene: Float[Tensor, "3 H W"],
    motif: Motif,
    found: Matrix,
    start: Matrix | None,
    lines: Sequence[str] = (),
) -> Image.Image:
    """A page: the scene with start and find outlined, then the motif, what was found, their difference."""
    stage = to_image(scene)
    if start is not None:
        draw_outline(stage, motif, start, START, 2)
    draw_outline(stage, motif, found, FOUND)
    there = brought_back(scene, motif, found)
    inside = (motif.mask > 0.5).to(scene.dtype)
    cells = [
        ("motif", motif.pixels * inside),
        ("found, brought back", there),
        ("difference, 4 times, but for the light", (relit(there, motif) - motif.pixels).abs() * inside * 4),
    ]
    return _page(stage, [(title, to_image(pixels)) for title, pixels in cells], lines)


def relit(there: Float[Tensor, "3 h w"], motif: Motif) -> Float[Tensor, "3 h w"]:
    """What was found in the motif's light: the best gain for all channels and bias for each."""
    chosen = motif.mask > 0.5
    scene, wanted = there[:, chosen], motif.pixels[:, chosen]
    centred, target = scene - scene.mean(1, keepdim=True), wanted - wanted.mean(1, keepdim=True)
    gain = (centred * target).sum() / centred.pow(2).sum().clamp_min(1e-12)
    bias = wanted.mean(1) - gain * scene.mean(1)
    return gain * there + bias[:, None, None]


def _page(stage: Image.Image, cells: Sequence[tuple[str, Image.Image]], lines: Sequence[str]) -> Image.Image:
    """The stage above, the cells in a row of its width below, then the lines."""
    gap, text = 16, 18
    fit = (stage.width - gap * (len(cells) - 1)) / sum(image.width for _, image in cells)
    small = [
        (title, image.resize((int(image.width * fit), int(image.height * fit)))) for title, image in cells
    ]
    row = max(image.height for _, image in small) + text
    size = (stage.width + 2 * gap, stage.height + row + text * len(lines) + 4 * gap)
    page = Image.new("RGB", size, PAPER)
    page.paste(stage, (gap, gap))
    pen, x, y = ImageDraw.Draw(page), gap, stage.height + 2 * gap
    for title, image in small:
        pen.text((x, y), title, fill=INK)
        page.paste(image, (x, y + text))
        x += image.width + gap
    for number, line in enumerate(lines):
        pen.text((gap, y + row + gap + number * text), line, fill=INK)
    return page
