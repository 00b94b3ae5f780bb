"""From poses of single pieces to places of the whole object.

The root between the joints of its limbs, where there is no body that says where it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import BEYOND, TIGHT, keeps_joint, scales
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.score import FOUND, information
from wherein.pyramid.descent import Fits
from wherein.pyramid.levels import Poses
from wherein.template.tree import Point

_JOINT = 4.0
"""Canvas pixels by which the distance of two joints may be off."""

_ASTRAY = 1.5
"""Canvas pixels by which the joints of the others may be off under a root that one piece suggests: a thin
part is not seen from further away."""

_OFTEN = 4
"""Hypotheses that one pose of a piece has part in, as long as there are others: a group that may turn makes
many of the same pieces, and another object is to have its turn.
"""

_BLOCK = 256
"""Poses of one piece that are held against all of another at a time: of a large scene there are thousands."""

SURE, _SINGLES = 6.0, 2
"""Times the information of clutter from which one piece, or two that agree, are reason enough to look for the
others; and how many poses of a piece are followed by themselves."""

_Ends = tuple[NDArray[np.complex128], NDArray[np.complex128]]


def roots_from_pairs(
    found: Mapping[str, Fits],
    pieces: Sequence[Piece],
    weights: Mapping[str, float],
    scale: tuple[float, float],
    count: int,
    least: float = 0.0,
    above: Mapping[str, Sequence[Joint]] | None = None,
) -> Poses:
    """Root frames on which the joints of two pieces agree, those with the most evidence first.

    The joints of pieces that hang on the root lie still on the canvas, so that two of them fix a similarity:
    the spikes of the paper's inner nodes, two at a time. It must have a scale within the range, and both
    pieces must then be turned by no more than they may. Where there are groups that turn between a piece and
    the root, its joint is asked for at every turn of the nearest; of two pieces of one group at rest only,
    since how that is turned they cannot tell.

    Arguments:
        found: frames (canvas → scene) of every piece by name, and their ZNCC.
        pieces: those that hang on the root.
        weights: how much the evidence of a piece counts.
        scale: lowest and highest.
        count: how many at most.
        least: evidence that a pair must have, in units of what clutter gives a piece.
        above: the groups between each piece and the root by name, the nearest first; None: there are none.
    """
    frames, totals, members = [], [], []
    counts = np.cumsum([0, *(len(found[piece.name].zncc) for piece in pieces)]).tolist()
    first = {piece.name: number for piece, number in zip(pieces, counts, strict=False)}
    above = above or {piece.name: () for piece in pieces}
    for a, b in combinations(pieces, 2):
        together = above[a.name][:1] == above[b.name][:1]
        of_a, of_b = (_anchors(piece, () if together else above[piece.name]) for piece in (a, b))
        for at_a, at_b in product(of_a, of_b):
            pairs, evidence, which = _agreeing(at_a, at_b, found[a.name], found[b.name], weights, scale)
            frames.append(pairs)
            totals.append(evidence)
            members.append(which + np.array((first[a.name], first[b.name])))
    if not frames:
        return np.zeros((0, 3, 3))
    every, evidence = np.concatenate(frames), np.concatenate(totals)
    order = [k for k in np.argsort(-evidence, kind="stable").tolist() if evidence[k] >= least]
    return every[_distinct(every, order, np.concatenate(members), pieces, count)]


def roots_from_singles(
    found: Mapping[str, Fits], pieces: Sequence[Piece], weights: Mapping[str, float]
) -> Poses:
    """Root frames from one piece alone, where it fits far better than by chance: every turn that it may have.

    Arguments:
        found: frames (canvas → scene) of every piece by name, and their ZNCC.
        pieces: those that hang on the root.
        weights: how much the evidence of a piece counts.
    """
    joints = np.array([piece.joint for piece in pieces])
    roots = [np.zeros((0, 3, 3))]
    for piece in pieces:
        evidence = weights[piece.name] * information(found[piece.name].zncc)
        enough = SURE if len(pieces) > 1 else 0.0  # where there are no others, there is nothing else to ask
        sure = found[piece.name].poses[evidence >= enough][:_SINGLES]
        reach = np.linalg.norm(joints - piece.joint, axis=1).max()
        back = piece.starts(2 * math.degrees(math.atan2(_ASTRAY, max(reach, 1.0))))
        roots.append((sure[:, None] @ back).reshape(-1, 3, 3))
    return np.concatenate(roots)


@dataclass(frozen=True)
class _Anchor:
    """A piece, where its joint lies on the root's canvas, and the degrees by which what it hangs on is turned
    there."""

    piece: Piece
    joint: Point
    held: float = 0.0


def _anchors(piece: Piece, above: Sequence[Joint]) -> list[_Anchor]:
    """At turns of the nearest group so close that the joint is never far from one."""
    if not above:
        return [_Anchor(piece, piece.joint)]
    group = above[0]
    step = 2 * math.degrees(math.atan2(_JOINT, max(math.dist(group.joint, piece.joint), 1.0)))
    starts = group.starts(min(step, 2 * piece.turn + BEYOND))
    joints = starts @ np.array((*piece.joint, 1.0))
    held = np.degrees(np.arctan2(starts[:, 1, 0], starts[:, 0, 0]))
    anchors = [
        _Anchor(piece, (float(x), float(y)), float(t)) for (x, y, _), t in zip(joints, held, strict=True)
    ]
    return sorted(
        anchors, key=lambda anchor: abs(anchor.held)
    )  # of what fits alike, what is turned the least


def _agreeing(
    at_a: _Anchor,
    at_b: _Anchor,
    of_a: Fits,
    of_b: Fits,
    weights: Mapping[str, float],
    scale: tuple[float, float],
) -> tuple[Poses, NDArray[np.float64], NDArray[np.int64]]:
    """Root frames, their evidence, and which poses of the two pieces each is from."""
    a, b = at_a.piece, at_b.piece
    joints = np.array(((*at_a.joint, 1.0), (*at_b.joint, 1.0)))
    ends = _ends(a, of_a), _ends(b, of_b)
    apart = complex(joints[1, 0] - joints[0, 0], joints[1, 1] - joints[0, 1])
    if abs(apart) < 2 * _JOINT:
        return np.zeros((0, 3, 3)), np.zeros(0), np.zeros((0, 2), dtype=np.int64)
    tolerance = max(_JOINT, a.play + b.play) / abs(apart)
    nearest, farthest = abs(apart) * scale[0] * (1 - tolerance), abs(apart) * scale[1] * (1 + tolerance)
    which = _at_distance(ends, nearest, farthest)
    of_a, of_b, ends = of_a[which[:, 0]], of_b[which[:, 1]], (ends[0][which[:, 0]], ends[1][which[:, 1]])
    linear = (ends[1] - ends[0]) / apart
    size, fits = np.abs(linear), np.ones(len(linear), dtype=np.bool_)
    for at, poses in ((at_a, of_a.poses), (at_b, of_b.poses)):
        turned = _complex(poses[:, :2, 0]) / np.where(size > 0, linear, 1)
        turned = turned * np.exp(-1j * math.radians(at.held))
        fits &= np.abs(np.degrees(np.angle(turned))) <= at.piece.turn + 2 * BEYOND
    evidence = weights[a.name] * information(of_a.zncc) + weights[b.name] * information(of_b.zncc)
    middle = (ends[0] + ends[1]) / 2
    kept = np.clip(size, *scale) * linear / np.where(size > 0, size, 1)
    return _frames(kept[fits], middle[fits], joints.mean(0)), evidence[fits], which[fits]


def _at_distance(ends: _Ends, nearest: float, farthest: float) -> NDArray[np.int64]:
    """All pairs whose ends are so far apart, (N, 2)."""
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for begin in range(0, len(ends[0]), _BLOCK):
        distance = np.abs(ends[1] - ends[0][begin : begin + _BLOCK, None])
        pairs.append(np.argwhere((distance > nearest) & (distance < farthest)) + np.array((begin, 0)))
    return np.concatenate(pairs)


def _ends(piece: Piece, found: Fits) -> NDArray[np.complex128]:
    """Where each pose has the joint."""
    return _complex((found.poses @ np.array((*piece.joint, 1.0)))[:, :2])


def _complex(points: NDArray[np.float64]) -> NDArray[np.complex128]:
    """(x, y) as x + iy: multiplication is then a turn and a scale."""
    return points[:, 0] + 1j * points[:, 1]


def _frames(linear: NDArray[np.complex128], spots: NDArray[np.complex128], at: NDArray[np.float64]) -> Poses:
    """Similarities with these linear parts that take the point `at` to the spots."""
    shift = spots - linear * complex(at[0], at[1])
    frames = np.zeros((len(linear), 3, 3))
    frames[:, 0, 0] = frames[:, 1, 1] = linear.real
    frames[:, 1, 0], frames[:, 0, 1] = linear.imag, -linear.imag
    frames[:, 0, 2], frames[:, 1, 2], frames[:, 2, 2] = shift.real, shift.imag, 1.0
    return frames


def _distinct(
    frames: Poses,
    order: Sequence[int],
    members: NDArray[np.int64],
    pieces: Sequence[Piece],
    count: int,
) -> list[int]:
    """The first `count` in the order under which some joint lies elsewhere than under those before; those
    with a pose that has been taken often come last.

    Arguments:
        frames: (N, 3, 3).
        order: in which they are asked.
        members: (N, 2), the numbers of the poses that each is from, over all pieces.
        pieces: whose joints are compared.
        count: how many at most.
    """
    joints = np.array([(*piece.joint, 1.0) for piece in pieces]).T
    spots = (frames @ joints)[:, :2]
    kept: list[int] = []
    late: list[int] = []
    taken = np.zeros(int(members.max(initial=0)) + 1, dtype=np.int64)

    def take(index: int) -> None:
        if len(kept) < count and all(np.abs(spots[index] - spots[k]).max() > _JOINT for k in kept):
            kept.append(index)
            taken[members[index]] += 1

    for index in order:
        if len(kept) == count:
            break
        if taken[members[index]].max() < _OFTEN:
            take(index)
        else:
            late.append(index)
    for index in late[: _BLOCK * count]:
        take(index)
    return kept


def root_from_joints(
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]],
    pieces: Sequence[Piece],
    roots: Poses,
    sizes: NDArray[np.float64],
) -> Poses:
    """Root frames from the joints of all pieces that were found, by weighted least squares.

    min Σ_k w_k |s R q_k + b − F_k q_k|² over rotation R and shift b, the scale s being given; the root that
    was there before where fewer than two joints are known. Of a piece in a group, q_k is the joint as the
    group has turned it.

    Arguments:
        frames: (H, 3, 3) by name, canvas → scene; also of groups that pieces hang on.
        trust: w, (H,) by name.
        pieces: those that hang on the root.
        roots: before.
        sizes: s, (H,): two joints that lie close together would tell it badly.
    """
    joints = np.array([(*piece.joint, 1.0) for piece in pieces])
    ends = np.stack([_complex((frames[p.name] @ joints[k])[:, :2]) for k, p in enumerate(pieces)], 1)
    away = np.linalg.inv(roots)
    at = np.stack(
        [_complex((away @ frames.get(p.parent, roots) @ joints[k])[:, :2]) for k, p in enumerate(pieces)], 1
    )
    w = np.stack([trust[p.name] for p in pieces], 1)
    known = (w > 0).sum(1) > 1
    total = np.maximum(w.sum(1), 1e-12)
    mean_at, mean_end = (w * at).sum(1) / total, (w * ends).sum(1) / total
    off_at, off_end = at - mean_at[:, None], ends - mean_end[:, None]
    spread = (w * np.abs(off_at) ** 2).sum(1)
    known &= spread / total > _JOINT**2
    linear = (w * off_end * off_at.conj()).sum(1) / np.maximum(spread, 1e-12)
    size = np.abs(linear)
    linear = np.where(size > 0, linear / np.where(size > 0, size, 1), 1.0) * sizes
    frames_new = _frames(linear, mean_end - linear * mean_at, np.zeros(2))
    return np.where(known[:, None, None], frames_new, roots)


def settle_roots(placement: Placement, pieces: Pieces, weights: Mapping[str, float]) -> Placement:
    """The same with the root between the joints of its limbs, where there is no body that says more, and with
    groups at rest that nothing tells the turn of, where that agrees with what is seen.

    Arguments:
        placement: every piece.
        pieces: of the template.
        weights: how much the evidence of a piece counts, by name.
    """
    hung, groups = pieces.hung_on_root, pieces.groups
    if not hung:
        return placement
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in hung}
    trust = {name: np.where(weight >= FOUND, weight, 0.0) for name, weight in evidence.items()}
    free = _about_joints(placement, pieces, trust)
    if not groups:
        return free
    rested = _about_joints(_resting(placement, groups, hung, trust), pieces, trust)
    rested = _resting(rested, groups, hung, trust)  # with the root where it now is
    simpler = np.flatnonzero(_joined(rested, hung, trust) & ~_body_seen(placement, pieces))
    return free.replaced(simpler, rested[simpler])


def _about_joints(
    placement: Placement, pieces: Pieces, trust: Mapping[str, NDArray[np.float64]]
) -> Placement:
    """The root where the joints of its limbs say, unless the body does."""
    hung, root = pieces.hung_on_root, pieces.tree.root
    roots = root_from_joints(
        placement.frames, trust, hung, placement.frames[root], scales(placement.frames[root])
    )
    if len(hung) == 1 and pieces.body is None:  # nothing tells how it is turned: as it was drawn
        roots = placement.frames[hung[0].name]
    roots = np.where(_body_seen(placement, pieces)[:, None, None], placement.frames[root], roots)
    return replace(placement, frames={**placement.frames, root: roots})


def _body_seen(placement: Placement, pieces: Pieces) -> NDArray[np.bool_]:
    """Under which hypotheses."""
    return placement.zncc.get(pieces.tree.root, np.full(len(placement), -1.0)) > 0


def _resting(
    placement: Placement,
    groups: Sequence[Joint],
    pieces: Sequence[Piece],
    trust: Mapping[str, NDArray[np.float64]],
) -> Placement:
    """The same with groups at rest of which one piece is seen at most, or of which alone pieces are seen:
    nothing can then tell the group's turn from the root's."""
    seen = {piece.name: (trust[piece.name] > 0).astype(int) for piece in pieces}
    for group in groups:
        inside = [seen[piece.name] for piece in pieces if piece.parent == group.name]
        outside = [seen[piece.name] for piece in pieces if piece.parent != group.name]
        none = np.zeros(len(placement), dtype=int)
        alone = (sum(inside, none) <= 1) | (sum(outside, none) == 0)
        frames = np.where(alone[:, None, None], placement.frames[group.parent], placement.frames[group.name])
        placement = placement.with_frames(group.name, frames)
    return placement


def _joined(
    placement: Placement, pieces: Sequence[Piece], trust: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.bool_]:
    """Under which hypotheses all pieces that are seen are where their joints say."""
    fits = np.ones(len(placement), dtype=np.bool_)
    for piece in pieces:
        held = keeps_joint(piece, placement.frames[piece.parent], placement.frames[piece.name], TIGHT)
        fits &= held | (trust[piece.name] <= 0)
    return fits
