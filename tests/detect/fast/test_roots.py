"""From poses of pieces to places of the whole."""

import tracemalloc

import numpy as np
import pytest

from detecting import angle, between, group, leaf, noise, template
from wherein.detect.fast.pieces import Piece, Pieces
from wherein.detect.fast.roots import root_from_joints, roots_from_pairs, roots_from_singles
from wherein.pyramid.descent import Fits
from wherein.template.pose import placed, rotation

ROOT = placed(-130.0, 1.0, (150.0, 90.0), (60.0, 40.0))


def limbs(count: int = 3) -> tuple[Piece, ...]:
    """Limbs about the root, without a body."""
    spots = ((10.0, 10.0), (90.0, 20.0), (50.0, 70.0))[:count]
    parts = [leaf(f"limb{k}", "root", noise(20, 20, k), at, (3.0, 4.0)) for k, at in enumerate(spots)]
    return Pieces.of(template(group("root"), *parts, size=(120, 100))).pieces


def turned(piece: Piece, degrees: float, root: np.ndarray = ROOT) -> np.ndarray:
    return root @ rotation(degrees, piece.joint)


def found_at(pieces: tuple[Piece, ...], turns: tuple[float, ...], zncc: float = 0.9) -> dict[str, Fits]:
    """Each piece at its place, before two poses of clutter."""
    rng, found = np.random.default_rng(0), {}
    for piece, degrees in zip(pieces, turns, strict=True):
        spots = rng.uniform(0, 300, (2, 2)).tolist()
        clutter = [placed(rng.uniform(-180, 180), 1.0, (x, y), (0.0, 0.0)) for x, y in spots]
        poses = np.stack([turned(piece, degrees), *clutter])
        found[piece.name] = Fits(poses, np.array((zncc, 0.6, 0.5)))
    return found


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_pairs_give_back_the_root_exactly(scale: float) -> None:
    pieces = limbs()
    root = ROOT @ placed(0.0, scale, (0.0, 0.0), (0.0, 0.0))
    turns = zip(pieces, (0, 25, -30), strict=True)
    found = {p.name: Fits(turned(p, turn, root)[None], np.ones(1)) for p, turn in turns}
    roots = roots_from_pairs(found, pieces, dict.fromkeys(found, 1.0), (0.8, 1.5), 12)
    assert len(roots) == 1  # all pairs agree, and agreement is told once
    np.testing.assert_allclose(roots[0], root, atol=1e-9)


def test_the_right_pair_comes_before_clutter_and_limits_are_heeded() -> None:
    pieces = limbs()
    weights = {piece.name: 1.0 for piece in pieces}
    first = roots_from_pairs(found_at(pieces, (5, -20, 30)), pieces, weights, (1.0, 1.0), 12)[0]
    np.testing.assert_allclose(first, ROOT, atol=1e-9)
    beyond = roots_from_pairs(found_at(pieces, (60, -60, 60)), pieces, weights, (1.0, 1.0), 12)
    assert all(np.abs(root - ROOT).max() > 1 for root in beyond)
    other = roots_from_pairs(found_at(pieces, (5, -20, 30)), pieces, weights, (2.0, 3.0), 12)
    assert all(np.abs(root - ROOT).max() > 0.5 for root in other)


def test_each_of_two_objects_has_its_turn() -> None:
    """A group that may turn makes many hypotheses of the same two pieces, with the same evidence."""
    made = template(
        group("root"),
        leaf("arm", "root", noise(20, 20, 1), (10.0, 10.0), (3.0, 4.0)),
        leaf("leg", "root", noise(20, 20, 2), (90.0, 20.0), (3.0, 4.0)),
        group("pair", "root", (60.0, 60.0)),
        leaf("left", "pair", noise(20, 20, 3), (20.0, 80.0), (3.0, 4.0)),
        leaf("right", "pair", noise(20, 20, 4), (90.0, 90.0), (3.0, 4.0)),
        size=(120, 120),
    )
    pieces = Pieces.of(made)
    other = placed(70.0, 1.0, (420.0, 260.0), (60.0, 40.0))
    found = {piece.name: Fits(np.stack((ROOT, other)), np.array((0.95, 0.9))) for piece in pieces.pieces}
    above = {piece.name: pieces.groups_above(piece) for piece in pieces.pieces}
    roots = roots_from_pairs(found, pieces.pieces, dict.fromkeys(found, 1.0), (1.0, 1.0), 12, above=above)
    for truth in (ROOT, other):
        assert min(np.abs(root - truth).max() for root in roots) < 1e-6


