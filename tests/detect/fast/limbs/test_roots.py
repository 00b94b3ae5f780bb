"""Root hypotheses from pairs of limbs and from single limbs."""

import tracemalloc

import numpy as np
import pytest

from detecting import group, leaf, noise, template
from wherein.detect.fast.limbs.roots import best_pair_evidence, roots_from_pairs, roots_from_singles
from wherein.detect.fast.pieces import Piece, Pieces
from wherein.detect.score import information
from wherein.planes.plane_fit import PlaneFits
from wherein.template.pose import placed, rotation

ROOT = placed(-130.0, 1.0, (150.0, 90.0), (60.0, 40.0))


def limbs(count: int = 3) -> tuple[Piece, ...]:
    """Limbs attached to the root, without a body."""
    spots = ((10.0, 10.0), (90.0, 20.0), (50.0, 70.0))[:count]
    parts = [leaf(f"limb{k}", "root", noise(20, 20, k), at, (3.0, 4.0)) for k, at in enumerate(spots)]
    return Pieces.of(template(group("root"), *parts, size=(120, 100))).pieces


def fits_of(poses: np.ndarray, zncc: np.ndarray) -> PlaneFits:
    """Poses that are all inside the scene."""
    return PlaneFits(poses, zncc, np.ones(len(zncc)))


def turned(piece: Piece, degrees: float, root: np.ndarray = ROOT) -> np.ndarray:
    return root @ rotation(degrees, piece.joint)


def found_at(pieces: tuple[Piece, ...], turns: tuple[float, ...], zncc: float = 0.9) -> dict[str, PlaneFits]:
    """Each limb in its true pose, followed by two poses of clutter."""
    rng, found = np.random.default_rng(0), {}
    for piece, degrees in zip(pieces, turns, strict=True):
        spots = rng.uniform(0, 300, (2, 2)).tolist()
        clutter = [placed(rng.uniform(-180, 180), 1.0, (x, y), (0.0, 0.0)) for x, y in spots]
        poses = np.stack([turned(piece, degrees), *clutter])
        found[piece.name] = fits_of(poses, np.array((zncc, 0.6, 0.5)))
    return found


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_pairs_give_the_exact_root(scale: float) -> None:
    pieces = limbs()
    root = ROOT @ placed(0.0, scale, (0.0, 0.0), (0.0, 0.0))
    turns = zip(pieces, (0, 25, -30), strict=True)
    found = {p.name: fits_of(turned(p, turn, root)[None], np.ones(1)) for p, turn in turns}
    roots = roots_from_pairs(found, pieces, dict.fromkeys(found, 1.0), (0.8, 1.5), 12)
    assert len(roots) == 1  # all pairs agree, and duplicates are dropped
    np.testing.assert_allclose(roots[0], root, atol=1e-9)


def test_the_right_pair_comes_before_clutter_and_limits_are_respected() -> None:
    pieces = limbs()
    weights = {piece.name: 1.0 for piece in pieces}
    first = roots_from_pairs(found_at(pieces, (5, -20, 30)), pieces, weights, (1.0, 1.0), 12)[0]
    np.testing.assert_allclose(first, ROOT, atol=1e-9)
    beyond = roots_from_pairs(found_at(pieces, (60, -60, 60)), pieces, weights, (1.0, 1.0), 12)
    assert all(np.abs(root - ROOT).max() > 1 for root in beyond)
    other = roots_from_pairs(found_at(pieces, (5, -20, 30)), pieces, weights, (2.0, 3.0), 12)
    assert all(np.abs(root - ROOT).max() > 0.5 for root in other)


def test_each_of_two_objects_gets_a_hypothesis() -> None:
    """With a group that may turn, the same two limbs make many hypotheses with the same evidence."""
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
    found = {piece.name: fits_of(np.stack((ROOT, other)), np.array((0.95, 0.9))) for piece in pieces.pieces}
    groups = {piece.name: pieces.groups_above(piece) for piece in pieces.pieces}
    roots = roots_from_pairs(found, pieces.pieces, dict.fromkeys(found, 1.0), (1.0, 1.0), 12, groups=groups)
    for truth in (ROOT, other):
        assert min(np.abs(root - truth).max() for root in roots) < 1e-6


def test_the_right_pair_among_thousands_in_little_memory() -> None:
    """A large scene has that many poses of each limb: all pairs at once would take gigabytes."""
    pieces, rng, found = limbs(2), np.random.default_rng(0), {}
    for piece, degrees in zip(pieces, (5.0, -20.0), strict=True):
        spots, angles = rng.uniform(0, 4000, (2000, 2)), rng.uniform(-180, 180, 2000)
        poses = [placed(t, 1.0, (x, y), (0.0, 0.0)) for t, (x, y) in zip(angles, spots, strict=True)]
        fits = np.append(rng.uniform(0.3, 0.6, 2000), 0.9)
        found[piece.name] = fits_of(np.stack([*poses, turned(piece, degrees)]), fits)
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


def test_singles_need_strong_evidence_unless_there_is_one_limb_only() -> None:
    pieces = limbs()
    found = found_at(pieces, (0, 0, 0), 0.7)
    assert len(roots_from_singles(found, pieces, dict.fromkeys(found, 1.0))) == 0
    only = limbs(1)
    assert len(roots_from_singles(found_at(only, (0.0,), 0.7), only, {"limb0": 1.0})) > 0


def test_the_best_pair_is_the_one_that_is_followed_first() -> None:
    pieces = limbs()
    weights = {piece.name: 2.0 for piece in pieces}
    best = best_pair_evidence(found_at(pieces, (5, -20, 30)), pieces, weights, (1.0, 1.0))
    assert best == pytest.approx(2 * 2.0 * float(information(np.array(0.9))))
    none = found_at(pieces[:1], (5,))
    assert best_pair_evidence(none, pieces[:1], weights, (1.0, 1.0)) == 0.0


@pytest.mark.parametrize("least", [0.0, 1000.0])
def test_a_single_limb_is_followed_from_the_evidence_that_is_asked_for(least: float) -> None:
    pieces = limbs()
    weights = {piece.name: 10.0 for piece in pieces}
    roots = roots_from_singles(found_at(pieces, (5, -20, 30)), pieces, weights, least)
    assert (len(roots) > 0) == (least == 0)
