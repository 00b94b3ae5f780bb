"""A template as rigid pieces: what moves as one, what it hangs on, and which leaf shows its place best.

A leaf is rigid with the nearest part above it that has a joint, or with the root. That part is the piece's
*home*: the piece fixes the home's frame. A group with a joint but no rigid leaf of its own has no picture to
be found by; the pieces below it get its freedom on top of their own.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.images.render import paint
from wherein.motion.field import lattice, transform
from wherein.template import Template
from wherein.template.pose import rotations
from wherein.template.tree import Matrix, Part, Point, Tree
from wherein.warp import warp

_PLAY = 0.01
"""Of the canvas's diagonal: how exactly joints are drawn."""

LEAST_VISIBLE = 0.3
"""Of a leaf: with less of it visible at rest, all of it is compared."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Leaves that move as one.

    Attributes:
        home: the part whose frame they fix.
        leaves: the one with the most texture first.
        motif: the first leaf's, without what other parts cover at rest.
        parent: the home of the piece that it hangs on; the root where there is none.
        joint: what it turns about, on the canvas.
        turn: how far it may turn, ± degrees.
        slack: how far the joint itself may have moved with groups that have no picture, in canvas pixels.
        play: how far the joint may be from where it was drawn, in canvas pixels.
        texture: of all leaves, Σ (x − x̄)² over mask and channels.
    """

    home: str
    leaves: tuple[Part, ...]
    motif: Motif
    parent: str
    joint: Point
    turn: float
    slack: float
    play: float
    texture: float

    @property
    def carrier(self) -> Part:
        """The leaf that is fitted; the others follow."""
        return self.leaves[0]

    def starts(self, step: float) -> Matrix:
        """(T, 3, 3): turns about the joint, no further than `step` degrees apart."""
        count = max(1, 1 + 2 * math.ceil(self.turn / step - 1e-9))
        return rotations(np.linspace(-self.turn, self.turn, count), self.joint)


@dataclass(frozen=True, eq=False)
class Pieces:
    """All pieces of a template, parents before children."""

    tree: Tree
    pieces: tuple[Piece, ...]

    @staticmethod
    def of(template: Template) -> "Pieces":
        """From the tree."""
        tree = template.parts
        homes: dict[str, list[Part]] = {}
        for name in tree:
            if tree[name].motif is not None:
                homes.setdefault(_home(tree, name), []).append(tree[name])
        ordered = [name for name in tree if name in homes]
        return Pieces(tree, tuple(_piece(template, name, homes[name], homes) for name in ordered))

    @cached_property
    def body(self) -> Piece | None:
        """The piece that is rigid with the root, if there is one."""
        return next((piece for piece in self.pieces if piece.home == self.tree.root), None)

    @cached_property
    def limbs(self) -> tuple[Piece, ...]:
        """The others."""
        return tuple(piece for piece in self.pieces if piece.home != self.tree.root)

    @cached_property
    def hung_on_root(self) -> tuple[Piece, ...]:
        """Limbs whose joints keep their place relative to the root, or nearly."""
        return tuple(piece for piece in self.limbs if piece.parent == self.tree.root)


def _home(tree: Tree, name: str) -> str:
    part = tree[name]
    while part.parent is not None and not part.moves:
        part = tree[part.parent]
    return part.name


def _piece(template: Template, home: str, leaves: list[Part], homes: dict[str, list[Part]]) -> Piece:
    tree = template.parts
    leaves = sorted(leaves, key=_texture, reverse=True)
    part, turn, slack = tree[home], tree[home].turn if tree[home].moves else 0.0, 0.0
    above = part.parent
    while above is not None and above not in homes and above != tree.root:
        group = tree[above]
        if group.moves:
            reach = math.dist(group.joint, part.joint)
            slack += 2 * math.sin(math.radians(min(group.turn, 90.0)) / 2) * reach
            turn += group.turn
        above = group.parent
    texture = sum(_texture(leaf) for leaf in leaves)
    motif = visible(template, leaves[0].name)
    play, turn = _PLAY * math.hypot(*template.size), min(turn, 180.0)
    return Piece(home, tuple(leaves), motif, above or home, part.joint, turn, slack, play, texture)


def visible(template: Template, name: str) -> Motif:
    """A leaf without the pixels that parts painted after it cover at rest, unless little would be left."""
    motif = template.parts[name].motif
    assert motif is not None, "a leaf"
    mask = uncovered(template, name)
    enough = bool((mask > 0.5).sum() >= LEAST_VISIBLE * (motif.mask > 0.5).sum())
    return Motif(motif.pixels, mask) if enough else motif


def uncovered(template: Template, name: str) -> Float[Tensor, "h w"]:
    """A leaf's mask without the pixels that parts painted after it cover at rest."""
    leaf = template.parts[name]
    assert leaf.motif is not None, "a leaf"
    width, height = template.size
    cover = torch.zeros(1, height, width)
    for other in template.paint_order[template.paint_order.index(name) + 1 :]:
        above = template.parts[other]
        if above.motif is not None:
            stencil = Motif(torch.ones(1, *above.motif.mask.shape), above.motif.mask)
            cover = paint(cover, stencil, torch.from_numpy(above.rest))
    back = transform(
        torch.from_numpy(leaf.rest), lattice(leaf.motif.height, leaf.motif.width, torch.zeros(1).double())
    )
    return leaf.motif.mask * (1 - warp(cover, back.float())[0].clamp(0, 1))


def _texture(leaf: Part) -> float:
    motif = leaf.motif
    assert motif is not None, "a leaf"
    values = motif.pixels[:, motif.mask > 0.5]
    return float((values - values.mean(1, keepdim=True)).square().sum())
