"""A flat motif as channels: its outline, its derivatives, its resolutions."""

import numpy as np
import pytest
import torch

from wherein.images.motif import Motif
from wherein.planes.plane_motif import MARGIN, PlaneMotif


def _disc(radius=30, size=81, colour=(0.8, 0.2, 0.1)):
    """A disc of one colour: nothing but an outline."""
    y, x = np.mgrid[0:size, 0:size] - (size - 1) / 2
    mask = torch.from_numpy(np.clip(radius + 0.5 - np.hypot(x, y), 0, 1)).float()
    return Motif(torch.tensor(colour)[:, None, None].expand(3, size, size).contiguous(), mask)


def _texture(height=60, width=70, seed=0):
    rng = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, height // 6, width // 6, generator=rng)
    fine = torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic")[0]
    return Motif.whole(fine.clamp(0, 1))


def test_a_disc_is_as_large_as_its_radius():
    assert _disc(30).extent == pytest.approx(30, rel=0.03)


def test_a_thin_motif_lies_between_its_two_measures():
    mask = torch.zeros(100, 100)
    mask[48:52, 5:95] = 1
    by_area = (360 / np.pi) ** 0.5
    by_spread = (2 * 90**2 / 12) ** 0.5
    assert by_area < Motif(torch.rand(3, 100, 100), mask).extent < by_spread


def test_it_is_reduced_to_the_radius_and_never_enlarged():
    motif = _disc(30)
    assert PlaneMotif.of(motif, 15).size == (41, 41)
    assert PlaneMotif.of(motif, 300).size == (81, 81)


def test_target_and_derivatives_are_normalised():
    plane = PlaneMotif.of(_texture(), 20)
    w, t = plane.weights.double()[:, None], plane.target.double()
    assert float((w * t).sum()) == pytest.approx(0, abs=1e-4)
    assert float((w * t * t).sum()) == pytest.approx(1, abs=1e-5)


def test_the_outline_of_a_plain_disc_is_found_without_sign():
    plane = PlaneMotif.of(_disc(), 30)
    strongest = plane.channels[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
    size = strongest.norm(dim=0)
    y, x = torch.meshgrid(*(torch.arange(float(n)) - (n - 1) / 2 for n in size.shape), indexing="ij")
    distance = torch.hypot(x, y)
    assert size[(distance - 30).abs() < 1.5].mean() > 10 * size[distance < 20].mean()
    # On the right the normal is along x: directions 0 and 4 are equally strong.
    middle = strongest[:, size.shape[0] // 2, size.shape[1] // 2 + 30]
    assert float(middle[0]) == pytest.approx(float(middle[4]), rel=0.05)
    assert float(middle[0]) > 3 * float(middle[2])


def test_a_whole_picture_has_no_outline():
    plane = PlaneMotif.of(_texture(), 20)
    assert not plane.unsigned.any()
    assert PlaneMotif.of(_texture(), 20, any_polarity=True).unsigned.all()


@pytest.mark.parametrize("side", range(90, 140, 7))
def test_a_whole_picture_has_no_outline_at_any_resolution(side):
    motif = Motif.whole(torch.full((3, side, side), 0.7))
    for radius in (20.0, 30.0, 42.0):
        plane = PlaneMotif.of(motif, radius)
        assert not plane.unsigned.any()
        assert float(plane.channels.max()) < 0.01


def test_derivatives_are_those_of_a_moving_motif():
    """Moved by a small step, the target changes as the Jacobian says."""
    plane = PlaneMotif.of(_texture(90, 90), 45)
    rows, columns = (
        ((plane.points * plane.radius + torch.tensor(plane.centre)) + MARGIN).round().long().T[[1, 0]]
    )
    moved = (plane.channels[:, rows, columns + 1] - plane.channels[:, rows, columns - 1]).mT / 2
    own = plane.derivatives[0] / plane.weights[:, None] / plane.radius
    scale = float((own * moved).sum() / (moved * moved).sum())
    torch.testing.assert_close(own, scale * moved, rtol=1e-3, atol=1e-5)


def test_the_border_of_a_whole_picture_is_not_compared():
    plane = PlaneMotif.of(_texture(60, 70), 300)
    spots = (plane.points * plane.radius + torch.tensor(plane.centre)).round()
    assert spots.amin(0).tolist() == [4, 4]
    assert spots.amax(0).tolist() == [65, 55]
    small = PlaneMotif.of(_texture(12, 12), 300)
    assert len(small.points) == 100, "of a small picture most remains"


def test_a_thinned_motif_is_normalised_and_compares_alike():
    plane = PlaneMotif.of(_texture(90, 100), 300)
    thin = plane.thinned(500)
    assert len(thin.points) == 500 < len(plane.points)
    w, t = thin.weights.double()[:, None], thin.target.double()
    assert float((w * t).sum()) == pytest.approx(0, abs=1e-4)
    assert float((w * t * t).sum()) == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(np.diag(thin.hessian), np.diag(plane.hessian), rtol=0.25)
    assert plane.thinned(10**6) is plane
