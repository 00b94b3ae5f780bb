"""A tiny synthetic articulated template, and a scene with it."""

import numpy as np
import pytest
import torch
from torch import Tensor

from wherein.detect.paper.nodes import Hyperparameters
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.template import Part, Template, Tree
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix

ROOT = placed(6.0, 1.0, (37.3, 28.6), (23.5, 17.5))
TURNS = {"arm": 4.0, "left": -3.0}

TINY = Hyperparameters(
    stride=8,
    sigma0=1.5,
    sigma=1.5,
    scene_sigma=1.1,
    fine_sigma=0.5,
    steps=12,
    fine_steps=12,
    keep=0.5,
    spike_sigma=6.0,
    spike_steps=12,
)
"""The paper's hyperparameters, at a sixth of the size."""


def smooth(height: int, width: int, seed: int) -> Tensor:
    """Colours that vary over a few pixels."""
    noise = torch.rand(3, height + 12, width + 12, generator=torch.Generator().manual_seed(seed))
    return ((blur(noise, 2.0) - 0.5) * 5 + 0.5).clamp(0, 1)[:, 6:-6, 6:-6].contiguous()


def leaf(name: str, parent: str, at: tuple[float, float], pivot: tuple[float, float], seed: int) -> Part:
    mask = torch.ones(13, 15)
    mask[:3, :3] = 0
    return Part(name, parent, Motif(smooth(13, 15, seed), mask), at, pivot, 30.0, False)


@pytest.fixture(scope="session")
def template() -> Template:
    parts = (
        Part("toy", None, None, (0, 0), (23.5, 17.5), 30.0, False),
        leaf("arm", "toy", (2, 20), (14, 2), 1),
        leaf("left", "pair", (6, 2), (7, 12), 2),
        leaf("right", "pair", (27, 1), (7, 12), 3),
        Part("pair", "toy", None, (0, 0), (24.0, 14.0), 30.0, False),
    )
    tree = Tree({part.name: part for part in parts})
    rest = matrices(tree, np.eye(3), {})
    black = torch.zeros(3, 36, 48)
    bare = Template("toy", Picture(black, None), tree, ("arm", "left", "right"))
    drawn = render(black, bare, rest)
    return Template("toy", Picture(drawn, (drawn.sum(0) > 0).float()), tree, bare.paint_order)


@pytest.fixture(scope="session")
def truth(template: Template) -> dict[str, Matrix]:
    return matrices(template.parts, ROOT, TURNS)


@pytest.fixture(scope="session")
def scene(template: Template, truth: dict[str, Matrix]) -> Tensor:
    return render(0.4 + 0.2 * smooth(57, 75, 9), template, truth)


@pytest.fixture
def tiny() -> Hyperparameters:
    return TINY
