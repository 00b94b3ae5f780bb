"""Nothing goes to C but what it expects: it cannot check."""

import numpy as np
import pytest
import torch

from wherein.errors import ArgumentError
from wherein.native import pointers

WRONG_TENSORS = {
    "elsewhere": torch.empty(4, 6, device="meta"),
    "another type": torch.empty(4, 6, dtype=torch.float64),
    "strided": torch.empty(6, 4).mT,
    "too small": torch.empty(4, 5),
    "too large": torch.empty(5, 6),
    "another rank": torch.empty(24),
    "sparse": torch.empty(4, 6).to_sparse(),
    "an array of another type": np.empty((4, 6), np.float32),
    "a strided array": np.empty((6, 4)).T,
}


@pytest.mark.parametrize("wrong", WRONG_TENSORS)
def test_nothing_but_what_c_expects_goes_to_c(wrong):
    values = WRONG_TENSORS[wrong]
    kind = np.float64 if isinstance(values, np.ndarray) else torch.float32
    with pytest.raises(
        ArgumentError, match=r"the C kernel needs .* of shape \(4, 6\), contiguous and on the CPU"
    ):
        pointers.pointer(values, (4, 6), kind)


def test_what_c_expects_is_its_address():
    tensor, array = torch.empty(4, 6), np.empty((4, 6))
    assert pointers.pointer(tensor, (4, 6)) == tensor.data_ptr()
    assert pointers.pointer(array, (4, 6), np.float64) == array.ctypes.data
