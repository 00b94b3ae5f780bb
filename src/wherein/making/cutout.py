"""Cut a template out of a picture, along the outlines of its parts.

A pixel of a photograph shows the topmost part only: where a claw lies in front of a body, the appearance of
the body is unknown. Therefore each part is removed from the masks of all parts below it, and the body has a
hole where the claw is. With `keep_covered`, a part keeps all pixels inside its outline. Use it if the covered
pixels look like the part anyway.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from wherein.errors import TemplateError, require
from wherein.formats.part_outline import Outline
from wherein.images.eight_bit import rounded_to_levels
from wherein.images.load import Source, load_picture
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.making.outline_masks import PixelBox, outline_masks
from wherein.making.part_tree import depths, part_tree
from wherein.making.picture_turns import plane_turn
from wherein.making.round_plane import round_plane
from wherein.motion.canvas_plane import canvas_plane
from wherein.motion.homography import Numbers, shift
from wherein.template.bundle import Template
from wherein.template.part_limits import DEFAULT_TURN
from wherein.template.reading import Reading
from wherein.template.tree import Matrix, Part, Point, Tree

if TYPE_CHECKING:
    GivenPlane: TypeAlias = Numbers | Literal["round"] | None
else:
    # In tests, beartype checks types at run time. It would report a wrong type before our own error does.
    GivenPlane = object

_WIDE = 90.0
"""Minimum turn to each side of a part that turns on a round one, in degrees. A choice: needles and hands turn
that far, and most other parts do not."""


def cut(
    picture: Source,
    outlines: Sequence[Outline],
    name: str,
    paint_order: Sequence[str] | None = None,
    *,
    keep_covered: bool = False,
    plane: GivenPlane = "round",
) -> Template:
    """A template from a picture and the outlines of its parts.

    The canvas is the bounding box of all outlines. Where an outline cuts through a pixel, the mask is the
    covered fraction; masks are multiplied by the alpha of the picture. A part with both an outline and
    children becomes a static leaf of a group `<part>_group`. If several parts have no parent, or the only one
    has children, the root is a group with the name of the object. A single outline makes a template of one
    rigid motif.

    Arguments:
        picture: a path, an array, a tensor or a PIL image.
        outlines: the parts and groups, in any order.
        name: the name of the object.
        paint_order: names of parts with an outline, the lowest first; parts that are not named lie above
            these. By default children lie above their parents, and smaller parts above larger ones.
        keep_covered: whether parts keep the pixels that parts above them cover.
        plane: for a photograph taken at an angle, the homography (3×3) from the picture to the plane of the
            object as seen from in front, at any size: its parts turn in that plane. "round": it follows from
            an outline that is an ellipse, if a part turns about its centre by 90° or more to each side. None:
            parts turn in the plane of the picture. In any case the turns of a `reading` are those that one
            sees in the picture.

    Raises:
        PictureError: the picture cannot be read.
        TemplateError: an outline is wrong; the message names it.

    Example:
        >>> ramp = torch.linspace(0, 1, 60).expand(3, 40, 60)
        >>> body = Outline("body", [(10, 10), (29, 10), (29, 30), (10, 30)])
        >>> arm = Outline("arm", [(25, 15), (50, 15), (50, 22), (25, 22)], parent="body", pivot=(28, 18.5))
        >>> crane = cut(ramp, [body, arm], "crane")
        >>> crane.size, list(crane.parts), crane.parts["arm"].joint
        ((41, 21), ['crane', 'body', 'arm'], (18.0, 8.5))
    """
    require(isinstance(name, str) and bool(name.strip()), "the name of the template is empty: choose a name")
    given = _given_plane(plane)
    source = load_picture(picture, role="picture")
    tree = part_tree(outlines, name)
    masks, window = outline_masks((part for part in tree.values() if not part.group), source)
    order = _paint_order(masks, depths(outlines), paint_order)
    # The sum and not the maximum: a pixel that two adjacent parts share half and half belongs to the object.
    union = torch.stack(list(masks.values())).sum(0).clamp_max(1)
    whole = masks
    if not keep_covered:
        masks = _uncovered(masks, order)
    pixels = window.crop(source.pixels).detach().float().cpu().clone()
    canvas = PixelBox.around(union)
    origin = window.left + canvas.left, window.top + canvas.top
    parts = {
        part.name: _leaf(part, pixels, masks[part.name], canvas, origin)
        if part.name in masks
        else _group(part, canvas, origin)
        for part in tree.values()
    }
    shown = Picture(canvas.crop(pixels).contiguous(), canvas.crop(union).contiguous())
    flat = Template(name, shown, Tree(parts), order)
    if plane is None:
        return flat
    if given is not None:
        return _in_plane(flat, given @ shift(*origin))
    try:
        concluded = _round_plane(outlines, whole, window.corner)
        return flat if concluded is None else _in_plane(flat, concluded @ shift(*origin))
    except TemplateError:
        return flat  # what follows from one outline need not hold for the parts beside it


def _in_plane(flat: Template, plane: Matrix) -> Template:
    """The template with a plane. Its readings were marked in the picture."""
    canvas_plane(plane, flat.size)  # raises an error if it cannot be
    made = replace(flat, parts=Tree(flat.parts, plane))

    def read(part: Part) -> Part:
        if part.reading is None:
            return part
        at = tuple((plane_turn(made, part.name, turn), value) for turn, value in part.reading.at)
        return replace(part, reading=Reading(part.reading.unit, at))

    return replace(made, parts=Tree({name: read(part) for name, part in flat.parts.items()}, plane))


def _given_plane(plane: GivenPlane) -> Matrix | None:
    """The given homography; None if there is none."""
    if plane is None or (isinstance(plane, str) and plane == "round"):
        return None
    try:
        matrix = np.asarray(plane, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    require(matrix.shape == (3, 3), f'plane must be a 3×3 matrix, "round" or None, but is {plane!r}')
    return matrix


def _round_plane(
    outlines: Sequence[Outline], masks: Mapping[str, Tensor], corner: tuple[int, int]
) -> Matrix | None:
    """The plane of the first round part that another one turns on; `corner` is where the masks begin."""
    for outline in outlines:
        axle, below = outline.pivot, masks.get(outline.parent or "")
        if axle is None or below is None or outline.fixed or _turn(outline) < _WIDE:
            continue
        found = round_plane(below, (float(axle[0]) - corner[0], float(axle[1]) - corner[1]))
        if found is not None:
            return found @ shift(-corner[0], -corner[1])
    return None


def _paint_order(
    masks: Mapping[str, Tensor], depth: Mapping[str, int], wanted: Sequence[str] | None
) -> tuple[str, ...]:
    # `depth` has the outlines as they were given. In the tree, a part with children and its children may be
    # leaves of one group, at the same depth.
    by_default = sorted(masks, key=lambda name: (depth[name], -float(masks[name].sum())))
    first = list(dict.fromkeys(wanted or ()))
    for name in first:
        if name not in masks:
            raise TemplateError(f'paint_order names "{name}", which is not a part with an outline')
    return (*first, *(name for name in by_default if name not in first))


def _uncovered(masks: Mapping[str, Tensor], order: Sequence[str]) -> dict[str, Tensor]:
    """The masks without the pixels that parts above them cover."""
    visible: dict[str, Tensor] = {}
    free = torch.ones(1)  # the fraction of each pixel that no part above covers, from the topmost down
    for name in reversed(order):
        visible[name] = rounded_to_levels(masks[name] * free)
        if not bool((visible[name] > 0.5).any()):
            raise TemplateError(
                f'the part "{name}" is completely covered by parts above it: change the paint order'
            )
        free = free * (1 - masks[name])
    return visible


def _leaf(outline: Outline, pixels: Tensor, mask: Tensor, canvas: PixelBox, origin: tuple[int, int]) -> Part:
    """A leaf from its mask; `origin` is the position of the canvas's first pixel in the picture."""
    box = PixelBox.around(mask)
    motif = Motif(box.crop(pixels).contiguous(), box.crop(mask).contiguous())
    at = float(box.left - canvas.left), float(box.top - canvas.top)
    x, y = _pivot(outline, origin) or (box.centre[0] - canvas.left, box.centre[1] - canvas.top)
    return _part(outline, motif, at, (x - at[0], y - at[1]))


