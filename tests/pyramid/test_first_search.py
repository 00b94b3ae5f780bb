"""ZNCC at every place: C against FFT, the same bits with any number of threads, and maxima at the truth."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from detecting import noise, photo
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.native import kernel
from wherein.pyramid.first_search import Kernels, Maps, PoseGrid, peaks, screen
from wherein.template.paint import paint
from wherein.template.pose import placed

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")
EVERYWHERE = PoseGrid.over(180, 30, (0.9, 1.1), 1.12)


def ellipse(height: int, width: int) -> Motif:
    y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
    return Motif(noise(height, width, 3), ((1.1 - (x**2 + y**2).sqrt()) * 6).clamp(0, 1))


@compiled
@pytest.mark.parametrize("size", [(37, 61), (64, 64), (5, 90), (1, 1)])
@pytest.mark.parametrize("limit", [20, 500])
def test_c_equals_fft(size: tuple[int, int], limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = noise(*size, seed=1)
    kernels = Kernels.of(ellipse(31, 23), 2, EVERYWHERE, limit)
    in_c = screen(scene, kernels)
    monkeypatch.setattr(kernel, "accepts", lambda *tensors: False)
    by_fft = screen(scene, kernels)
    assert in_c.best.shape == by_fft.best.shape == (4, *(s + 2 * in_c.margin for s in size))
    torch.testing.assert_close(in_c.best, by_fft.best, atol=2e-4, rtol=0)
    clear = torch.isclose(in_c.best, by_fft.best, atol=1e-7) | (in_c.which == by_fft.which)
    assert clear.float().mean() > 0.98


@pytest.mark.parametrize("c", [pytest.param(True, marks=compiled), False], ids=["C", "FFT"])
def test_threads_change_no_bit(c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither ours nor torch's own, of which there is work for several in a scene of some size."""
    if not c:
        monkeypatch.setattr(kernel, "accepts", lambda *tensors: False)
    monkeypatch.setattr("wherein.pyramid.first_search._WORTH_THREADS", 0)
    kernels, before = (
        Kernels.of(ellipse(25, 33), 1, PoseGrid.over(180, 60, (1, 1), 1.1), 32),
        torch.get_num_threads(),
    )
    for seed, size in enumerate([(257, 331), (301, 413), (340, 500)]):
        scene, found = noise(*size, seed), []
        try:
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                found.append(screen(scene, kernels, threads))
        finally:
            torch.set_num_threads(before)
        for other in found[1:]:
            assert torch.equal(found[0].best, other.best)
            assert torch.equal(found[0].which, other.which)


@pytest.mark.parametrize(("degrees", "scale"), [(0.0, 1.0), (90.0, 1.0), (-120.0, 1.1), (150.0, 0.9)])
@pytest.mark.parametrize("factor", [1, 2, 4])
def test_the_motif_is_the_best_peak_where_it_was_painted(degrees: float, scale: float, factor: int) -> None:
    motif = Motif.whole(noise(44, 60, 5))
    truth = placed(degrees, scale, (103.0, 71.0), (29.5, 21.5))
    scene = paint(photo("coffee", 200, 150), motif, torch.from_numpy(truth))
    kernels = Kernels.of(motif, factor, EVERYWHERE, 200)
    poses, zncc = peaks(screen(pool(scene, factor), kernels), kernels, 8)
    x, y, turned, size = poses[0]
    assert math.dist((x, y), (103, 71)) <= factor
    assert abs((turned - degrees + 180) % 360 - 180) < 1e-6
    assert size == pytest.approx(scale, rel=0.07)
    assert zncc[0] > (0.6 if factor == 4 else 0.8)  # between the places of a coarse lattice
    assert (np.diff(zncc) <= 0).all()


