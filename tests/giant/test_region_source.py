"""Regions of a picture: those of the whole picture, at full size and reduced."""

import numpy as np
import pytest
import torch

from wherein.errors import ArgumentError, PictureError
from wherein.giant import region_source
from wherein.giant.region_source import ArraySource, checked_size, levels_by_reduction
from wherein.images.load import load_picture
from wherein.images.pool import pool

ARRAY = np.random.default_rng(0).integers(0, 256, (61, 83, 3), dtype=np.uint8)


@pytest.mark.parametrize("array", [ARRAY, ARRAY[..., 0], ARRAY.astype(np.uint16) * 257, ARRAY / 255])
def test_a_region_is_that_of_the_whole(array: np.ndarray) -> None:
    whole = load_picture(array).pixels.float()
    torch.testing.assert_close(ArraySource(array).region((8, 5, 40, 60)), whole[:, 5:60, 8:40])


def test_channels_of_opencv_are_turned_around() -> None:
    found = ArraySource(ARRAY, "bgr").region((0, 0, 83, 61))
    torch.testing.assert_close(found, load_picture(ARRAY).pixels.flip(0))


@pytest.mark.parametrize("band", [1, 300, 10**9])
@pytest.mark.parametrize("reduction", [2, 4])
def test_a_reduced_region_is_the_mean_of_blocks(
    reduction: int, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(region_source, "_BAND", band)
    whole = pool(load_picture(ARRAY).pixels, reduction)
    found = ArraySource(ARRAY).region((8, 4, 83, 61), reduction)
    torch.testing.assert_close(found, whole[:, 4 // reduction :, 8 // reduction :])


def test_an_array_of_another_kind_is_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="int32"):
        ArraySource(ARRAY.astype(np.int32))


def test_values_out_of_range_are_an_error_of_the_scene() -> None:
    with pytest.raises(PictureError, match=r"scene: the values are .* floats must be in \[0, 1\]"):
        ArraySource(np.where(np.arange(9) > 4, 300.0, 0.0).reshape(3, 3)).region((0, 0, 3, 3))


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (10**7 + 1, 1), (9 * 10**6, 9 * 10**6)])
def test_absurd_sizes(size: tuple[int, int]) -> None:
    with pytest.raises(PictureError, match=r"it\.zarr: the header says .* pixels"):
        checked_size("it.zarr", *size)


def test_only_levels_that_are_reduced_by_powers_of_two_count() -> None:
    sizes = {0: (500, 400), 1: (251, 200), 2: (333, 266), 3: (62, 50), 4: (500, 200), 5: (0, 0)}
    assert levels_by_reduction((1001, 801), sizes) == {2: 0, 4: 1, 16: 3}
