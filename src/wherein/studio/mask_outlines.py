"""Outlines of masks that a person goes on to edit: of the parts of a template, and of a picture's alpha."""

import numpy as np
from numpy.typing import NDArray

from wherein.images.contours import contours
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon, hull, signed_area

_TOLERANCE = 1.0
"""Pixels between a mask and its outline. A choice: it has fewer corners to edit."""

_OPAQUE = 0.5
"""Alpha of pixels inside the outline. A choice: an edge is in the middle of its ramp, and soft shadows are
outside."""

_MAX_EDGES = 100_000
"""Edges of pixels that are followed, about a second. A choice: the outline of a photographed object has a
tenth of this, noise has more."""

_MAX_CORNERS = 1000
"""Corners of an outline. A choice: nobody edits more, and within the hull alpha is the mask anyway."""


def editable_outline(mask: NDArray[np.bool_]) -> Polygon:
    """The outline of the largest component of a mask, without holes, with few corners."""
    return contours(mask, _TOLERANCE)[0]


def alpha_outline(picture: Picture) -> Polygon | None:
    """The outline of what is opaque in a picture; None if all or nothing is, or if it is too ragged.

    Several components have one outline, their hull: what is transparent within it is not part of the object.
    """
    if picture.mask is None:
        return None
    opaque = picture.mask.detach().cpu().numpy() > _OPAQUE
    if opaque.all() or not opaque.any() or _edges(opaque) > _MAX_EDGES:
        return None
    outer = [ring for ring in contours(opaque, _TOLERANCE) if signed_area(ring) > 0]
    simple = len(outer) == 1 and len(outer[0]) <= _MAX_CORNERS
    return outer[0] if simple else hull(np.concatenate(outer))


def _edges(mask: NDArray[np.bool_]) -> int:
    """Number of pairs of neighbouring pixels of which one is inside."""
    return sum(int(np.count_nonzero(np.diff(mask, axis=axis))) for axis in (0, 1))
