"""Editable outlines from masks: for the parts of a template, and for the alpha of a picture."""

import numpy as np
from numpy.typing import NDArray

from wherein.images.contours import contours
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon, hull, signed_area

_TOLERANCE = 1.0
"""Maximum distance in pixels between a mask and its outline. A choice: a larger tolerance than for results
gives fewer corners to edit."""

_OPAQUE = 0.5
"""Alpha above which pixels are inside the outline. A choice: the edge is in the middle of its ramp, and soft
shadows are outside."""

_MAX_EDGES = 100_000
"""Maximum number of pixel edges that are traced, about a second. A choice: the outline of a photographed
object has a tenth of this, noise has more."""

_MAX_CORNERS = 1000
"""Maximum number of corners of an outline; otherwise the convex hull is used. A choice: nobody edits more,
and inside the hull the mask is the alpha anyway."""


def editable_outline(mask: NDArray[np.bool_]) -> Polygon:
    """The outline of the largest component of a mask, without holes, with few corners."""
    return contours(mask, _TOLERANCE)[0]


def alpha_outline(picture: Picture) -> Polygon | None:
    """The outline of the opaque pixels of a picture; None if all or none are opaque, or if it is too ragged.

    Several components get one outline, their convex hull. The transparent pixels in it do not become part of
    the object, because masks are multiplied by the alpha.
    """
    if picture.mask is None:
        return None
    opaque = picture.mask.detach().cpu().numpy() > _OPAQUE
    # Counting is fast; tracing ragged masks is not.
    if opaque.all() or not opaque.any() or _edges(opaque) > _MAX_EDGES:
        return None
    outer = [ring for ring in contours(opaque, _TOLERANCE) if signed_area(ring) > 0]
    simple = len(outer) == 1 and len(outer[0]) <= _MAX_CORNERS
    return outer[0] if simple else hull(np.concatenate(outer))


def _edges(mask: NDArray[np.bool_]) -> int:
    """The number of pairs of adjacent pixels of which one is inside the mask and one outside."""
    return sum(int(np.count_nonzero(np.diff(mask, axis=axis))) for axis in (0, 1))
