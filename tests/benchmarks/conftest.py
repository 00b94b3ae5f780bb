"""What the tests of the suites share."""

import cv2
import pytest
import torch


@pytest.fixture
def threads():
    """A run sets the number of threads for the whole process: put it back."""
    before = torch.get_num_threads(), cv2.getNumThreads()
    yield
    torch.set_num_threads(before[0])
    cv2.setNumThreads(before[1])
