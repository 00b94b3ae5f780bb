"""What of a motif is compared: no outline where there is none, and weights by what a pixel tells."""

import pytest
import torch

from wherein.images.channels import ChannelSettings, channels, opposite
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.planes.description import MARGIN, Description, described, point_weights, straight_lengths
from wherein.planes.plane_motif import PlaneMotif

SETTINGS = ChannelSettings()


def _padded(plane: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(plane, (MARGIN,) * 4)


def _described(motif: Motif, margin: float = 0.0, outline_blur: float = 0.0) -> Description:
    """A motif with the margin, of whose border pixels a fraction lies outside."""
    planes = torch.cat((motif.pixels * motif.mask, motif.mask[None], torch.zeros_like(motif.mask)[None]))
    weight = torch.ones(motif.height, motif.width)
    weight[[0, -1]] *= 1 - margin
    weight[:, [0, -1]] *= 1 - margin
    fills = bool((motif.mask > 0.5).all())
    return described(_padded(planes * weight), SETTINGS, fills, False, outline_blur)


def _disc() -> Motif:
    """A disc with texture, cut out."""
    pixels = torch.rand(3, 60, 60, generator=torch.Generator().manual_seed(1))
    away = torch.linspace(-30, 30, 60).square()
    return Motif(pixels, ((away + away[:, None]) < 400).float())


def _dark_box() -> Motif:
    """A dark box on light grey, with room around it."""
    pixels = torch.full((3, 80, 80), 0.9)
    pixels[:, 20:60, 20:60] = 0.1
    return Motif.whole(pixels)


def _weights(seen: Description) -> torch.Tensor:
    weights = torch.zeros(seen.where.shape, dtype=torch.float64)
    weights[seen.where] = point_weights(seen)
    return weights


def test_the_blur_of_an_outline_leaves_what_is_inside():
    sharp, soft = _described(_disc()), _described(_disc(), outline_blur=1.5)
    assert torch.equal(sharp.where, soft.where)
    middle = slice(MARGIN + 27, MARGIN + 33)
    torch.testing.assert_close(sharp.channels[:, middle, middle], soft.channels[:, middle, middle])
    outline = sharp.unsigned
    assert float((sharp.channels - soft.channels)[:, outline].norm()) > 0.1 * float(
        sharp.channels[:, outline].norm()
    )


def test_a_motif_is_told_by_a_blurred_outline_and_placed_by_a_sharp_one():
    """Photographs blur outlines, so that a shape in one agrees more with a blurred outline."""
    motif = Motif(torch.zeros(3, 60, 60), _disc().mask)
    seen = 1 - blur(_padded(motif.mask), 1.5).expand(3, -1, -1).contiguous()
    judged, exact = (PlaneMotif.of(motif, 300.0, even=even) for even in (False, True))
    found = channels(seen, SETTINGS)
    found = (found + opposite(found)) / 2
    agreement = [torch.cosine_similarity(m.channels.flatten(), found.flatten(), 0) for m in (judged, exact)]
    assert float(agreement[0]) > float(agreement[1])


@pytest.mark.parametrize("colour", [(0.16, 0.24, 0.51), (0.67, 0.24, 0.16), (0.85, 0.8, 0.6)])
def test_a_silhouette_agrees_as_well_with_a_dark_background_as_with_a_light_one(colour):
    """The sign at the outline, which is smoothed into the shape, is not that of most backdrops."""
    mask = torch.zeros(60, 60)
    mask[10:50, 10:50] = 1
    own = torch.tensor(colour)[:, None, None].expand(3, 60, 60)
    seen = _described(Motif(own * mask, mask), outline_blur=1.0)
    weights, agreement = point_weights(seen).sqrt(), []
    for behind in (0.0, 1.0):
        found = channels(_padded(own * mask) + behind * (1 - _padded(mask)), SETTINGS)
        found = torch.where(seen.unsigned, (found + opposite(found)) / 2, found)
        a, b = ((weights * one[:, seen.where]).flatten() for one in (seen.channels, found))
        agreement.append(float(torch.cosine_similarity(a, b, 0)))
    assert abs(agreement[0] - agreement[1]) < 0.01


def test_texture_at_an_outline_keeps_its_sign():
    signed = ~_described(_disc()).unsigned
    inside = _padded(_disc().mask).bool()
    assert int((signed & inside).sum()) > 0.6 * int(inside.sum())


@pytest.mark.parametrize("outside", [0.0, 0.3, 0.7, 0.9])
def test_a_whole_picture_has_no_outline_wherever_its_border_falls(outside):
    seen = _described(Motif.whole(torch.full((3, 50, 60), 0.7)), outside)
    assert not seen.unsigned.any()
    assert float(seen.channels.max()) < 0.01  # a plain picture has no edge, not at its border either


@pytest.mark.parametrize("size", [(2, 10), (10, 2), (1, 40), (3, 3)])
def test_a_motif_of_which_all_is_border_still_has_points(size: tuple[int, int]) -> None:
    pixels = torch.rand(3, *size, generator=torch.Generator().manual_seed(0))
    motif = PlaneMotif.of(Motif.whole(pixels), 1.0)
    assert len(motif.points) > 0


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


def test_fewer_pixels_are_spread_over_all_of_a_motif() -> None:
    whole = _described(_dark_box())
    few = whole.thinned(400)
    assert int(few.where.sum()) == 400
    assert not (few.where & ~whole.where).any()
    middle = few.where.shape[0] // 2
    assert 150 < int(few.where[:middle].sum()) < 250
    assert whole.thinned(10**6) is whole


def test_a_motif_with_few_points_has_the_same_channels() -> None:
    pixels = torch.rand(3, 60, 70, generator=torch.Generator().manual_seed(0))
    full, few = (PlaneMotif.of(Motif.whole(pixels), 30.0, limit=limit) for limit in (None, 500))
    assert len(few.points) == 500 < len(full.points)
    assert torch.equal(few.channels, full.channels)
