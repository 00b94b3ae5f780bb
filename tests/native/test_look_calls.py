"""The C functions of a first look read nothing but responses; tests/planes compares their results."""

import pytest
import torch

from wherein.errors import ArgumentError
from wherein.native import kernel, look_calls

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


@compiled
def test_offsets_must_not_lead_out_of_the_responses():
    responses = torch.zeros(12, 4, 40, 50, dtype=torch.uint8)
    inside = torch.tensor([[0, responses.numel() - 50 * 40]], dtype=torch.int32)
    look_calls.look(responses, 4, (8, 8), inside)
    for offset in (-4 * 50 - 5, responses.numel() - 4 * 50):
        with pytest.raises(ArgumentError, match="lead out of 96000 elements"):
            look_calls.look(responses, 4, (8, 8), torch.tensor([[0, offset]], dtype=torch.int32))
