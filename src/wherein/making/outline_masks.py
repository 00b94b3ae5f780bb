"""Masks from outlines: the fraction of each pixel of a picture that belongs to a part."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import TemplateError
from wherein.formats.part_outline import Outline
from wherein.images.eight_bit import rounded_to_levels
from wherein.images.load import load_mask
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon, coverage
from wherein.template.tree import Point


@dataclass(frozen=True)
class PixelBox:
    """The pixels [top : bottom, left : right] of a picture."""

    left: int
    top: int
    right: int
    bottom: int

    @staticmethod
    def around(mask: Float[Tensor, "H W"]) -> "PixelBox":
        """The bounding box of the pixels of a mask that are not zero."""
        rows, columns = torch.nonzero(mask.amax(1))[:, 0], torch.nonzero(mask.amax(0))[:, 0]
        return PixelBox(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)

    @property
    def corner(self) -> tuple[int, int]:
        """Its first pixel (x, y)."""
        return self.left, self.top

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.right - self.left, self.bottom - self.top

    @property
    def centre(self) -> Point:
        """The centre (x, y) in the picture, where pixel centres are at whole numbers."""
        return (self.left + self.right - 1) / 2, (self.top + self.bottom - 1) / 2

    def crop(self, planes: Tensor) -> Tensor:
        """The pixels of a picture (…, H, W) in the box."""
        return planes[..., self.top : self.bottom, self.left : self.right]


def outline_masks(
    outlines: Iterable[Outline], picture: Picture
) -> tuple[dict[str, Float[Tensor, "h w"]], PixelBox]:
    """The mask of each outline by name, and the bounding box of all outlines in the picture.

    A mask is the fraction of each pixel that belongs to the part, times the alpha of the picture, rounded to
    the 256 levels of a file. Masks have the size of the box and not of the picture, to save memory: objects
    are small in large photographs.

    Raises:
        TemplateError: an outline is wrong, or empty; the message names it.
    """
    height, width = picture.samples.shape[-2:]
    regions = {outline.name: _region(outline, width, height) for outline in outlines}
    # Outlines may reach beyond the picture. The box keeps at least one pixel of it.
    low = np.min([region.low for region in regions.values()], 0).clip(0, (width - 1, height - 1))
    high = np.max([region.high for region in regions.values()], 0).clip(low + 1, (width, height))
    box = PixelBox(*map(int, low), *map(int, high))
    # Multiplied with the alpha, so that an outline may be drawn roughly around a cut-out picture.
    alpha = torch.ones(1) if picture.mask is None else box.crop(picture.mask).detach().float().cpu()
    masks = {name: rounded_to_levels(region.mask(box) * alpha) for name, region in regions.items()}
    for name, mask in masks.items():
        if not bool((mask > 0.5).any()):
            raise TemplateError(
                f'the part "{name}" is empty: more than half of some pixel must be inside the outline'
            )
    return masks, box


@dataclass(frozen=True, eq=False)
class _PolygonRegion:
    """A polygon. `low` and `high` are its first pixel, and one beyond its last, as in slices."""

    corners: Polygon

    @property
    def low(self) -> NDArray[np.float64]:
        return np.floor(self.corners.min(0) + 0.5)

    @property
    def high(self) -> NDArray[np.float64]:
        return np.floor(self.corners.max(0) + 0.5) + 1

    def mask(self, box: PixelBox) -> Float[Tensor, "h w"]:
        return torch.from_numpy(coverage(self.corners - box.corner, *box.size))


@dataclass(frozen=True, eq=False)
class _MaskRegion:
    """A mask of the whole picture, with the same interface as `_PolygonRegion`."""

    levels: Float[Tensor, "H W"]
    box: PixelBox

    @property
    def low(self) -> NDArray[np.float64]:
        return np.array(self.box.corner, dtype=np.float64)

    @property
    def high(self) -> NDArray[np.float64]:
        return np.array((self.box.right, self.box.bottom), dtype=np.float64)

    def mask(self, box: PixelBox) -> Float[Tensor, "h w"]:
        return box.crop(self.levels)


def _region(outline: Outline, width: int, height: int) -> _PolygonRegion | _MaskRegion:
    part = f'the part "{outline.name}"'
    if outline.mask is None:
        return _PolygonRegion(_corners(outline, part, width, height))
    if outline.polygon is not None:
        raise TemplateError(f"{part} has a polygon and a mask: use one of them")
    levels = load_mask(outline.mask, role=part).float().cpu()
    if levels.shape != (height, width):
        given = f"{levels.shape[1]} × {levels.shape[0]}"
        raise TemplateError(f"{part} has a mask of {given} pixels, but the picture has {width} × {height}")
    if not bool((levels > 0).any()):
        raise TemplateError(f"{part} has an empty mask: at least one pixel must be above 0.5")
    return _MaskRegion(levels, PixelBox.around(levels))


def _corners(outline: Outline, part: str, width: int, height: int) -> Polygon:
    try:
        corners = np.asarray(outline.polygon, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        raise TemplateError(f"{part}: its polygon must be a list of corners (x, y)") from None
    if len(corners) < 3:
        raise TemplateError(f"{part} has a polygon of {len(corners)} corners: draw at least three")
    if not np.isfinite(corners).all():
        raise TemplateError(f"{part}: its polygon contains NaN or infinity")
    low, high = corners.min(0), corners.max(0)
    # The picture extends from −0.5 to size − 0.5, since pixel centres are at whole numbers.
    if (high < -0.5).any() or low[0] > width - 0.5 or low[1] > height - 0.5:
        extent = f"({low[0]:g}, {low[1]:g}) to ({high[0]:g}, {high[1]:g})"
        raise TemplateError(f"{part} lies outside the {width} × {height} picture: it extends from {extent}")
    return corners
