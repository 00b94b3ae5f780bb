"""From the tree to rigid pieces."""

import numpy as np
import pytest
import torch

from detecting import group, leaf, noise, template, walker
from wherein.detect.fast.pieces import Pieces, uncovered_motif
from wherein.images.motif import Motif
from wherein.template import Part, Template


def test_names_parents_and_fitted_leaves() -> None:
    pieces = {piece.name: piece for piece in Pieces.of(walker()).pieces}
    assert list(pieces) == ["walker", "arm", "leg", "wrist"]
    assert {name: piece.fitted_leaf.name for name, piece in pieces.items()} == {
        "walker": "trunk",
        "arm": "upper",
        "wrist": "hand",
        "leg": "leg",
    }
    parents = {name: piece.parent for name, piece in pieces.items()}
    assert parents == {"walker": "walker", "arm": "walker", "leg": "walker", "wrist": "arm"}
    assert pieces["wrist"].joint == (136, 40)
    assert pieces["leg"].joint == (64, 80)
    assert [piece.turn for piece in pieces.values()] == [0, 40, 25, 40]
    assert Pieces.of(walker()).groups == ()


def test_body_and_limbs() -> None:
    pieces = Pieces.of(walker())
    assert pieces.body is not None
    assert pieces.body.name == "walker"
    assert [piece.name for piece in pieces.limbs] == ["arm", "leg", "wrist"]
    assert [piece.name for piece in pieces.root_limbs] == ["arm", "leg"]


def test_the_fitted_leaf_is_the_leaf_with_the_most_texture() -> None:
    made = template(
        group("root"),
        leaf("faint", "root", 0.1 * noise(40, 40, 1), static=True),
        leaf("strong", "root", noise(30, 30, 2), (40.0, 0.0), turn=0.0),
        size=(70, 40),
    )
    (piece,) = Pieces.of(made).pieces
    assert [part.name for part in piece.leaves] == ["strong", "faint"]
    assert piece.texture > 0


def test_groups_are_between_their_pieces_and_their_parents() -> None:
    made = template(
        group("root"),
        leaf("body", "root", noise(30, 30, 1), static=True),
        group("pair", "root", (10.0, 10.0), turn=20.0),
        leaf("eye", "pair", noise(12, 12, 2), (30.0, 5.0), (5.0, 5.0), turn=15.0),
        group("still", "root", (0.0, 0.0), static=True),
        leaf("ear", "still", noise(12, 12, 3), (45.0, 5.0), turn=15.0),
        size=(60, 30),
    )
    found = Pieces.of(made)
    pieces = {piece.name: piece for piece in found.pieces}
    assert (pieces["eye"].parent, pieces["ear"].parent) == ("pair", "root")
    assert (pieces["eye"].turn, pieces["ear"].turn) == (15, 15)
    (pair,) = found.groups
    assert (pair.name, pair.parent, pair.joint, pair.turn) == ("pair", "root", (10, 10), 20)
    assert found.root_limbs == (pieces["eye"], pieces["ear"])
    assert found.groups_above(pieces["eye"]) == (pair,)
    assert found.in_order == (
        (None, (pieces["root"],)),
        (pair, (pieces["eye"],)),
        (None, (pieces["ear"],)),
    )


@pytest.mark.parametrize("turn", [0.0, 0.5, 10.0, 30.0, 180.0])
def test_starts_span_the_turn_about_the_joint(turn: float) -> None:
    made = template(group("r"), leaf("a", "r", noise(9, 9), (3.0, 4.0), (2.0, 2.0), turn=turn), size=(20, 20))
    (piece,) = Pieces.of(made).pieces
    starts = piece.starts(7.0)
    angles = np.degrees(np.arctan2(starts[:, 1, 0], starts[:, 0, 0]))
    assert np.abs(np.diff(angles[1:-1])).max(initial=0) <= 7 + 1e-9
    assert {round(abs(angles[0]), 6), round(abs(angles[-1]), 6)} == {turn}
    np.testing.assert_allclose(starts @ (*piece.joint, 1), np.tile((*piece.joint, 1), (len(starts), 1)))


@pytest.mark.parametrize(
    "made",
    [Template.rigid("x", Motif.whole(noise(9, 12))), walker()],
    ids=["leaf as root", "walker"],
)
def test_all_leaves_are_in_one_piece_each(made: Template) -> None:
    pieces = Pieces.of(made)
    assert sorted(part.name for piece in pieces.pieces for part in piece.leaves) == sorted(made.parts.leaves)
    assert pieces.body is not None


def covered(by: float) -> Template:
    mask = torch.zeros(20, 20)
    mask[:, : int(20 * by)] = 1
    above = Part("above", "root", Motif(noise(20, 20, 2), mask), (5.0, 5.0), (0.0, 0.0), 10.0, False)
    return template(
        group("root"), leaf("below", "root", noise(20, 20, 1), (5.0, 5.0), static=True), above, size=(40, 40)
    )


def test_pixels_covered_at_rest_are_left_out() -> None:
    mask = uncovered_motif(covered(0.5), "below").mask
    assert (mask[:, :9] < 0.1).all()
    assert (mask[:, 11:] > 0.9).all()
    assert (uncovered_motif(covered(0.5), "above").mask[:, :10] == 1).all()


def test_all_of_a_leaf_that_is_nearly_covered_at_rest_is_compared() -> None:
    assert (uncovered_motif(covered(0.9), "below").mask == 1).all()
