"""What of a motif is compared: no outline where there is none, and weights by what a pixel tells."""

import numpy as np
import pytest
import torch

from wherein.images.channels import ChannelSettings
from wherein.images.motif import Motif
from wherein.planes.description import Description, described, point_weights, straight_lengths

SETTINGS = ChannelSettings()


def _described(motif: Motif, factor: float = 1.0) -> Description:
    """A motif at full size, or reduced by a factor about its centre, to as many pixels as touch it."""
    width, height = (int(np.ceil(side / factor)) for side in (motif.width, motif.height))
    x, y = motif.centre
    to_full = np.array(
        ((factor, 0, x - factor * (width - 1) / 2), (0, factor, y - factor * (height - 1) / 2), (0, 0, 1))
    )
    return described(motif, None, to_full, (width, height), SETTINGS, False)


def _dark_box() -> Motif:
    """A dark box on light grey, with room around it."""
    pixels = torch.full((3, 80, 80), 0.9)
    pixels[:, 20:60, 20:60] = 0.1
    return Motif.whole(pixels)


def _weights(seen: Description) -> torch.Tensor:
    weights = torch.zeros(seen.where.shape, dtype=torch.float64)
    weights[seen.where] = point_weights(seen)
    return weights


@pytest.mark.parametrize("side", range(90, 140, 7))
@pytest.mark.parametrize("factor", [1.27, 1.5, 2.3])
def test_a_whole_picture_has_no_outline_wherever_its_border_falls(side, factor):
    seen = _described(Motif.whole(torch.full((3, side, side), 0.7)), factor)
    assert not seen.unsigned.any()
    assert float(seen.channels.max()) < 0.01  # a plain picture has no edge, not at its border either


def test_an_edge_is_followed_to_its_corners():
    seen = _described(_dark_box())
    length = torch.zeros(seen.where.shape, dtype=torch.float64)
    length[seen.where] = straight_lengths(seen.channels, seen.where)
    middle, corner = float(length[48, 27:30].max()), float(length[27:30, 27:30].max())
    assert middle > 8  # of 13 steps
    assert corner < 0.7 * middle


def test_corners_count_for_more_than_straight_edges():
    weights = _weights(_described(_dark_box()))
    assert float(weights[26:31, 26:31].max()) > 1.2 * float(weights[44:52, 26:31].max())


def test_for_exact_poses_straight_edges_count_in_full():
    seen = _described(_dark_box())
    weights = torch.zeros(seen.where.shape, dtype=torch.float64)
    weights[seen.where] = point_weights(seen, even=True)
    assert float(weights[26:31, 26:31].max()) == pytest.approx(float(weights[44:52, 26:31].max()), rel=0.02)


def test_where_nothing_is_weights_do_not_depend_on_how_straight_edges_are():
    assert float(_weights(_described(_dark_box()))[48, 48]) == pytest.approx(0.1, abs=0.01)


def test_transparent_pixels_count_for_less():
    pixels = torch.rand(3, 60, 60, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(60, 60)
    mask[:, 30:] = 0.6
    weights = _weights(_described(Motif(pixels, mask)))
    clear, thin = weights[18:58, 14:32].mean(), weights[18:58, 46:62].mean()
    assert float(thin / clear) == pytest.approx(0.36, abs=0.12)
