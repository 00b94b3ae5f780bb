"""Limbs on one axle: each pixel is evidence for one of them only."""

from dataclasses import replace

import pytest
import torch

from detecting import group, leaf, noise, painted, ready, template
from wherein.detect.placed_part import PartFound
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.pose import placed

SIZE = 76


def pointer(half: float, length: float, tail: float) -> torch.Tensor:
    """A mask of a pointer to the right, about the middle."""
    at = torch.arange(SIZE) - (SIZE - 1) / 2
    x, y = at[None].expand(SIZE, SIZE), at[:, None].expand(SIZE, SIZE)
    width = half * (1 - 0.6 * (x / length).clamp(0, 1))
    return ((x >= -tail) & (x <= length) & (y.abs() <= width)).float()


def gauge() -> Template:
    """A light plate with a pattern around it, a thin grey needle, and a stronger dark one above it."""
    light = 0.2 + 0.6 * noise(120, 120, 3)
    light[:, 20:100, 20:100] = 0.85
    plate = leaf("plate", "gauge", light, static=True)
    at = (60.0 - SIZE / 2, 60.0 - SIZE / 2)
    parts = []
    for name, mask, light in (
        ("thin", pointer(2.0, 32.0, 8.0), 0.65),
        ("thick", pointer(3.0, 34.0, 10.0).flip(1), 0.05),  # apart at rest
    ):
        needle = Motif(torch.full((3, SIZE, SIZE), light) * mask, mask)
        parts.append(replace(leaf(name, "gauge", needle.pixels, at, turn=180.0), motif=needle))
    return template(group("gauge"), plate, *parts, size=(120, 120))


def found_parts(thin: float, thick: float) -> dict[str, PartFound]:
    """What is found in a scene that is blurred and noisy, with needles at two turns."""
    turns = {"thin": thin, "thick": thick}
    scene, _ = painted(gauge(), placed(12.0, 1.0, (160.0, 120.0), (59.5, 59.5)), turns)
    noisy = blur(scene[None], 1.0)[0]
    noisy = noisy + 0.02 * torch.randn(scene.shape, generator=torch.Generator().manual_seed(1))
    (found,) = ready(gauge(), rotation=30.0)(noisy.clamp(0, 1))
    return dict(found.parts)


@pytest.mark.parametrize(("thin", "thick"), [(60.0, -40.0), (20.0, 150.0), (170.0, 30.0), (40.0, 100.0)])
def test_a_faint_needle_is_told_beside_a_stronger_one(thin: float, thick: float) -> None:
    """It fits the stronger one nearly as well as itself; but that one is there."""
    parts = found_parts(thin, thick)
    for name, turn in (("thin", thin), ("thick", thick)):
        assert parts[name].turn == pytest.approx(turn, abs=5), name
        assert parts[name].found, name


def test_a_needle_that_another_one_covers_is_not_found_elsewhere() -> None:
    parts = found_parts(-100.0, 80.0)
    assert parts["thick"].found
    assert parts["thick"].turn == pytest.approx(80, abs=3)
    assert not parts["thin"].found or parts["thin"].turn == pytest.approx(-100, abs=6)
