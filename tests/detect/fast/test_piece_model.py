"""What is prepared of a piece before there is a scene."""

import numpy as np
import pytest
import torch

from detecting import group, leaf, noise, template
from wherein.detect.fast.exclusion import Footprint
from wherein.detect.fast.piece_model import BASIN, PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.images.motif import Motif
from wherein.motion.homography import mapped
from wherein.template.pose import placed


def test_a_footprint_covers_its_mask_and_nothing_else() -> None:
    mask = torch.zeros(20, 30)
    mask[:, :15] = 1
    footprint = Footprint(Motif(torch.rand(3, 20, 30), mask))
    pose = placed(90.0, 2.0, (100.0, 100.0), (0.0, 0.0))
    points = np.concatenate((mapped(pose, [(7, 10), (22, 10)]), [(1e6, -1e6)]))
    assert footprint.covers(pose, points).tolist() == [True, False, False]
    assert footprint.mask[tuple(footprint.points[:, ::-1].T.astype(int))].all()


def test_the_visible_fraction_is_what_lies_inside_the_scene() -> None:
    footprint = Footprint(Motif.whole(noise(20, 30)))
    poses = np.stack([placed(0.0, 1.0, at, (0.0, 0.0)) for at in ((5.0, 5.0), (85.0, 5.0), (-40.0, 5.0))])
    np.testing.assert_allclose(footprint.visible(poses, (100, 60)), (1.0, 0.5, 0.0), atol=0.05)
    tilted = np.array(((1, 0, 85.0), (0, 1, 5.0), (0.02, 0, 1.0)))  # foreshortened, more of it is inside
    assert footprint.visible(tilted[None], (100, 60))[0] > 0.8


def test_what_a_piece_is_told_by_counts_where_the_border_cuts_it() -> None:
    """A plain handle and a head with texture: without the head, less is left than its share of the area."""
    pixels = torch.full((3, 30, 120), 0.5)
    pixels[:, :, 90:] = noise(30, 30)
    (piece,) = Pieces.of(template(leaf("a", None, pixels), size=(120, 30))).pieces
    model = PieceModel(piece)
    poses = np.stack([placed(0.0, 1.0, (x, 5.0), (0.0, 0.0)) for x in (-90.0, 5.0, 110.0)])
    head, whole, handle = model.visible(poses, (200, 60))
    assert whole == 1
    assert head + handle == pytest.approx(1, abs=0.03)
    assert handle < 0.3
    assert model.footprint.visible(poses, (200, 60))[2] == pytest.approx(0.75, abs=0.03)


def test_a_step_moves_no_point_further_than_its_basin() -> None:
    made = template(group("r"), leaf("a", "r", noise(60, 80), (3.0, 4.0), (2.0, 2.0)), size=(90, 90))
    (piece,) = Pieces.of(made).pieces
    model = PieceModel(piece)
    corner = np.array(((79.0, 59.0, 1.0), (0.0, 0.0, 1.0))).T
    ends = model.starts @ model.to_canvas @ corner
    steps = np.linalg.norm(np.diff(ends[:, :2], axis=0), axis=1) * model.stages[0].from_full[0, 0]
    assert len(model.starts) > 2
    assert 0.5 * BASIN < steps.max() <= 2 * BASIN + 1e-6


def test_stages_go_from_coarse_to_fine_and_a_small_piece_has_one() -> None:
    sizes = {"large": noise(120, 160), "small": noise(8, 9)}
    parts = [leaf(name, "r", pixels, (3.0, 4.0), (2.0, 2.0)) for name, pixels in sizes.items()]
    large, small = Pieces.of(template(group("r"), *parts, size=(170, 130))).pieces
    widths = [stage.size[0] for stage in PieceModel(large).stages]
    assert len(widths) > 1
    assert widths == sorted(set(widths))
    assert [stage.size for stage in PieceModel(small).stages] == [(9, 8)]


def test_starts_combine_the_turns_of_a_piece_and_of_its_group() -> None:
    made = template(
        group("r"),
        group("pair", "r", (40.0, 60.0), turn=30.0),
        leaf("a", "pair", noise(30, 20), (30.0, 10.0), (10.0, 25.0), turn=20.0),
        size=(90, 90),
    )
    pieces = Pieces.of(made)
    (piece,), (pair,) = pieces.pieces, pieces.groups
    model = PieceModel(piece, pair)
    degrees = np.degrees(np.arctan2(model.group_starts[:, 1, 0], model.group_starts[:, 0, 0]))
    assert len(model.group_starts) % len(model.starts) == 0
    assert np.isclose((degrees.min(), degrees.max()), (-50.0, 50.0)).all()
    assert model.group_starts is model.group_starts
