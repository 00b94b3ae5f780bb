"""Synthetic pages, and the backgrounds of objects that stay upright."""

import numpy as np
import torch

from wherein.detect.calibration.backgrounds import Backgrounds, clutter
from wherein.detect.calibration.pages import page


def test_a_page_is_the_same_for_the_same_seed() -> None:
    first = page(200, 150, 3)
    assert first.shape == (3, 150, 200)
    assert (first >= 0).all()
    assert (first <= 1).all()
    assert torch.equal(first, page(200, 150, 3))
    assert not torch.equal(first, page(200, 150, 4))


def test_most_edges_of_pages_are_upright() -> None:
    """Of all edges, those whose gradient points along an axis."""

    def upright_share(picture: torch.Tensor) -> float:
        grey = picture.mean(0).numpy()
        down, across = np.gradient(grey)
        strong = np.hypot(down, across) > 0.05
        off = np.minimum(abs(down), abs(across))[strong] / np.hypot(down, across)[strong]
        return float((off < 0.1).mean())

    pages = np.mean([upright_share(page(320, 240, seed)) for seed in range(4)])
    others = np.mean([upright_share(clutter(320, 240, seed)) for seed in range(4)])
    assert pages > others + 0.1


def test_pages_of_all_sizes() -> None:
    for width, height in ((1, 1), (17, 300), (900, 40)):
        assert page(width, height, 0).shape == (3, height, width)


def test_half_of_the_backgrounds_of_upright_objects_are_pages() -> None:
    usual, upright = Backgrounds((), 0, (120, 90)), Backgrounds((), 0, (120, 90), with_pages=True)
    pages = [torch.equal(upright(k), page(120, 90, k)) for k in range(8)]
    assert pages == [False, True] * 4
    assert torch.equal(upright(0), usual(0))
    assert not torch.equal(upright(2), usual(2)), "a photograph instead of clutter"


def test_given_pictures_are_used_alone() -> None:
    given = torch.full((3, 90, 120), 0.25)
    backgrounds = Backgrounds([given], 0, (120, 90), with_pages=True)
    assert all(torch.equal(backgrounds(k), given) for k in range(4))
