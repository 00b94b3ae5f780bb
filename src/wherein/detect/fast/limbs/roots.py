"""Roots from limbs: from pairs of limbs whose joints agree, and from single limbs that fit very well.

They are needed if a template has no body, or its body is hidden. Such a root is approximate; after all limbs
are placed about it, the joints of all limbs determine it (`root_from_joints`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.pieces import JOINT_TOLERANCE, TURN_TOLERANCE, Joint, Piece
from wherein.detect.score import information
from wherein.motion.homography import as_complex, mapped, similarities
from wherein.planes.plane_fit import PlaneFits
from wherein.pyramid.levels import Poses
from wherein.template.tree import Point

_SINGLE_TOLERANCE = 1.5
"""Canvas pixels by which the joints of other limbs may be off under a root from a single limb. A choice: a
thin part is not found from further away."""

_MAX_USES = 4
"""Maximum number of roots that one pose of a limb may be part of, as long as there are other roots. A choice:
with a group that may turn, the same two limbs give many roots, which would crowd out those of another
object."""

_BLOCK = 256
"""Number of poses of one limb that are compared with all poses of another at a time. A choice that bounds
memory: in a scene of 48 megapixels there are 15,600 poses of a limb, and all pairs at once took 8.8 GB."""

STRONG_EVIDENCE, _MAX_SINGLES = 6.0, 2
"""Minimum weighted evidence of one limb, or of a pair of limbs, that is enough to search for the other limbs,
and maximum number of poses of each limb that are followed on their own. Choices."""

_JointPositions = tuple[NDArray[np.complex128], NDArray[np.complex128]]


def roots_from_pairs(
    found: Mapping[str, PlaneFits],
    pieces: Sequence[Piece],
    weights: Mapping[str, float],
    scale: tuple[float, float],
    count: int,
    min_evidence: float = 0.0,
    groups: Mapping[str, Sequence[Joint]] | None = None,
) -> Poses:
    """Root frames on which the joints of two limbs agree, those with the most evidence first, (R, 3, 3).

    The joints of limbs that are attached to the root have fixed positions on the canvas, so two of them
    determine a similarity: the spikes of the paper's inner nodes, two at a time. Its scale must be within the
        range, and neither limb may be turned beyond its limit under it. If groups lie between a limb and the
        root, its joint is tried at every turn of the nearest group. Two limbs of the same group are tried
        with the group at rest only, since they cannot distinguish its turn from that of the root.

    Arguments:
        found: frames (canvas → scene) of every limb by name, and their ZNCC.
        pieces: the limbs attached to the root.
        weights: of the evidence of each limb, by name.
        scale: the lowest and the highest scale of the root.
        count: maximum number of root frames.
        min_evidence: minimum weighted evidence of a pair.
        groups: the groups between each limb and the root by name, the nearest first; None: there are none.
    """
    every, evidence, members = _pairs(found, pieces, weights, scale, groups)
    order = [k for k in np.argsort(-evidence, kind="stable").tolist() if evidence[k] >= min_evidence]
    return every[_distinct(every, order, members, pieces, count)]


def best_pair_evidence(
    found: Mapping[str, PlaneFits],
    pieces: Sequence[Piece],
    weights: Mapping[str, float],
    scale: tuple[float, float],
    groups: Mapping[str, Sequence[Joint]] | None = None,
) -> float:
    """The highest weighted evidence of two limbs whose joints agree; arguments as of `roots_from_pairs`."""
    _, evidence, _ = _pairs(found, pieces, weights, scale, groups)
    return float(evidence.max(initial=0.0))


def _pairs(
    found: Mapping[str, PlaneFits],
    pieces: Sequence[Piece],
    weights: Mapping[str, float],
    scale: tuple[float, float],
    groups: Mapping[str, Sequence[Joint]] | None,
) -> tuple[Poses, NDArray[np.float64], NDArray[np.int64]]:
    """Root frames on which two limbs agree, their weighted evidence, and the numbers of the two poses.

    In a fixed order: pairs of limbs, then turns of their groups, then poses.
    """
    frames, totals, members = [np.zeros((0, 3, 3))], [np.zeros(0)], [np.zeros((0, 2), dtype=np.int64)]
    # Poses are numbered over all limbs, so that `_distinct` can count the uses of each.
    counts = np.cumsum([0, *(len(found[piece.name].zncc) for piece in pieces)]).tolist()
    first = {piece.name: number for piece, number in zip(pieces, counts, strict=False)}
    groups = groups or {piece.name: () for piece in pieces}
    for a, b in combinations(pieces, 2):
        same_group = groups[a.name][:1] == groups[b.name][:1]
        anchors_a, anchors_b = (_anchors(piece, () if same_group else groups[piece.name]) for piece in (a, b))
        for at_a, at_b in product(anchors_a, anchors_b):
            pairs, evidence, which = _agreeing(at_a, at_b, found[a.name], found[b.name], weights, scale)
            frames.append(pairs)
            totals.append(evidence)
            members.append(which + np.array((first[a.name], first[b.name])))
    return np.concatenate(frames), np.concatenate(totals), np.concatenate(members)


def roots_from_singles(
    found: Mapping[str, PlaneFits],
    pieces: Sequence[Piece],
    weights: Mapping[str, float],
    min_evidence: float = 0.0,
) -> Poses:
    """Root frames from single limbs that fit far better than clutter, for every turn of the limb, (R, 3, 3).

    Arguments:
        found: frames (canvas → scene) of every limb by name, and their ZNCC.
        pieces: the limbs attached to the root.
        weights: of the evidence of each limb, by name.
        min_evidence: minimum weighted evidence of a limb, if it is more than `STRONG_EVIDENCE`.
    """
    joints = np.array([piece.joint for piece in pieces])
    roots = [np.zeros((0, 3, 3))]
    for piece in pieces:
        evidence = weights[piece.name] * information(found[piece.name].zncc)
        # A template with a single limb has no pairs, so every pose has to be followed.
        enough = max(STRONG_EVIDENCE, min_evidence) if len(pieces) > 1 else 0.0
        strong = found[piece.name].poses[evidence >= enough][:_MAX_SINGLES]
        # The steps are so small that the farthest joint of the other limbs is off by no more than the
        # tolerance.
        reach = np.linalg.norm(joints - piece.joint, axis=1).max()
        back = piece.starts(2 * math.degrees(math.atan2(_SINGLE_TOLERANCE, max(reach, 1.0))))
        # The frame of a limb is root · turn, so the root is frame · turn⁻¹. The turns are symmetric about 0,
        # so their inverses are the same set.
        roots.append((strong[:, None] @ back).reshape(-1, 3, 3))
    return np.concatenate(roots)


def root_from_joints(
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]],
    pieces: Sequence[Piece],
    roots: Poses,
    sizes: NDArray[np.float64],
) -> Poses:
    """Root frames that fit the joints of all limbs that were found, by weighted least squares, (H, 3, 3).

    min Σ_k w_k |s R q_k + b − F_k q_k|² over the rotation R and the shift b, with a given scale s. A root
    does not change if fewer than two joints are known. For a limb in a group, the first q_k is the joint as
    turned by the group.

    Arguments:
        frames: canvas → scene, (H, 3, 3) by name, also of the groups that limbs are attached to.
        trust: w, (H,) by name.
        pieces: the limbs attached to the root.
        roots: the root frames so far, (H, 3, 3).
        sizes: s, (H,). It is given, since two joints that are close together determine it poorly.
    """
    ends = np.stack([as_complex(mapped(frames[p.name], p.joint)) for p in pieces], 1)
    inverse = np.linalg.inv(roots)
    at = np.stack([as_complex(mapped(inverse @ frames.get(p.parent, roots), p.joint)) for p in pieces], 1)
    w = np.stack([trust[p.name] for p in pieces], 1)
    known = (w > 0).sum(1) > 1
    total = np.maximum(w.sum(1), 1e-12)
    # In complex numbers R is exp(iθ). With centred positions a and c, |s exp(iθ) a − c|² is smallest where θ
    # is the argument of Σ w conj(a) c. The shift then maps one mean to the other.
    mean_at, mean_end = (w * at).sum(1) / total, (w * ends).sum(1) / total
    off_at, off_end = at - mean_at[:, None], ends - mean_end[:, None]
    spread = (w * np.abs(off_at) ** 2).sum(1)
    # Joints that nearly coincide determine no direction.
    known &= spread / total > JOINT_TOLERANCE**2
    linear = (w * off_end * off_at.conj()).sum(1) / np.maximum(spread, 1e-12)
    size = np.abs(linear)
    linear = np.where(size > 0, linear / np.where(size > 0, size, 1), 1.0) * sizes
    fitted = similarities(linear, mean_end - linear * mean_at, np.zeros(2))
    return np.where(known[:, None, None], fitted, roots)


@dataclass(frozen=True)
class _Anchor:
    """A limb with its joint at one turn of its group.

    Attributes:
        piece: the limb.
        joint: the position of its joint on the canvas, after the turn of the group.
        group_turn: degrees by which the group is turned.
    """

    piece: Piece
    joint: Point
    group_turn: float = 0.0


def _anchors(piece: Piece, groups: Sequence[Joint]) -> list[_Anchor]:
    """A limb at the turns of its nearest group, the smallest turn first.

    The turns are so close that the joint is always within `JOINT_TOLERANCE` of its position at one of them.
    """
    if not groups:
        return [_Anchor(piece, piece.joint)]
    group = groups[0]
    step = 2 * math.degrees(math.atan2(JOINT_TOLERANCE, max(math.dist(group.joint, piece.joint), 1.0)))
    starts = group.starts(min(step, 2 * piece.turn + TURN_TOLERANCE))
    joints = starts @ np.array((*piece.joint, 1.0))
    turns = np.degrees(np.arctan2(starts[:, 1, 0], starts[:, 0, 0]))
    anchors = [
        _Anchor(piece, (float(x), float(y)), float(t)) for (x, y, _), t in zip(joints, turns, strict=True)
    ]
    # The evidence of a pair is the same at every turn of the group. Of equal pairs the first is kept, which
    # should be the one with the smallest turn.
    return sorted(anchors, key=lambda anchor: abs(anchor.group_turn))


def _agreeing(
    at_a: _Anchor,
    at_b: _Anchor,
    of_a: PlaneFits,
    of_b: PlaneFits,
    weights: Mapping[str, float],
    scale: tuple[float, float],
) -> tuple[Poses, NDArray[np.float64], NDArray[np.int64]]:
    """Root frames on which two limbs agree, their weighted evidence, and the indices of the two poses of
    each.

    In complex numbers a similarity is z ↦ linear · z + shift, and two joints determine both numbers.
    """
    a, b = at_a.piece, at_b.piece
    joints = np.array(((*at_a.joint, 1.0), (*at_b.joint, 1.0)))
    ends = _joint_positions(a, of_a), _joint_positions(b, of_b)
    # linear · (joint of b − joint of a on the canvas) = joint of b − joint of a in the scene.
    apart = complex(joints[1, 0] - joints[0, 0], joints[1, 1] - joints[0, 1])
    if abs(apart) < 2 * JOINT_TOLERANCE:  # too close together to determine a direction
        return np.zeros((0, 3, 3)), np.zeros(0), np.zeros((0, 2), dtype=np.int64)
    # Pairs at a wrong distance are dropped before anything else is computed: they are nearly all.
    tolerance = max(JOINT_TOLERANCE, a.play + b.play) / abs(apart)
    nearest, farthest = abs(apart) * scale[0] * (1 - tolerance), abs(apart) * scale[1] * (1 + tolerance)
    which = _at_distance(ends, nearest, farthest)
    of_a, of_b, ends = of_a[which[:, 0]], of_b[which[:, 1]], (ends[0][which[:, 0]], ends[1][which[:, 1]])
    linear = (ends[1] - ends[0]) / apart
    size, fits = np.abs(linear), np.ones(len(linear), dtype=np.bool_)
    for at, poses in ((at_a, of_a.poses), (at_b, of_b.poses)):
        turned = as_complex(poses[:, :2, 0]) / np.where(size > 0, linear, 1)
        turned = turned * np.exp(-1j * math.radians(at.group_turn))
        # Twice the tolerance, since the direction of the root is uncertain too.
        fits &= np.abs(np.degrees(np.angle(turned))) <= at.piece.turn + 2 * TURN_TOLERANCE
    evidence = weights[a.name] * information(of_a.zncc) + weights[b.name] * information(of_b.zncc)
    middle = (ends[0] + ends[1]) / 2
    # A scale outside the range, by no more than the tolerance, is clipped. The root then maps the middle of
    # the two joints exactly, so that both joints are off by the same distance.
    clipped = np.clip(size, *scale) * linear / np.where(size > 0, size, 1)
    return similarities(clipped[fits], middle[fits], joints.mean(0)), evidence[fits], which[fits]


def _at_distance(ends: _JointPositions, nearest: float, farthest: float) -> NDArray[np.int64]:
    """The indices of all pairs of positions whose distance lies between the two limits, (N, 2)."""
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for begin in range(0, len(ends[0]), _BLOCK):
        distance = np.abs(ends[1] - ends[0][begin : begin + _BLOCK, None])
        pairs.append(np.argwhere((distance > nearest) & (distance < farthest)) + np.array((begin, 0)))
    return np.concatenate(pairs)


def _joint_positions(piece: Piece, found: PlaneFits) -> NDArray[np.complex128]:
    """The position in the scene of the joint of a piece, under each of its frames, as complex numbers."""
    return as_complex((found.poses @ np.array((*piece.joint, 1.0)))[:, :2])


def _distinct(
    frames: Poses,
    order: Sequence[int],
    members: NDArray[np.int64],
    pieces: Sequence[Piece],
    count: int,
) -> list[int]:
    """The indices of the first `count` frames that differ from each other in the position of some joint.

    A frame comes last if one of its poses is already used in `_MAX_USES` frames.

    Arguments:
        frames: (N, 3, 3).
        order: indices of the frames, the best first.
        members: (N, 2), the two poses that each frame is made of, numbered over all pieces.
        pieces: the pieces whose joints are compared.
        count: maximum number of frames.
    """
    joints = np.array([(*piece.joint, 1.0) for piece in pieces]).T
    spots = (frames @ joints)[:, :2]
    kept: list[int] = []
    late: list[int] = []
    uses = np.zeros(int(members.max(initial=0)) + 1, dtype=np.int64)

    def take(index: int) -> None:
        if len(kept) < count and all(np.abs(spots[index] - spots[k]).max() > JOINT_TOLERANCE for k in kept):
            kept.append(index)
            uses[members[index]] += 1

    for index in order:
        if len(kept) == count:
            break
        if uses[members[index]].max() < _MAX_USES:
            take(index)
        else:
            late.append(index)
    for index in late[: _BLOCK * count]:  # bounded: in a large scene there can be millions
        take(index)
    return kept