def test_the_right_pair_among_thousands_in_memory_in_proportion() -> None:
    """Of a large scene there are so many poses of each piece: all against all would be gigabytes."""
    pieces, rng, found = limbs(2), np.random.default_rng(0), {}
    for piece, degrees in zip(pieces, (5.0, -20.0), strict=True):
        spots, angles = rng.uniform(0, 4000, (2000, 2)), rng.uniform(-180, 180, 2000)
        poses = [placed(t, 1.0, (x, y), (0.0, 0.0)) for t, (x, y) in zip(angles, spots, strict=True)]
        fits = np.append(rng.uniform(0.3, 0.6, 2000), 0.9)
        found[piece.name] = Fits(np.stack([*poses, turned(piece, degrees)]), fits)
    tracemalloc.start()
    try:
        roots = roots_from_pairs(found, pieces, dict.fromkeys(found, 1.0), (0.9, 1.1), 12)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(roots[0], ROOT, atol=1e-9)
    assert len(roots) > 1
    assert peak < 30e6  # the distances of all pairs alone would be 32


def test_pairs_need_two_joints_apart() -> None:
    one = limbs(1)
    assert roots_from_pairs(found_at(one, (0.0,)), one, {one[0].name: 1.0}, (1, 1), 12).shape == (0, 3, 3)
    twins = Pieces.of(
        template(
            group("root"),
            leaf("a", "root", noise(20, 20, 1), (10.0, 10.0), (3.0, 4.0)),
            leaf("b", "root", noise(20, 20, 2), (12.0, 10.0), (3.0, 4.0)),
            size=(60, 60),
        )
    ).pieces
    found = found_at(twins, (0.0, 0.0))
    assert roots_from_pairs(found, twins, dict.fromkeys(found, 1.0), (1, 1), 12).shape == (0, 3, 3)


@pytest.mark.parametrize("turn", [-30.0, -11.0, 0.0, 17.0])
def test_singles_contain_the_truth(turn: float) -> None:
    pieces = limbs()
    found = found_at(pieces, (turn, 0, 0), 0.95)
    joints = np.array([(*piece.joint, 1.0) for piece in pieces]).T
    roots = roots_from_singles(found, pieces, dict.fromkeys(found, 4.0))
    misses = [np.linalg.norm(((root - ROOT) @ joints)[:2], axis=0).max() for root in roots]
    assert min(misses) < 4.5


def test_singles_want_a_sure_piece_unless_it_is_the_only_one() -> None:
    pieces = limbs()
    found = found_at(pieces, (0, 0, 0), 0.7)
    assert len(roots_from_singles(found, pieces, dict.fromkeys(found, 1.0))) == 0
    only = limbs(1)
    assert len(roots_from_singles(found_at(only, (0.0,), 0.7), only, {"limb0": 1.0})) > 0


def test_settled_is_least_squares() -> None:
    rng, pieces = np.random.default_rng(3), limbs()
    roots, sizes = np.tile(np.eye(3), (5, 1, 1)), rng.uniform(0.8, 1.2, 5)

    def scattered() -> np.ndarray:
        spots = rng.normal(0, 4, (5, 2)).tolist()
        return np.stack([placed(rng.uniform(-9, 9), 1.0, (x, y), (0.0, 0.0)) for x, y in spots])

    frames = {p.name: scattered() for p in pieces}
    trust = {p.name: rng.uniform(0.2, 2, 5) for p in pieces}

    def cost(root: np.ndarray, k: int) -> float:
        off = [(root - frames[p.name][k]) @ (*p.joint, 1) for p in pieces]
        return sum(float(trust[p.name][k]) * float(o @ o) for p, o in zip(pieces, off, strict=True))

    for k, root in enumerate(root_from_joints(frames, trust, pieces, roots, sizes)):
        assert np.linalg.det(root) ** 0.5 == pytest.approx(sizes[k])
        least = cost(root, k)
        for turn, x, y in (*0.1 * np.eye(3), *-0.1 * np.eye(3)):
            moved = np.array(((1, 0, x), (0, 1, y), (0, 0, 1.0))) @ root @ rotation(turn, (50.0, 35.0))
            assert cost(moved, k) > least


def test_settled_gives_the_truth_back_and_leaves_what_it_cannot_know() -> None:
    pieces = limbs()
    frames = {p.name: turned(p, t)[None] for p, t in zip(pieces, (3, -20, 30), strict=True)}
    before = placed(1.0, 1.0, (7.0, 8.0), (0.0, 0.0))[None]
    all_seen = {p.name: np.ones(1) for p in pieces}
    np.testing.assert_allclose(
        root_from_joints(frames, all_seen, pieces, before, np.ones(1))[0], ROOT, atol=1e-9
    )
    one_seen = {p.name: np.array((float(k == 0),)) for k, p in enumerate(pieces)}
    np.testing.assert_array_equal(root_from_joints(frames, one_seen, pieces, before, np.ones(1)), before)
    assert between(angle(ROOT), -130) < 1e-9
