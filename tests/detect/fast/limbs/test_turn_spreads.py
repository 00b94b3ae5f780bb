"""Whether the turn of a limb can be told."""

from dataclasses import replace

import pytest
import torch

from detecting import group, leaf, noise, painted, ready, template
from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.pose import placed

SIZE, TURN = 44, 70.0


def grid() -> tuple[torch.Tensor, torch.Tensor]:
    """x and y of a square picture, from its middle."""
    at = torch.arange(SIZE) - (SIZE - 1) / 2
    return at[None].expand(SIZE, SIZE), at[:, None].expand(SIZE, SIZE)


def hub() -> torch.Tensor:
    x, y = grid()
    return (x.square() + y.square() <= 9.0**2).float()


def rod() -> torch.Tensor:
    """The hub with a pointer to the right."""
    x, y = grid()
    return torch.maximum(hub(), ((x > 0) & (y.abs() < 2.5)).float())


def bar() -> torch.Tensor:
    """The hub with the same pointer to either side."""
    return torch.maximum(rod(), rod().flip(1))


def dial(mask: torch.Tensor) -> Template:
    """A textured plate with a dark needle that turns all the way round."""
    needle = Motif(torch.full((3, SIZE, SIZE), 0.1) * mask, mask)
    at = (60.0 - SIZE / 2, 60.0 - SIZE / 2)
    part = replace(leaf("needle", "dial", needle.pixels, at, turn=180.0), motif=needle)
    plate = leaf("plate", "dial", 0.4 + 0.5 * noise(120, 120, 3), static=True)
    return template(group("dial"), plate, part, size=(120, 120))


def needle_of(mask: torch.Tensor, shown: torch.Tensor):  # type: ignore[no-untyped-def]
    """The needle as it is found in a scene with another one, turned by `TURN`."""
    scene, _ = painted(dial(shown), placed(12.0, 1.0, (160.0, 120.0), (59.5, 59.5)), {"needle": TURN})
    (found,) = ready(dial(mask), rotation=30.0)(scene)
    return found.parts["needle"]


def test_the_turn_of_a_needle_with_a_hub_is_told() -> None:
    part = needle_of(rod(), rod())
    assert part.found
    assert part.turn == pytest.approx(TURN, abs=1.5)
    assert part.turn_spread < 15


@pytest.mark.parametrize("shape", [hub, bar])
def test_what_fits_at_other_turns_as_well_is_not_told(shape) -> None:  # type: ignore[no-untyped-def]
    """A round hub at every turn, a bar at half a turn."""
    part = needle_of(shape(), shape())
    assert part.turn_spread > 90
    assert not part.found


def test_the_spread_is_written() -> None:
    written = needle_of(rod(), rod()).to_dict()
    assert 0 <= written["turn_spread"] < 15
