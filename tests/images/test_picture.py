"""Pictures in bytes and in floats."""

import pickle
import tracemalloc

import numpy as np
import pytest
import torch

from wherein.images.load import load_picture
from wherein.images.picture import Picture, is_grey, unit
from wherein.native import kernel

H, W = 37, 31


def grey_bytes() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (H, W), dtype=np.uint8)


def test_bytes_stay_bytes_until_floats_are_asked_for() -> None:
    array = np.random.default_rng(1).integers(0, 256, (H, W, 3), dtype=np.uint8)
    picture = load_picture(array)
    assert picture.samples.dtype == torch.uint8
    assert torch.equal(picture.samples, torch.from_numpy(array).permute(2, 0, 1))
    assert torch.equal(picture.pixels, unit(picture.samples))


@pytest.mark.parametrize("planes", [None, 1, 3])
def test_grey_is_one_plane_in_memory_and_three_as_pixels(planes: int | None) -> None:
    grey = grey_bytes()
    picture = load_picture(grey if planes is None else np.repeat(grey[..., None], planes, axis=2))
    assert picture.samples.shape == (1, H, W)
    assert picture.pixels.shape == (3, H, W)
    assert picture.pixels.is_contiguous()
    assert torch.equal(picture.pixels[2], torch.from_numpy(grey).float() / 255)


@pytest.mark.parametrize("in_c", [True, False])
@pytest.mark.parametrize("at", [(0, 0), (36, 30), (17, 5), (2, 1), (2, 2)])
@pytest.mark.parametrize("sample", [0, 1, 2])
def test_a_single_pixel_in_colour_is_seen(
    at: tuple[int, int], sample: int, in_c: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_c:
        monkeypatch.setattr(kernel, "accepts", lambda *tensors: False)
    array = np.repeat(grey_bytes()[..., None], 3, axis=2)
    planes = array.transpose(2, 0, 1)
    assert is_grey(planes)
    assert np.array_equal(load_picture(array).samples, planes[:1])
    array[*at, sample] ^= 1
    assert not is_grey(planes)
    assert load_picture(array).samples.shape == (3, H, W)


@pytest.mark.parametrize("width", [1, 3, 64, 65, 128])
def test_the_plane_of_a_narrow_grey_picture(width: int) -> None:
    array = np.repeat(np.arange(width, dtype=np.uint8)[None, :, None], 3, axis=2)
    assert np.array_equal(load_picture(array).samples, array[None, ..., 0])
    array[0, -1, 2] ^= 1
    assert load_picture(array).samples.shape == (3, 1, width)


def test_writing_to_the_bytes_that_were_given_changes_nothing() -> None:
    tensor = torch.from_numpy(grey_bytes())
    picture = load_picture(tensor)
    before = picture.samples.clone()
    tensor.zero_()
    assert torch.equal(picture.samples, before)


def test_floats_are_not_copied() -> None:
    pixels = torch.rand(3, H, W)
    assert Picture(pixels, None).pixels is pixels


def test_pixels_do_not_depend_on_who_asks_first() -> None:
    grey = torch.rand(1, H, W, requires_grad=True)
    with torch.no_grad():
        assert Picture(grey, None).pixels.requires_grad
    with torch.inference_mode():
        assert not Picture(torch.from_numpy(grey_bytes())[None], None).pixels.is_inference()


def test_a_pickled_grey_picture_has_one_plane() -> None:
    picture = load_picture(torch.from_numpy(np.repeat(grey_bytes()[None], 3, axis=0)))
    assert picture.pixels.shape == (3, H, W)
    sent = pickle.dumps(picture)
    assert len(sent) < 2 * H * W
    assert torch.equal(pickle.loads(sent).pixels, picture.pixels)


def test_a_wide_picture_of_few_rows_takes_little_memory() -> None:
    wide = np.zeros((2, 5000, 3), dtype=np.uint8)
    tracemalloc.start()
    try:
        assert is_grey(wide.transpose(2, 0, 1))
        assert tracemalloc.get_traced_memory()[1] < 10 * wide.nbytes
    finally:
        tracemalloc.stop()
