"""The templates of the experiments' tests, each made once: the robot, and a toy that is found quickly."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import texture
from wherein.experiments.subject import Subject
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.template import Part, Template, Tree
from wherein.template.pose import matrices
from wherein.template.render import render


@pytest.fixture(scope="session")
def robot() -> Subject:
    return Subject.load()


def leaf(name: str, at: tuple[float, float], seed: int, static: bool = False) -> Part:
    motif = Motif.whole(blur(texture(27, 25, seed), 1.0))
    return Part(name, "toy", motif, at, (13.0, 12.0), 20.0, static)


@pytest.fixture(scope="session")
def toy() -> Template:
    """Three limbs that turn about their middles, around a body that does not."""
    limbs = (leaf("left", (0, 2), 1), leaf("right", (61, 5), 2), leaf("low", (30, 53), 3))
    parts = (
        Part("toy", None, None, (0, 0), (43.5, 39.5), 0.0, False),
        leaf("body", (31, 26), 4, True),
        *limbs,
    )
    tree = Tree({part.name: part for part in parts})
    bare = Template("toy", Picture(torch.zeros(3, 80, 88), torch.zeros(80, 88)), tree, tuple(tree)[1:])
    pixels, cover = (
        render(torch.full((3, 80, 88), shade), bare, matrices(tree, np.eye(3), {})) for shade in (0.0, 1.0)
    )
    return replace(bare, canvas=Picture(pixels, 1 - (cover - pixels)[0]))


@pytest.fixture(scope="session")
def subject(toy: Template) -> Subject:
    ground = torch.linspace(0.35, 0.65, 200).expand(3, 180, 200) + 0.05 * blur(texture(200, 180, 9), 3.0)
    return Subject(toy, ground.contiguous(), "made up")