def _group(outline: Outline, canvas: PixelBox, origin: tuple[int, int]) -> Part:
    x, y = canvas.centre
    return _part(outline, None, (0.0, 0.0), _pivot(outline, origin) or (x - canvas.left, y - canvas.top))


def _part(outline: Outline, motif: Motif | None, at: Point, pivot: Point) -> Part:
    turn = _turn(outline)
    if not (math.isfinite(turn) and 0 <= turn <= 180):
        raise TemplateError(f'the part "{outline.name}" has turn={turn}: use 0 to 180 degrees')
    static = outline.fixed and outline.parent is not None  # the root has the pose of the object
    reading = None if outline.reading is None else Reading.of(outline.reading, f'the part "{outline.name}"')
    return Part(outline.name, outline.parent, motif, at, pivot, float(turn), static, reading)


def _turn(outline: Outline) -> float:
    return DEFAULT_TURN if outline.turn is None else outline.turn


def _pivot(outline: Outline, origin: tuple[int, int]) -> Point | None:
    """The pivot of an outline in canvas pixels, if it has one."""
    if outline.pivot is None:
        return None
    try:
        x, y = map(float, outline.pivot)
    except (TypeError, ValueError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise TemplateError(f'the part "{outline.name}" has pivot={outline.pivot}: use two finite numbers')
    return x - origin[0], y - origin[1]
