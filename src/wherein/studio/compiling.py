"""A draft to the template that it stands for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import TemplateError
from wherein.formats.part_outline import Outline
from wherein.images.eight_bit import rounded_to_levels
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.making.cutout import cut
from wherein.studio.draft import Draft, DraftPart
from wherein.studio.opening import on_canvas
from wherein.template.bundle import Template
from wherein.template.tree import Part, Point, Tree


@dataclass(frozen=True, eq=False)
class Sheet:
    """A picture to outline on.

    Attributes:
        name: a label.
        picture: its pixels.
        base: the template whose canvas it is, where one was opened.
        drafted: that template as a draft.
    """

    name: str
    picture: Picture
    base: Template | None = None
    drafted: Draft | None = None


def compiled(draft: Draft, sheet: Sheet) -> Template:
    """Cut the template out. Of an opened one, parts that were not drawn anew keep their pixels, also those
    that others hide at rest and the sheet does not show.

    Raises:
        TemplateError: something is not as it must be; the message names the part.
    """
    if sheet.base is None:
        return cut(sheet.picture, [part.outline() for part in draft.parts], draft.name, draft.order)
    base = sheet.base
    if sheet.drafted is not None and draft.model_copy(update={"name": sheet.drafted.name}) == sheet.drafted:
        return replace(base, name=draft.name)  # with the calibration that is kept beside it
    kept = {part.name: _known(part, base) for part in draft.parts if part.kept is not None}
    outlines = [_outline(part, kept.get(part.name), base.size) for part in draft.parts]
    drawn = [part.name for part in draft.parts if part.points is not None and part.name not in kept]
    made = cut(sheet.picture, outlines, draft.name, draft.order, keep_covered=not drawn)
    corner, parts = _corner(made, outlines), dict(made.parts)
    for name, known in kept.items():
        above = made.paint_order[made.paint_order.index(name) + 1 :]
        cover = _cover(made, [other for other in above if other in drawn])
        parts[name] = _restored(made.parts[name], known, corner, cover)
    return replace(made, parts=Tree(parts))


def _known(part: DraftPart, base: Template) -> Part:
    """The part of the opened template whose pixels a part has, whatever it is called now."""
    known = base.parts.get(part.kept or "")
    if known is None or known.motif is None:
        raise TemplateError(f'the opened template has no picture for "{part.name}": draw its outline anew')
    return known


def _outline(part: DraftPart, known: Part | None, size: tuple[int, int]) -> Outline:
    """Of a part with a picture, with a place for its joint in any case: it tells where the canvas lies."""
    outline = part.outline()
    if part.points is None:
        return outline
    x, y = outline.pivot or np.mean(part.points, axis=0)
    shape = {"polygon": part.points} if known is None else {"polygon": None, "mask": on_canvas(known, size)}
    return replace(outline, pivot=(float(x), float(y)), **shape)


def _corner(made: Template, outlines: Sequence[Outline]) -> Point:
    """The pixel of the sheet that the canvas begins with, by the joint of a part that nothing hangs on."""
    parents = {outline.parent for outline in outlines}
    end = next(outline for outline in outlines if outline.name not in parents)
    assert end.pivot is not None, "given to all that have a picture, as all ends have"
    x, y = made.parts[end.name].joint
    return end.pivot[0] - x, end.pivot[1] - y


def _cover(made: Template, names: Sequence[str]) -> Float[Tensor, "H W"]:
    """How much of each pixel of the canvas these parts take."""
    planes = [torch.from_numpy(on_canvas(made.parts[name], made.size)) for name in names]
    return torch.stack([torch.zeros(made.size[::-1]), *planes]).sum(0).clamp_max(1)


def _restored(part: Part, known: Part, corner: Point, cover: Float[Tensor, "H W"]) -> Part:
    """A part with the picture that it had, but for what new parts above it take."""
    assert known.motif is not None, "a leaf"
    height, width = known.motif.mask.shape
    at = known.at[0] - corner[0], known.at[1] - corner[1]
    left, top = round(at[0]) + width, round(at[1]) + height
    taken = F.pad(cover, (width, width, height, height))[top : top + height, left : left + width]
    motif = Motif(known.motif.pixels, rounded_to_levels(known.motif.mask * (1 - taken)))
    x, y = part.joint
    return replace(part, motif=motif, at=at, pivot=(x - at[0], y - at[1]))
