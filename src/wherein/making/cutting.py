"""Cut a template out of a picture along the outlines of its parts.

A pixel of a photograph shows one part, the topmost: where a claw lies in front of a body, what the body
looks like is not known. So a part is cut out of all parts below it, and the body has a hole where the claw
was. With `keep_covered` a part keeps all that its outline holds; that is for parts whose hidden pixels are
right too, or nearly.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from wherein.errors import TemplateError, require
from wherein.formats.part_outline import Outline
from wherein.images.load import Picture, Source, load_picture
from wherein.images.motif import Motif
from wherein.making.arranging import arranged, heights
from wherein.making.masking import Box, drawn
from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree


def cut(
    picture: Source,
    outlines: Sequence[Outline],
    name: str,
    paint_order: Sequence[str] | None = None,
    *,
    keep_covered: bool = False,
) -> Template:
    """The template of the parts that are outlined on a picture.

    The canvas is the box around all of them. Edges are as soft as the polygons cut pixels, and the picture's
    own alpha counts too. A part that has both an outline and parts hanging on it becomes a static leaf of a
    group `<part>_group`; where several parts hang on nothing, or the object is one part with others on it,
    the root is a group that is called as the object is. A single outline is a template of one rigid motif.

    Arguments:
        picture: a path, an array, a tensor or a PIL image.
        outlines: the parts and groups, in any order.
        name: of the object.
        paint_order: parts that have an outline, the lowest first; those that it leaves out lie on top. By
            default what hangs on a part lies above it, and of parts beside each other the larger below.
        keep_covered: parts keep the pixels that parts above them cover.

    Raises:
        PictureError: the picture cannot be read.
        TemplateError: an outline is not as it must be; the message names it.

    Example:
        >>> ramp = torch.linspace(0, 1, 60).expand(3, 40, 60)
        >>> body = Outline("body", [(10, 10), (29, 10), (29, 30), (10, 30)])
        >>> arm = Outline("arm", [(25, 15), (50, 15), (50, 22), (25, 22)], parent="body", pivot=(28, 18.5))
        >>> crane = cut(ramp, [body, arm], "crane")
        >>> crane.size, list(crane.parts), crane.parts["arm"].joint
        ((41, 21), ['crane', 'body', 'arm'], (18.0, 8.5))
    """
    require(bool(name.strip()), "the template has no name: give it one")
    source = load_picture(picture, role="picture")
    tree = arranged(outlines, name)
    masks, window = drawn((part for part in tree.values() if not part.group), source)
    order = _order(masks, heights(outlines), paint_order)
    whole = torch.stack(list(masks.values())).sum(0).clamp_max(1)  # parts side by side leave no seam
    if not keep_covered:
        masks = _uncovered(masks, order)
    pixels, frame = window.of(source.pixels).detach().float().cpu().clone(), Box.around(whole)
    origin = window.left + frame.left, window.top + frame.top
    parts = {
        part.name: _leaf(part, pixels, masks[part.name], frame, origin)
        if part.name in masks
        else _group(part, frame, origin)
        for part in tree.values()
    }
    canvas = Picture(frame.of(pixels).contiguous(), frame.of(whole).contiguous())
    return Template(name, canvas, Tree(parts), order)


def _order(
    masks: Mapping[str, Tensor], height: Mapping[str, int], wanted: Sequence[str] | None
) -> tuple[str, ...]:
    natural = sorted(masks, key=lambda name: (height[name], -float(masks[name].sum())))
    first = list(dict.fromkeys(wanted or ()))
    for name in first:
        if name not in masks:
            raise TemplateError(f'paint_order names "{name}", which is not a part with an outline')
    return (*first, *(name for name in natural if name not in first))


def _uncovered(masks: Mapping[str, Tensor], order: Sequence[str]) -> dict[str, Tensor]:
    """Each part without those that lie above it."""
    seen: dict[str, Tensor] = {}
    free = torch.ones(1)
    for name in reversed(order):
        seen[name] = (masks[name] * free * 255).round() / 255
        if not bool((seen[name] > 0.5).any()):
            raise TemplateError(
                f'the part "{name}" cannot be seen, the parts above it cover it: change the paint order'
            )
        free = free * (1 - masks[name])
    return seen


def _leaf(outline: Outline, pixels: Tensor, mask: Tensor, frame: Box, origin: tuple[int, int]) -> Part:
    box = Box.around(mask)
    motif = Motif(box.of(pixels).contiguous(), box.of(mask).contiguous())
    at = float(box.left - frame.left), float(box.top - frame.top)
    x, y = _pivot(outline, origin) or (box.middle[0] - frame.left, box.middle[1] - frame.top)
    return _part(outline, motif, at, (x - at[0], y - at[1]))


def _group(outline: Outline, frame: Box, origin: tuple[int, int]) -> Part:
    middle = (frame.right - frame.left - 1) / 2, (frame.bottom - frame.top - 1) / 2
    return _part(outline, None, (0.0, 0.0), _pivot(outline, origin) or middle)


def _part(outline: Outline, motif: Motif | None, at: tuple[float, float], pivot: tuple[float, float]) -> Part:
    if not (math.isfinite(outline.turn) and 0 <= outline.turn <= 180):
        raise TemplateError(f'the part "{outline.name}" turns by ±{outline.turn}°: give 0 to 180')
    static = outline.fixed and outline.parent is not None  # a root moves freely, with the object
    return Part(outline.name, outline.parent, motif, at, pivot, float(outline.turn), static)


def _pivot(outline: Outline, origin: tuple[int, int]) -> tuple[float, float] | None:
    """On the canvas, whose first pixel is the picture's pixel `origin`."""
    if outline.pivot is None:
        return None
    try:
        x, y = map(float, outline.pivot)
    except (TypeError, ValueError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise TemplateError(f'the part "{outline.name}" has its pivot at {outline.pivot}: give x and y')
    return x - origin[0], y - origin[1]
