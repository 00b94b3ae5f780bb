"""A template as a draft, to go on with it: masks become outlines, groups that were made by rule disappear."""

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.images.load import Picture
from wherein.studio.draft import Draft, DraftPart
from wherein.studio.tracing import traced
from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree

_RULE = "_group"
"""How `wherein.making.cut` calls the group of a part that others hang on."""


def opened(template: Template, picture: str) -> Draft:
    """The draft that gives this template.

    Arguments:
        template: as it was loaded.
        picture: the id of its canvas.
    """
    tree = template.parts
    hidden = _made_by_rule(tree)
    alone = tree[tree.root].motif is not None
    shown = [part for part in tree.values() if part.name not in hidden and (part.parent is not None or alone)]
    return Draft(
        name=template.name,
        picture=picture,
        parts=tuple(_drafted(part, tree, hidden) for part in shown),
        order=template.paint_order,
    )


def sheet_of(template: Template) -> Picture:
    """The canvas as a picture to outline on, without its alpha: what is outside may be drawn on too."""
    pixels, mask = template.canvas.pixels, template.canvas.mask
    if mask is None:
        return template.canvas
    return Picture(torch.where(mask > 0, pixels, torch.ones_like(pixels)), None)


def on_canvas(part: Part, size: tuple[int, int]) -> NDArray[np.float32]:
    """A leaf's mask, (H, W) of the canvas, to the next whole pixel."""
    assert part.motif is not None, "a leaf"
    levels = np.zeros((size[1], size[0]), dtype=np.float32)
    left, top = round(part.at[0]), round(part.at[1])
    rows, columns = slice(max(top, 0), top + part.motif.height), slice(max(left, 0), left + part.motif.width)
    place = levels[rows, columns]
    mask = part.motif.mask.numpy()[max(-top, 0) :, max(-left, 0) :]
    place[:] = mask[: place.shape[0], : place.shape[1]]
    return levels


def _made_by_rule(tree: Tree) -> dict[str, str]:
    """Groups that stand for one of their leaves, by name: the leaf has the group's joint in a draft."""
    found = {}
    for name in tree:
        leaf = name.removesuffix(_RULE)
        if leaf != name and leaf in tree.children(name) and tree[leaf].static:
            found[name] = leaf
    body = [name for name in tree.children(tree.root) if tree[name].motif is not None and tree[name].static]
    if len(body) == 1:  # what the whole object hangs on
        found[tree.root] = body[0]
    return found


def _drafted(part: Part, tree: Tree, hidden: dict[str, str]) -> DraftPart:
    joint = tree[part.parent] if part.parent is not None and hidden.get(part.parent) == part.name else part
    parent = hidden.get(joint.parent or "", joint.parent)
    is_root = joint.parent is None
    top = parent == tree.root or parent is None
    corner = np.array(part.at)
    return DraftPart(
        name=part.name,
        parent=None if top else parent,
        points=None
        if part.motif is None
        else tuple((x, y) for x, y in (traced(part.motif.mask.numpy() > 0.5) + corner).tolist()),
        kept=None if part.motif is None else part.name,
        pivot=None if is_root else joint.joint,
        turn=joint.turn,
        static=joint.static or is_root,
    )
