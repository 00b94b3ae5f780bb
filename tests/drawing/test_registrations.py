"""A registration as it is drawn."""

import numpy as np
import torch

from wherein.drawing.registrations import _GAP, draw_registration
from wherein.images.motif import Motif


def test_what_is_below_the_scene_has_one_margin() -> None:
    motif = Motif.whole(torch.full((3, 30, 40), 0.2))
    page = draw_registration(torch.full((3, 90, 700), 0.9), motif, np.eye(2, 3), None, ("||",))
    below = np.asarray(page.convert("L"))[90:]
    dark = np.flatnonzero((below < 200).any(0))
    assert _GAP - 1 <= dark[0] <= _GAP + 1
    assert dark[-1] < 700 - _GAP + 2
    for rows in (below[_GAP : _GAP + 14], below[-_GAP - 18 : -4]):  # the captions, and the line of text
        first = np.flatnonzero((rows < 200).any(0))[0]
        assert _GAP - 1 <= first <= _GAP + 3
