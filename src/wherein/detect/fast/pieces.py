"""A template as rigid pieces: what moves as one, what it hangs on, and which leaf shows its place best.

A leaf is rigid with the nearest part above it that has a joint, or with the root. That part is the piece's
*name*: the piece fixes the name's frame. A group with a joint but no rigid leaf of its own has no picture to
be found by: what hangs on it says how it is turned.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.template.bundle import Template
from wherein.template.paint import paint
from wherein.template.pose import rotations
from wherein.template.tree import Matrix, Part, Point, Tree
from wherein.warp import warp

_PLAY = 0.01
"""Of the canvas's diagonal: how exactly joints are drawn."""

LEAST_VISIBLE = 0.3
"""Of a leaf: with less of it visible at rest, all of it is compared."""


@dataclass(frozen=True, eq=False)
class Joint:
    """What turns about a point of what it hangs on.

    Attributes:
        name: the part that turns.
        parent: the name of the piece, or the group without a picture, that it hangs on; the root where there
            is neither.
        joint: what it turns about, on the canvas.
        turn: how far it may turn, ± degrees.
        play: how far the joint may be from where it was drawn, in canvas pixels.
    """

    name: str
    parent: str
    joint: Point
    turn: float
    play: float

    def starts(self, step: float) -> Matrix:
        """(T, 3, 3): turns about the joint, no further than `step` degrees apart."""
        count = max(1, 1 + 2 * math.ceil(self.turn / step - 1e-9))
        return rotations(np.linspace(-self.turn, self.turn, count), self.joint)


@dataclass(frozen=True, eq=False)
class Piece(Joint):
    """Leaves that move as one.

    Attributes:
        leaves: the one with the most texture first.
        motif: the first leaf's, without what other parts cover at rest.
        texture: of all leaves, Σ (x − x̄)² over mask and channels.
    """

    leaves: tuple[Part, ...]
    motif: Motif
    texture: float

    @property
    def fitted_leaf(self) -> Part:
        """The leaf that is fitted; the others follow."""
        return self.leaves[0]


@dataclass(frozen=True, eq=False)
class Pieces:
    """All pieces of a template and the groups between them, parents before children.

    Attributes:
        tree: the parts.
        pieces: what moves as one.
        groups: what turns but has no picture of its own.
    """

    tree: Tree
    pieces: tuple[Piece, ...]
    groups: tuple[Joint, ...]

    @staticmethod
    def of(template: Template) -> "Pieces":
        """From the tree."""
        tree = template.parts
        homes: dict[str, list[Part]] = {}
        for name in tree:
            if tree[name].motif is not None:
                homes.setdefault(_home(tree, name), []).append(tree[name])
        pieces = tuple(_piece(template, name, homes[name]) for name in tree if name in homes)
        bare = (name for name in tree if tree[name].moves and name not in homes)
        return Pieces(tree, pieces, tuple(_joint(template, name) for name in bare))

    @cached_property
    def body(self) -> Piece | None:
        """The piece that is rigid with the root, if there is one."""
        return next((piece for piece in self.pieces if piece.name == self.tree.root), None)

    @cached_property
    def limbs(self) -> tuple[Piece, ...]:
        """The others."""
        return tuple(piece for piece in self.pieces if piece.name != self.tree.root)

    @cached_property
    def hung_on_root(self) -> tuple[Piece, ...]:
        """Limbs whose joints keep their place relative to the root, but for groups that turn."""
        return tuple(piece for piece in self.limbs if self._held_by(piece) == self.tree.root)

    @cached_property
    def in_order(self) -> tuple[tuple[Joint | None, tuple[Piece, ...]], ...]:
        """Groups with the pieces that hang on each, and before, between and after them the other pieces one
        by one with no group: what they hang on always comes first."""
        groups = {group.name: group for group in self.groups}
        single = {piece.name: piece for piece in self.pieces if piece.parent not in groups}
        ordered: list[tuple[Joint | None, tuple[Piece, ...]]] = []
        for name in self.tree:
            if name in groups:
                ordered.append((groups[name], tuple(p for p in self.pieces if p.parent == name)))
            elif name in single:
                ordered.append((None, (single[name],)))
        return tuple(ordered)

    def groups_above(self, piece: Piece) -> tuple[Joint, ...]:
        """The groups between a piece and the next piece above it, or the root; the nearest first."""
        groups, above = {group.name: group for group in self.groups}, []
        name = piece.parent
        while name in groups:
            above.append(groups[name])
            name = groups[name].parent
        return tuple(above)

    def _held_by(self, piece: Piece) -> str:
        above = self.groups_above(piece)
        return above[-1].parent if above else piece.parent


def _home(tree: Tree, name: str) -> str:
    part = tree[name]
    while part.parent is not None and not part.moves:
        part = tree[part.parent]
    return part.name


def _piece(template: Template, name: str, leaves: list[Part]) -> Piece:
    leaves = sorted(leaves, key=_texture, reverse=True)
    motif, texture = visible(template, leaves[0].name), sum(_texture(leaf) for leaf in leaves)
    at = _joint(template, name)
    return Piece(at.name, at.parent, at.joint, at.turn, at.play, tuple(leaves), motif, texture)


def _joint(template: Template, name: str) -> Joint:
    """The joint of a part: it hangs on the next part above that moves."""
    tree, part = template.parts, template.parts[name]
    return Joint(
        name=name,
        parent=name if part.parent is None else _home(tree, part.parent),
        joint=part.joint,
        turn=min(part.turn, 180.0) if part.moves else 0.0,
        play=_PLAY * math.hypot(*template.size),
    )


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