def test_a_cut_motif_correlates_fully_with_itself_and_gain_does_not_matter() -> None:
    scene = photo("chelsea", 120, 90, 4)
    motif = Motif.whole(scene[:, 20:51, 40:71].clone())
    kernels = Kernels.of(motif, 1, PoseGrid.over(0, 10, (1, 1), 1.1), 10_000)
    for changed in (scene, 0.4 * scene + 0.3):
        poses, zncc = peaks(screen(changed, kernels), kernels, 2)
        assert poses[0].tolist() == [55, 35, 0, 1]
        assert zncc[0] == pytest.approx(1, abs=1e-3)
        assert zncc[1] < 0.9


@pytest.mark.parametrize("c", [pytest.param(True, marks=compiled), False], ids=["C", "FFT"])
@pytest.mark.parametrize("level", [0.0, 0.37, 1.0])
def test_a_flat_scene_has_no_peak_and_no_nan(c: bool, level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if not c:
        monkeypatch.setattr(kernel, "accepts", lambda *tensors: False)
    kernels = Kernels.of(ellipse(25, 33), 2, EVERYWHERE, 96)
    maps = screen(torch.full((3, 40, 50), level), kernels)
    assert maps.best.isfinite().all()
    assert maps.best.abs().max() < 0.01


def test_a_flat_motif_gives_no_nan() -> None:
    kernels = Kernels.of(Motif.whole(torch.full((3, 20, 20), 0.5)), 2, EVERYWHERE, 96)
    assert screen(noise(40, 50), kernels).best.isfinite().all()


@pytest.mark.parametrize("size", [(0, 0), (0, 7), (1, 1), (2, 3), (3, 200)])
def test_scenes_smaller_than_the_motif(size: tuple[int, int]) -> None:
    kernels = Kernels.of(ellipse(80, 90), 1, EVERYWHERE, 96)
    maps = screen(torch.rand(3, *size), kernels)
    assert maps.best.isfinite().all()
    poses, zncc = peaks(maps, kernels, 10)
    assert len(poses) == len(zncc) <= 10
    assert bool(poses.size) or min(size) <= 1


def test_peaks_are_summits_the_highest_first_and_one_of_each() -> None:
    best = torch.zeros(2, 6, 9)
    best[0, 2, 3], best[0, 2, 4], best[1, 5, 8], best[1, 0, 0] = 0.9, 0.8, 0.7, -0.5
    kernels = Kernels.of(ellipse(9, 9), 4, PoseGrid(np.array((-90.0, 90.0)), np.array((1.0, 2.0))), 96)
    which = torch.tensor((0, 1), dtype=torch.int32)[:, None, None].expand(2, 6, 9).contiguous()
    poses, zncc = peaks(Maps(best, which, 1), kernels, 99)
    np.testing.assert_allclose(zncc, (0.9, 0.7), rtol=1e-6)
    np.testing.assert_allclose(poses, ((9.5, 5.5, -90, 1), (29.5, 17.5, 90, 2)))


@settings(deadline=None)  # the largest grids take longer than 0.2 s on a busy machine
@given(
    st.floats(0, 180),
    st.floats(1, 40),
    st.floats(0.1, 2),
    st.floats(1, 8),
    st.floats(1.02, 1.5),
    st.floats(-1, 1),
    st.floats(0, 1),
)
def test_the_grid_covers_the_range(
    rotation: float, turn: float, low: float, span: float, ratio: float, where: float, size: float
) -> None:
    """No pose of the range is further than half a step from the grid, and the grid stays inside it."""
    grid = PoseGrid.over(rotation, turn, (low, low * span), ratio)
    assert len(grid.angles) == len(grid.scales) == len(set(zip(grid.angles, grid.scales, strict=True)))
    away = np.abs((grid.angles - where * rotation + 180) % 360 - 180)
    apart = np.abs(np.log(grid.scales / (low * span**size)))
    near = (away <= turn / 2 + 1e-6) & (apart <= math.log(ratio) / 2 + 1e-6)
    assert near.any()
    assert np.abs(grid.angles).max() <= rotation + 1e-9
    assert low * (1 - 1e-9) <= grid.scales.min() <= grid.scales.max() <= low * span * (1 + 1e-9)
