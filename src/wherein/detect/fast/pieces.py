"""A template as rigid pieces: which leaves move together, about which joint, and which leaf is fitted.

A leaf moves rigidly with the nearest part that has a joint, which is the leaf itself or a part above it, or
with the root. All leaves that move with the same part are one *piece*, named after that part; the fit of the
piece gives the frame of the part. A part with a joint but without such leaves is a *group*: it has no picture
to fit, and its turn follows from the pieces attached to it.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.motion.homography import rotations
from wherein.template.bundle import Template
from wherein.template.paint import paint
from wherein.template.tree import Matrix, Part, Point, Tree
from wherein.warp import warp

_PLAY = 0.02
"""Play of a joint, as a fraction of the canvas's diagonal. A choice: pivots are placed by hand."""

_HEIGHT = 0.035
"""Maximum height of a limb above the plane of its parent, as a fraction of the canvas's diagonal. A choice: a
tenth of the radius of a dial that fills the canvas. In 160 photographs of a wall thermometer, the needle lies
a twentieth of the radius above the plate."""

MIN_UNCOVERED = 0.3
"""Minimum fraction of a leaf that other parts leave uncovered at rest. A choice: below this, too little would
be left to fit, and the whole leaf is compared."""

TURN_TOLERANCE = 3.0
"""Degrees by which a turn may exceed its limit. A choice: limits are set by hand."""

JOINT_TOLERANCE = 4.0
"""Canvas pixels by which the distance between two joints may be off if their limbs were fitted independently.
A choice, between `LOOSE` and `TIGHT` of `joints.joint_geometry`."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A part that turns about a point of its parent.

    Attributes:
        name: the part that turns.
        parent: the piece or group that it is attached to; the root where there is neither.
        joint: the point that it turns about, on the canvas.
        turn: how far it may turn, ± degrees.
        play: how far the joint may be from its position in the template, in canvas pixels.
        height: how far above the plane of its parent it may lie, in canvas pixels.
    """

    name: str
    parent: str
    joint: Point
    turn: float
    play: float
    height: float

    def starts(self, step: float) -> Matrix:
        """Rotations about the joint, (T, 3, 3), over all of its range and at most `step` degrees apart."""
        # An odd number, so that the rest position is one of them. Without −1e-9, rounding could add a step
        # where the quotient is an integer, as in 30 / 10.
        count = max(1, 1 + 2 * math.ceil(self.turn / step - 1e-9))
        return rotations(np.linspace(-self.turn, self.turn, count), self.joint)


@dataclass(frozen=True, eq=False)
class Piece(Joint):
    """Leaves that move rigidly together.

    Attributes:
        leaves: its leaves, the one with the most texture first.
        motif: the motif of the first leaf, without the pixels that other parts cover at rest.
        covered: the fraction of each of its pixels that other parts cover at rest, (h, w).
        texture: of all leaves, Σ (x − x̄)² over mask and channels.
    """

    leaves: tuple[Part, ...]
    motif: Motif
    covered: Float[Tensor, "h w"]
    texture: float

    @cached_property
    def fitted_leaf(self) -> Part:
        """The leaf that is fitted; the others move with it."""
        # The leaf with the most texture constrains the pose best.
        return self.leaves[0]


@dataclass(frozen=True, eq=False)
class Pieces:
    """All pieces of a template and the groups between them, parents before children.

    Attributes:
        tree: the parts.
        pieces: the rigid pieces.
        groups: the parts that turn but have no leaves of their own.
    """

    tree: Tree
    pieces: tuple[Piece, ...]
    groups: tuple[Joint, ...]

    @staticmethod
    def of(template: Template) -> "Pieces":
        """The pieces and groups of a template."""
        tree = template.parts
        rigid: dict[str, list[Part]] = {}
        for name in tree:
            if tree[name].motif is not None:
                rigid.setdefault(_moves_with(tree, name), []).append(tree[name])
        pieces = tuple(_piece(template, name, rigid[name]) for name in tree if name in rigid)
        bare = (name for name in tree if tree[name].moves and name not in rigid)
        return Pieces(tree, pieces, tuple(_joint(template, name) for name in bare))

    @cached_property
    def body(self) -> Piece | None:
        """The piece that is fixed to the root; None if there is none."""
        return next((piece for piece in self.pieces if piece.name == self.tree.root), None)

    @cached_property
    def limbs(self) -> tuple[Piece, ...]:
        """All pieces but the body."""
        return tuple(piece for piece in self.pieces if piece.name != self.tree.root)

    @cached_property
    def root_limbs(self) -> tuple[Piece, ...]:
        """The limbs attached to the root, directly or through groups, so that no other piece moves their
        joints."""
        return tuple(piece for piece in self.limbs if self._attached_to(piece) == self.tree.root)

    @cached_property
    def in_order(self) -> tuple[tuple[Joint | None, tuple[Piece, ...]], ...]:
        """The order in which pieces are placed: each after the piece or group that it is attached to.

        Returns:
            (group, all pieces attached to it), or (None, one piece) for a piece that is attached to no group.
            The pieces of a group are listed together because they determine its turn together.
        """
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

    def _attached_to(self, piece: Piece) -> str:
        """The name of the next piece above, or of the root, skipping groups."""
        above = self.groups_above(piece)
        return above[-1].parent if above else piece.parent


