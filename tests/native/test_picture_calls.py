"""The C functions on pictures against torch."""

import pytest
import torch
import torch.nn.functional as F

from wherein.errors import ArgumentError
from wherein.images.pool import pool
from wherein.native import kernel, picture_calls

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


@compiled
@pytest.mark.parametrize("factor", [2, 3, 4, 8])
def test_pooling_is_that_of_the_reference(factor):
    picture = torch.rand(3, 53, 61)
    expected = F.avg_pool2d(picture, factor)
    torch.testing.assert_close(pool(picture, factor), expected)
    part = torch.rand(3, 60, 70)[:, 3:56, 5:66]
    torch.testing.assert_close(pool(part, factor), F.avg_pool2d(part, factor))


@compiled
@pytest.mark.parametrize(
    "wrong",
    [torch.rand(3, 20, 30, dtype=torch.float64), torch.rand(3, 20, 30, device="meta")],
    ids=["type", "device"],
)
def test_pictures_are_checked_as_well(wrong):
    with pytest.raises(ArgumentError, match="the C kernel needs rows of float32 on the CPU"):
        picture_calls.pool(wrong, 2)


@compiled
def test_a_picture_one_pixel_wide_may_have_any_strides():
    picture = torch.rand(4, 1, 3).movedim(-1, 0)
    assert picture.stride() == (1, 3, 3)
    assert torch.equal(picture_calls.pool(picture, 1), picture)
