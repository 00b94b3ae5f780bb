"""The first look: sums of responses at all places, rated, and their local maxima."""

import numpy as np
import pytest
import torch

from detecting import noise
from wherein.images.motif import Motif
from wherein.native import kernel
from wherein.native.abi import LOOK_ROWS, LOOK_SPAN
from wherein.planes.look import features
from wherein.planes.look.features import FeatureTemplates, best_places, look, peaks, ratings
from wherein.planes.look.responses import responses_at
from wherein.planes.plane_range import PlaneRange
from wherein.pyramid.levels import ScenePyramid

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


def templates(tilt: float = 0.0) -> FeatureTemplates:
    ranges = PlaneRange(180, (1, 1), tilt)
    return FeatureTemplates.of(Motif.whole(noise(40, 50, 3)), 15.0, ranges.linear(45.0))


@compiled
@pytest.mark.parametrize("size", [(97, 131), (64, 200)])
def test_places_in_c_are_those_in_torch(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    scene = noise(*size, 5)
    in_c, found = ratings(ScenePyramid(scene), templates(), 0), look(ScenePyramid(scene), templates(), 0, 50)
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    in_torch = ratings(ScenePyramid(scene), templates(), 0)
    others = look(ScenePyramid(scene), templates(), 0, 50)
    # A channel that lies between two levels may end on either side of the border.
    assert (in_c - in_torch).abs().median() < 1e-4
    assert (in_c - in_torch).abs().max() < 0.05 * float(in_torch.max())
    np.testing.assert_allclose(found.ratings[:10], others.ratings[:10], rtol=0.02)


@pytest.mark.parametrize("native", [True, False])
def test_nothing_is_found_outside_of_the_tiles(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    responses = responses_at(ScenePyramid(noise(90, 400, 5)), 0, 32)
    rows, columns = -(-responses.size[0] // LOOK_ROWS), -(-responses.size[1] // LOOK_SPAN)
    tiles = torch.zeros(rows, columns, dtype=torch.bool)
    tiles[2, 1] = tiles[4, 3] = True
    values, at, which = best_places(responses, templates(), 10_000, tiles)
    everywhere = dict(zip(*best_places(responses, templates(), 10_000)[1::-1], strict=True))
    y, x = at // responses.size[1], at % responses.size[1]
    assert set(zip((y // LOOK_ROWS).tolist(), (x // LOOK_SPAN).tolist(), strict=True)) == {(2, 1), (4, 3)}
    # At the border of a tile a place may count as a maximum that has a higher neighbour outside.
    same = np.array([everywhere.get(place) == value for place, value in zip(at, values, strict=True)])
    assert same.mean() > 0.5
    assert (which < len(templates().linear)).all()


def test_a_rough_look_keeps_the_tiles_with_the_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_LOOKED_AT", 0.0)
    monkeypatch.setattr(features, "_NEARLY", 1.0)
    scene = noise(300, 500, 5)
    scene[:, 200:240, 400:450] = noise(40, 50, 3)
    levels, level = ScenePyramid(scene), 3  # the size at which the motif is that of its templates
    tilted = templates(tilt=40.0)
    assert features._promising(responses_at(levels, level, 32), tilted).sum() == features._MIN_TILES
    best = look(levels, tilted, level, 1)
    assert np.abs(best.spots[0] - (424.5, 219.5)).max() <= 4


def test_only_a_look_with_tilts_is_rough_first() -> None:
    assert templates().rough is None
    assert templates(tilt=40.0).rough is not None


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_an_object_that_the_border_cuts_is_among_the_best_places(seed: int) -> None:
    # A third of its features are outside: without regard to that, a thousand places of the noise come first.
    scene = noise(300, 500, seed)
    scene[:, 200:240, 465:] = noise(40, 50, 3)[:, :, :35]
    best = look(ScenePyramid(scene), templates(), 3, 10)
    assert np.abs(best.spots - (489.5, 219.5)).max(1).min() <= 5


@compiled
def test_ratings_at_the_border_in_c_are_those_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    responses = responses_at(ScenePyramid(noise(61, 83, 4)), 0, 32)
    best = torch.full((responses.size[0], LOOK_SPAN), 100, dtype=torch.uint16)
    in_c = responses.rated(best, 9)
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    torch.testing.assert_close(in_c, responses.rated(best[:, : responses.size[1]], 9))


@compiled
def test_energies_in_c_are_those_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    responses = responses_at(ScenePyramid(noise(61, 83, 4)), 0, 32)
    in_c = responses.energy
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    del responses.__dict__["energy"]
    assert torch.equal(in_c, responses.energy)


@pytest.mark.parametrize("native", [True, False])
def test_peaks_are_local_maxima_the_highest_first(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    rating = torch.zeros(5, 7)
    rating[0, 0], rating[2, 3], rating[2, 4], rating[4, 6] = 2.0, 5.0, 4.0, 3.0
    rows, columns, values = peaks(rating, 10)
    assert list(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)) == [
        (2, 3, 5.0),
        (4, 6, 3.0),
        (0, 0, 2.0),
    ]
    assert peaks(rating, 2)[2].tolist() == [5.0, 3.0]
    assert peaks(torch.zeros(3, 3), 4)[2].tolist() == []


@compiled
def test_peaks_in_c_are_those_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = torch.rand(41, 37, generator=torch.Generator().manual_seed(0)).mul(8).round()  # with plateaus
    for picture in (drawn, drawn[:1], drawn[:, :1], drawn[:1, :1]):
        in_c = peaks(picture.contiguous(), 30)
        with monkeypatch.context() as patched:
            patched.setattr(kernel, "accepts", lambda *_: False)
            in_torch = peaks(picture.contiguous(), 30)
        assert all(torch.equal(a, b) for a, b in zip(in_c, in_torch, strict=True))