def _moves_with(tree: Tree, name: str) -> str:
    """The name of the nearest part that has a joint, which is the part itself or one above it, or of the
    root."""
    part = tree[name]
    while part.parent is not None and not part.moves:
        part = tree[part.parent]
    return part.name


def _piece(template: Template, name: str, leaves: list[Part]) -> Piece:
    leaves = sorted(leaves, key=_texture, reverse=True)
    first, texture = leaves[0].name, sum(_texture(leaf) for leaf in leaves)
    motif, covered = uncovered_motif(template, first), cover_at_rest(template, first)
    # Nearly all of the leaf is covered, and `uncovered_motif` returned it whole: then all pixels are
    # compared.
    if motif is template.parts[first].motif:
        covered = torch.zeros_like(covered)
    at = vars(_joint(template, name))
    return Piece(**at, leaves=tuple(leaves), motif=motif, covered=covered, texture=texture)


def _joint(template: Template, name: str) -> Joint:
    """The joint of a part. Its parent is the next part above that moves, or the root."""
    tree, part, diagonal = template.parts, template.parts[name], math.hypot(*template.size)
    return Joint(
        name=name,
        parent=name if part.parent is None else _moves_with(tree, part.parent),
        joint=part.joint,
        turn=min(part.turn, 180.0) if part.moves else 0.0,
        play=_PLAY * diagonal,
        height=_HEIGHT * diagonal,
    )


def uncovered_motif(template: Template, name: str) -> Motif:
    """The motif of a leaf without the pixels that other parts cover at rest, or whole if too little is
    left."""
    motif = template.parts[name].motif
    assert motif is not None, "a leaf"
    mask = uncovered_mask(template, name)
    enough = bool((mask > 0.5).sum() >= MIN_UNCOVERED * (motif.mask > 0.5).sum())
    return Motif(motif.pixels, mask) if enough else motif


def uncovered_mask(template: Template, name: str) -> Float[Tensor, "h w"]:
    """The mask of a leaf without the pixels that parts painted after it cover at rest."""
    motif = template.parts[name].motif
    assert motif is not None, "a leaf"
    return motif.mask * (1 - cover_at_rest(template, name))


def cover_at_rest(template: Template, name: str) -> Float[Tensor, "h w"]:
    """The fraction of each pixel of a leaf that parts painted after it cover at rest, (h, w)."""
    if template not in _COVERS:
        _COVERS[template] = _covers(template)
    return _COVERS[template][name]


_COVERS: WeakKeyDictionary[Template, dict[str, Tensor]] = WeakKeyDictionary()
"""The covers of the leaves of each template. Kept as long as the template exists: each detector asks for them
several times, and they take a tenth of a second for a template of a dozen parts."""


def _covers(template: Template) -> dict[str, Tensor]:
    """The fraction of each pixel that parts painted later cover at rest, for each leaf by name."""
    width, height = template.size
    cover, covers = torch.zeros(1, height, width), dict[str, Tensor]()
    # From the last painted leaf to the first: `cover` is what lies above the current leaf, and each leaf adds
    # itself after its own cover is read.
    for name in reversed(template.paint_order):
        leaf = template.parts[name]
        assert leaf.motif is not None, "a leaf"
        # The cover is painted on the canvas and sampled at the pixels of the leaf, since leaves may lie at
        # fractions of a pixel and be turned.
        grid = lattice(leaf.motif.height, leaf.motif.width, torch.zeros(1).double())
        back = transform(torch.from_numpy(leaf.rest), grid)
        covers[name] = warp(cover, back.float())[0].clamp(0, 1)
        stencil = Motif(torch.ones(1, *leaf.motif.mask.shape), leaf.motif.mask)
        cover = paint(cover, stencil, torch.from_numpy(leaf.rest))
    return covers


def _texture(leaf: Part) -> float:
    """Σ (x − x̄)² over mask and channels."""
    motif = leaf.motif
    assert motif is not None, "a leaf"
    values = motif.pixels[:, motif.mask > 0.5]
    return float((values - values.mean(1, keepdim=True)).square().sum())
