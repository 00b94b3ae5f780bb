"""The root's frame from the joints of its limbs."""

import numpy as np
import pytest

from detecting import angle, between, group, leaf, noise, template
from wherein.detect.fast.limbs.roots import root_from_joints
from wherein.detect.fast.pieces import Piece, Pieces
from wherein.template.pose import placed, rotation

ROOT = placed(-130.0, 1.0, (150.0, 90.0), (60.0, 40.0))


def limbs() -> tuple[Piece, ...]:
    """Limbs attached to the root, without a body."""
    spots = ((10.0, 10.0), (90.0, 20.0), (50.0, 70.0))
    parts = [leaf(f"limb{k}", "root", noise(20, 20, k), at, (3.0, 4.0)) for k, at in enumerate(spots)]
    return Pieces.of(template(group("root"), *parts, size=(120, 100))).pieces


def turned(piece: Piece, degrees: float) -> np.ndarray:
    return ROOT @ rotation(degrees, piece.joint)


def test_the_fitted_root_is_the_least_squares_solution() -> None:
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


def test_exact_joints_give_the_exact_root_and_one_joint_changes_nothing() -> None:
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
