"""The lowest costs in a scene."""

import pytest
import torch

from detecting import noise
from wherein.detect.calibration.backgrounds import clutter
from wherein.detect.paper.tuning.false_matches import LowestCosts
from wherein.detect.paper.tuning.synthetic_scenes import close_to
from wherein.images.motif import Motif
from wherein.template.paint import paint
from wherein.template.pose import placed


@pytest.mark.parametrize("angle", [-20.0, 10.0])
def test_the_lowest_cost_is_where_the_motif_is(angle: float) -> None:
    mask = torch.ones(23, 30)
    mask[:9, :14] = 0
    motif = Motif(noise(23, 30, 3), mask)
    truth = torch.from_numpy(placed(angle, 1.0, (50.5, 42.5), motif.centre))
    scene = paint(clutter(97, 83, 2), motif, truth)
    found = LowestCosts(motif, [-20.0, -10.0, 0.0, 10.0, 20.0])(scene, 5)
    assert close_to(found[:1], truth.float(), motif.centre, 1.5, 0.1).all()
    centres = (found @ torch.tensor((*motif.centre, 1.0)))[:, :2]
    assert (torch.cdist(centres, centres) + 99 * torch.eye(5)).min() > 8


def test_a_scene_that_is_too_small_has_no_lowest_cost() -> None:
    assert LowestCosts(Motif.whole(noise(30, 40)), [0.0])(torch.rand(3, 31, 45), 3).shape == (0, 3, 3)
