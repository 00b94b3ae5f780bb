"""Templates at a fraction of their size."""

import numpy as np
import pytest
import torch

from detecting import walker
from wherein.detect.fast.pieces import Pieces
from wherein.images.motif import Motif
from wherein.pyramid.levels import enlarge, reduce
from wherein.template import Template
from wherein.template.reduced import reduced_template


@pytest.mark.parametrize("factor", [2, 4])
def test_a_reduced_template_covers_the_same_area(factor: int) -> None:
    whole, small = walker(), reduced_template(walker(), factor)
    to, back = enlarge(factor), reduce(factor)
    for name, part in whole.parts.items():
        np.testing.assert_allclose(to @ small.parts[name].rest @ back, part.rest, atol=1e-12)
        np.testing.assert_allclose(to @ (*small.parts[name].joint, 1), (*part.joint, 1))
        assert (part.turn, part.static) == (small.parts[name].turn, small.parts[name].static)
    assert [p.name for p in Pieces.of(small).pieces] == [p.name for p in Pieces.of(whole).pieces]


@pytest.mark.parametrize("side", [1, 2, 5])
def test_a_part_thinner_than_a_reduced_pixel_is_not_lost(side: int) -> None:
    tiny = Template.rigid("tiny", Motif.whole(torch.rand(3, side, side)))
    for factor in (2, 4, 8):
        motif = reduced_template(tiny, factor).parts["tiny"].motif
        assert motif is not None
        assert bool((motif.mask > 0.5).any())
