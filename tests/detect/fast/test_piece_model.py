"""What is prepared of a piece before there is a scene."""

import numpy as np
import torch

from detecting import group, leaf, noise, template
from wherein.detect.fast.piece_model import Footprint, PieceModel, coarsest_distinctive_scale
from wherein.detect.fast.pieces import Pieces
from wherein.images.motif import Motif
from wherein.template.pose import placed


def test_the_coarsest_scale_leaves_enough_pixels() -> None:
    assert coarsest_distinctive_scale(Motif.whole(noise(100, 100))) == 8
    assert coarsest_distinctive_scale(Motif.whole(noise(100, 100)), largest=4) == 4
    assert coarsest_distinctive_scale(Motif.whole(noise(5, 5))) == 1
    assert coarsest_distinctive_scale(Motif.whole(noise(4, 400))) == 1  # a stroke


def test_a_footprint_covers_its_mask_and_nothing_else() -> None:
    mask = torch.zeros(20, 30)
    mask[:, :15] = 1
    footprint = Footprint(Motif(torch.rand(3, 20, 30), mask))
    pose = placed(90.0, 2.0, (100.0, 100.0), (0.0, 0.0))
    points = np.stack((pose @ (7, 10, 1), pose @ (22, 10, 1), (1e6, -1e6, 1)), 1)
    assert footprint.covers(pose, points).tolist() == [True, False, False]
    assert footprint.mask[footprint.points[1].astype(int), footprint.points[0].astype(int)].all()


def test_duplicates_are_closer_than_a_fraction_of_the_diagonal() -> None:
    made = template(group("r"), leaf("a", "r", noise(60, 80), (3.0, 4.0), (2.0, 2.0)), size=(90, 90))
    (piece,) = Pieces.of(made).pieces
    assert PieceModel.of(piece).duplicate_distance == 3.0
    assert PieceModel.of(piece).centre == (39.5, 29.5)


def test_every_point_is_in_one_cell_and_a_small_piece_has_none() -> None:
    sizes = {"large": noise(60, 80), "small": noise(8, 9)}
    parts = [leaf(name, "r", pixels, (3.0, 4.0), (2.0, 2.0)) for name, pixels in sizes.items()]
    large, small = Pieces.of(template(group("r"), *parts, size=(90, 90))).pieces
    cells = PieceModel.of(large).cells
    assert cells is not None
    assert cells.points.shape == (600, 2)
    assert cells.values.shape == (600, 3)
    np.testing.assert_array_equal(cells.member.sum(1), 1)
    assert (cells.member.sum(0) > 0).sum() == 36
    assert PieceModel.of(small).cells is None


def test_starts_combine_the_turns_of_a_piece_and_of_its_group() -> None:
    made = template(
        group("r"),
        group("pair", "r", (40.0, 60.0), turn=30.0),
        leaf("a", "pair", noise(30, 20), (30.0, 10.0), (10.0, 25.0), turn=20.0),
        size=(90, 90),
    )
    pieces = Pieces.of(made)
    (piece,), (pair,) = pieces.pieces, pieces.groups
    model = PieceModel.of(piece, pair)
    degrees = np.degrees(np.arctan2(model.group_starts[:, 1, 0], model.group_starts[:, 0, 0]))
    assert len(model.group_starts) % len(model.starts) == 0
    assert np.isclose((degrees.min(), degrees.max()), (-50.0, 50.0)).all()
    assert model.group_starts is model.group_starts
