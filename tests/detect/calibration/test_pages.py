"""Synthetic pages, and the backgrounds of objects that stay upright."""

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import noise
from wherein.detect.calibration import measure
from wherein.detect.calibration.backgrounds import Backgrounds, clutter
from wherein.detect.calibration.pages import is_drawn, page
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.template import Template


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


def button() -> Tensor:
    """A picture of a button: a frame on a plain ground, and a letter-like stroke."""
    picture = torch.full((3, 24, 60), 0.9)
    picture[:, 2:22, 2:58] = 0.2
    picture[:, 3:21, 3:57] = 1.0
    picture[:, 8:16, 26:29] = 0.1
    return picture


def test_what_a_computer_drew_without_an_outline_is_drawn() -> None:
    assert is_drawn(Template.rigid("button", Motif.whole(button())))
    noisy = button() + 0.004 * torch.randn(button().shape, generator=torch.Generator().manual_seed(0))
    assert not is_drawn(Template.rigid("photograph", Motif.whole(noisy.clamp(0, 1))))
    mask = torch.ones(24, 60)
    mask[:3] = 0
    assert not is_drawn(Template.rigid("silhouette", Motif(button(), mask)))


def test_something_drawn_is_calibrated_on_pages_at_any_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    class SeenError(Exception):
        """What a calibration would be measured on is known: the rest is not wanted."""

    def seen(*arguments: object) -> None:
        raise SeenError(arguments[3])

    monkeypatch.setattr(measure, "Backgrounds", seen)
    everywhere = Range(180.0, (0.5, 2.0), 40.0)
    for picture, pages in ((button(), True), (noise(24, 60), False)):
        with pytest.raises(SeenError, match=str(pages)):
            measure.calibrate(Template.rigid("one", Motif.whole(picture)), everywhere)


def test_given_pictures_are_used_alone() -> None:
    given = torch.full((3, 90, 120), 0.25)
    backgrounds = Backgrounds([given], 0, (120, 90), with_pages=True)
    assert all(torch.equal(backgrounds(k), given) for k in range(4))
