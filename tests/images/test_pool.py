"""Pictures at a reduced size."""

import numpy as np
import pytest
import torch

from wherein.images.picture import unit
from wherein.images.pool import pool


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [(37, 31), (2, 2), (1, 5), (8, 64)])
def test_bytes_give_the_same_floats_to_the_last_bit(factor: int, size: tuple[int, int]) -> None:
    samples = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, *size), dtype=np.uint8))
    assert torch.equal(pool(samples, factor), pool(unit(samples), factor))
    crop = samples[:, 1:, 1:]  # rows that are parts of longer ones
    if crop.numel():
        assert torch.equal(pool(crop, factor), pool(unit(crop.contiguous()), factor))
