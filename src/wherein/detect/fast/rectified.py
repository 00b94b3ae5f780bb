"""A template that was photographed at an angle, as seen from in front.

On a foreshortened canvas a turning part describes ellipses, and with perspective its size changes too. The
search knows turns of one plane only. So it searches for the rectified template, in which a turn is a
rotation, and reports poses of the template as it was given.
"""

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.motion.canvas_plane import canvas_plane, moved_box
from wherein.motion.field import lattice, transform
from wherein.motion.homography import mapped, shift, tilt_at
from wherein.template.bundle import Template
from wherein.template.tree import Matrix, Part, Point, Tree
from wherein.threads import one_thread
from wherein.warp import warp

_BORDER = 4
"""Pixels by which a picture is continued before it is sampled: more than the radius of the kernel."""

_SOFT = 2
"""Pixels that are kept beyond the opaque ones, whose mask is above ½. A choice: edges are as soft as that."""


@dataclass(frozen=True, eq=False)
class Rectified:
    """A template as seen from in front.

    Attributes:
        template: with the rectified pictures; its canvas is its plane.
        from_given: canvas of the given template → canvas of the rectified one, 3×3.
    """

    template: Template
    from_given: Matrix


_MADE: WeakKeyDictionary[Template, Rectified] = WeakKeyDictionary()
"""Rectified templates, as long as the given ones exist: a calibration asks for the same one several times."""


def rectified(template: Template, max_tilt: float) -> Rectified:
    """The template as it is searched for with tilts of up to `max_tilt` degrees.

    It is rectified if its own tilt is one of these: otherwise poses like that of its photograph would be out
    of range. If it is not, its parts turn on the canvas. At the middle of the canvas, the rectified template
    has the size and the rotation of the given one.
    """
    plane = template.parts.plane
    if plane is None:
        return Rectified(template, np.eye(3))
    if max_tilt == 0 or tilt_at(plane, template.centre) > max_tilt:
        return Rectified(replace(template, parts=Tree(template.parts)), np.eye(3))
    if template not in _MADE:
        _MADE[template] = _rectified(template, canvas_plane(plane, template.size))
    return _MADE[template]


@one_thread()  # the pictures must not depend on the number of threads
def _rectified(template: Template, plane: Matrix) -> Rectified:
    low, high = moved_box(plane, template.size)
    to_plane = shift(-low[0], -low[1]) @ plane
    canvas = template.canvas
    mask = torch.ones_like(canvas.pixels[0]) if canvas.mask is None else canvas.mask
    seen = _seen(Motif(canvas.pixels, mask), to_plane, np.zeros(2), high - low)
    parts = {name: _part(part, to_plane) for name, part in template.parts.items()}
    made = replace(template, canvas=Picture(seen.pixels, seen.mask), parts=Tree(parts))
    return Rectified(made, to_plane)


def _part(part: Part, to_plane: Matrix) -> Part:
    joint = mapped(to_plane, part.joint)
    if part.motif is None:
        return replace(part, pivot=_point(joint))
    # Without the transparent border, which may reach beyond the horizon of the plane.
    motif, (x, y) = _opaque(part.motif)
    at = part.at[0] + x, part.at[1] + y
    own = to_plane @ shift(*at)
    low, high = moved_box(own, (motif.width, motif.height))
    # Nor with one, since resolutions go by the size of the picture.
    made, first = _opaque(_seen(motif, own, low, high - low))
    low = low + np.array(first)
    return replace(part, motif=made, at=_point(low), pivot=_point(joint - low))


def _opaque(motif: Motif) -> tuple[Motif, tuple[int, int]]:
    """The motif without its transparent border, but for pixels of soft edges, and where it begins."""
    rows, columns = (torch.nonzero(motif.mask.amax(axis) > 0.5)[:, 0] for axis in (1, 0))
    top, left = max(0, int(rows[0]) - _SOFT), max(0, int(columns[0]) - _SOFT)
    inside = slice(top, int(rows[-1]) + 1 + _SOFT), slice(left, int(columns[-1]) + 1 + _SOFT)
    return Motif(motif.pixels[(slice(None), *inside)].contiguous(), motif.mask[inside].contiguous()), (
        left,
        top,
    )


def _point(place: NDArray[np.float64]) -> Point:
    x, y = place.tolist()
    return x, y


def _seen(motif: Motif, matrix: Matrix, low: NDArray[np.float64], size: NDArray[np.float64]) -> Motif:
    """A picture after a motion: its pixels from `low` on, a box of the given size."""
    width, height = int(size[0]), int(size[1])
    # Pixels are continued at the border, so that those at the edge of the mask do not become darker.
    planes = F.pad(motif.pixels[None].float(), (_BORDER,) * 4, mode="replicate")[0]
    cover = F.pad(motif.mask[None].float(), (_BORDER,) * 4)
    back = shift(_BORDER, _BORDER) @ np.linalg.inv(matrix) @ shift(*low)
    places: Float[Tensor, "h w 2"] = transform(
        torch.from_numpy(back), lattice(height, width, torch.zeros(1, dtype=torch.float64))
    )
    seen = warp(torch.cat((planes, cover)), places.float()).clamp(0, 1)
    mask = seen[-1].contiguous()
    # A pixel counts as inside the mask above 0.5. A thin part that became smaller may have no such pixel.
    return Motif(seen[:-1].contiguous(), mask if bool((mask > 0.5).any()) else mask / mask.max())
