"""Outlines to masks: which pixels of the picture a part takes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import TemplateError
from wherein.formats.part_outline import Outline
from wherein.images.load import Picture, load_mask
from wherein.images.polygons import coverage
from wherein.template.tree import Point


@dataclass(frozen=True)
class Box:
    """The pixels [top : bottom, left : right] of a picture."""

    left: int
    top: int
    right: int
    bottom: int

    @staticmethod
    def around(mask: Float[Tensor, "H W"]) -> "Box":
        """Where a mask is not zero."""
        rows, columns = torch.nonzero(mask.amax(1))[:, 0], torch.nonzero(mask.amax(0))[:, 0]
        return Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)

    @property
    def corner(self) -> tuple[int, int]:
        """The place of the first pixel."""
        return self.left, self.top

    @property
    def middle(self) -> Point:
        """Between the first pixel and the last."""
        return (self.left + self.right - 1) / 2, (self.top + self.bottom - 1) / 2

    def of(self, plane: Tensor) -> Tensor:
        """Its pixels (…, H, W)."""
        return plane[..., self.top : self.bottom, self.left : self.right]


def drawn(outlines: Iterable[Outline], picture: Picture) -> tuple[dict[str, Float[Tensor, "h w"]], Box]:
    """The mask of every outline by name, and the box of the picture that holds them all.

    A mask says how much of each pixel is the part, in the 256 levels that a file has; the picture's alpha
    counts too. Nothing is drawn outside of the box: photographs are large, and objects in them small.

    Raises:
        TemplateError: an outline is not as it must be, or empty; the message names it.
    """
    height, width = picture.pixels.shape[-2:]
    shapes = {outline.name: _shape(outline, width, height) for outline in outlines}
    low = np.min([shape.low for shape in shapes.values()], 0).clip(0, (width - 1, height - 1))
    high = np.max([shape.high for shape in shapes.values()], 0).clip(low + 1, (width, height))
    box = Box(*map(int, low), *map(int, high))
    alpha = torch.ones(1) if picture.mask is None else box.of(picture.mask).detach().float().cpu()
    masks = {name: (shape.within(box) * alpha * 255).round() / 255 for name, shape in shapes.items()}
    for name, mask in masks.items():
        if not bool((mask > 0.5).any()):
            size = f"{width} × {height}"
            raise TemplateError(f'the part "{name}" is empty: no pixel of the {size} picture is half in it')
    return masks, box


@dataclass(frozen=True, eq=False)
class _Polygon:
    corners: NDArray[np.float64]

    @property
    def low(self) -> NDArray[np.float64]:
        return np.floor(self.corners.min(0) + 0.5)

    @property
    def high(self) -> NDArray[np.float64]:
        return np.floor(self.corners.max(0) + 0.5) + 1

    def within(self, box: Box) -> Float[Tensor, "h w"]:
        inside = coverage(self.corners - box.corner, box.right - box.left, box.bottom - box.top)
        return torch.from_numpy(inside)


@dataclass(frozen=True, eq=False)
class _Mask:
    levels: Float[Tensor, "H W"]
    around: Box

    @property
    def low(self) -> NDArray[np.float64]:
        return np.array(self.around.corner, dtype=np.float64)

    @property
    def high(self) -> NDArray[np.float64]:
        return np.array((self.around.right, self.around.bottom), dtype=np.float64)

    def within(self, box: Box) -> Float[Tensor, "h w"]:
        return box.of(self.levels)


def _shape(outline: Outline, width: int, height: int) -> _Polygon | _Mask:
    whose = f'the part "{outline.name}"'
    if outline.mask is None:
        return _Polygon(_corners(outline, whose, width, height))
    if outline.polygon is not None:
        raise TemplateError(f"{whose} has a polygon and a mask: give one of them")
    levels = load_mask(outline.mask, role=whose).float().cpu()
    if levels.shape != (height, width):
        came = f"{levels.shape[1]} × {levels.shape[0]}"
        raise TemplateError(f"{whose} has a mask of {came}, but the picture is {width} × {height}")
    if not bool((levels > 0).any()):
        raise TemplateError(f"{whose} has an empty mask: it needs a pixel that is more than half in it")
    return _Mask(levels, Box.around(levels))


def _corners(outline: Outline, whose: str, width: int, height: int) -> NDArray[np.float64]:
    try:
        corners = np.asarray(outline.polygon, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        raise TemplateError(f"{whose}: its polygon must be a list of corners (x, y)") from None
    if len(corners) < 3:
        raise TemplateError(f"{whose} has a polygon of {len(corners)} corners: draw at least three")
    if not np.isfinite(corners).all():
        raise TemplateError(f"{whose}: a corner of its polygon is not a number")
    low, high = corners.min(0), corners.max(0)
    if (high < -0.5).any() or low[0] > width - 0.5 or low[1] > height - 0.5:
        reach = f"({low[0]:g}, {low[1]:g}) to ({high[0]:g}, {high[1]:g})"
        raise TemplateError(
            f"{whose} lies outside of the {width} × {height} picture: it reaches from {reach}"
        )
    return corners
