"""The steps of a calibration of the paper's network, one by one."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import noise
from wherein.detect.calibration.backgrounds import clutter
from wherein.detect.paper.nodes import Ends
from wherein.detect.paper.tuning.attraction import Homing
from wherein.detect.paper.tuning.confusions import Cheapest
from wherein.detect.paper.tuning.measure_leaf import measure_leaf
from wherein.detect.paper.tuning.paper_model import NodeCalibration, PaperCalibration, alpha_gamma, decision
from wherein.detect.paper.tuning.prescribed import spike_width, spiky, turning, visual
from wherein.detect.paper.tuning.rehearsal import Rehearsal, at_home
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.extract import joints_below
from wherein.template.paint import paint
from wherein.template.pose import placed, rotation
from wherein.theory import continuum_gradient


def starts(*home: str) -> Homing:
    """One rehearsal: four rows of four starts, an x for each that comes home; all are followed."""
    came = torch.tensor([[mark == "x" for mark in "".join(home)]])
    number = torch.arange(16)
    ends = Ends(torch.eye(3).expand(16, 3, 3), number.float(), torch.zeros(16, 2))
    return Homing(4, came, [ends], [number])


def test_a_basin_tells_what_every_grid_over_it_covers() -> None:
    square = starts("xxx.", "xxx.", "xxx.", "....")
    assert [square.covered(m) for m in (1, 2, 3, 4)] == pytest.approx([1, 1, 1, 9 / 16])
    assert square.stride() == 12
    point = starts("....", ".x..", "....", "....")
    assert [point.covered(m) for m in (1, 2, 3, 4)] == pytest.approx([1, 1 / 4, 1 / 9, 1 / 16])
    assert point.stride() == 8  # no closer: it would cost four times as much
    line = starts("..x.", "..x.", "..x.", "..x.")
    assert [line.covered(m) for m in (1, 2, 3, 4)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert starts("xxxx", "xxxx", "xxxx", "xxxx").stride() == 16


def test_a_grid_has_the_starts_of_one_phase() -> None:
    square = starts("xxx.", "xxx.", "xxx.", "....")
    (found,) = square.found
    assert found.cost.tolist() == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    seen = square.on_a_grid(0, 12, np.random.default_rng(0)).cost.tolist()
    assert 1 <= len(seen) <= 4
    assert len({(n // 4 % 3, n % 4 % 3) for n in seen}) == 1


@pytest.mark.parametrize("angle", [-20.0, 10.0])
def test_the_cheapest_place_is_where_the_motif_is(angle: float) -> None:
    mask = torch.ones(23, 30)
    mask[:9, :14] = 0
    motif = Motif(noise(23, 30, 3), mask)
    truth = torch.from_numpy(placed(angle, 1.0, (50.5, 42.5), motif.centre))
    scene = paint(clutter(97, 83, 2), motif, truth)
    found = Cheapest(motif, [-20.0, -10.0, 0.0, 10.0, 20.0])(scene, 5)
    assert at_home(found[:1], truth.float(), motif.centre, 1.5, 0.1).all()
    centres = (found @ torch.tensor((*motif.centre, 1.0)))[:, :2]
    assert (torch.cdist(centres, centres) + 99 * torch.eye(5)).min() > 8


def test_a_scene_that_is_too_small_has_no_cheapest_place() -> None:
    assert Cheapest(Motif.whole(noise(30, 40)), [0.0])(torch.rand(3, 31, 45), 3).shape == (0, 3, 3)


def test_smoothing_follows_size() -> None:
    small, large = (visual(Motif.whole(noise(side, side))) for side in (18, 72))
    assert large.sigma == pytest.approx(4 * small.sigma)
    assert large.scene_sigma == large.sigma / 2
    assert large.spacing > small.spacing == 1
    assert large.fine_spacing == 2 and small.fine_spacing == 1


def test_spikes_are_pulled_from_as_far_as_they_travel(badge: Template) -> None:
    """From the corner of a cell, turned by all that is allowed, the pull is 1/e of the theorem's or more."""
    chosen = spiky(badge, "badge", 30.0)
    joints = joints_below(badge, "badge").double()
    spikes = joints - (joints.amax(0) + joints.amin(0)) / 2
    turned = torch.from_numpy(rotation(30.0)[:2, :2])
    aside = torch.tensor([chosen.stride / 2, chosen.stride / 2]).double()
    for spike in spikes:
        one, target = spike[None], (turned @ spike + aside)[None]
        pull = continuum_gradient(
            torch.eye(2).double(), torch.zeros(2).double(), one, target, chosen.spike_sigma
        )
        nearby = (one - target)[0] / (8 * math.pi * chosen.spike_sigma**4)
        assert pull.b.norm() >= nearby.norm() / math.e * (1 - 1e-9)
    assert spike_width(badge, 30.0) < chosen.spike_sigma / 2


def test_turns_add_up_along_the_tree(badge: Template) -> None:
    assert turning(badge.parts, "badge", 12.0) == 12
    assert turning(badge.parts, "flap", 12.0) == 22  # half of the 20° that its joint has


def test_alpha_and_gamma_lie_between() -> None:
    alpha, gamma = alpha_gamma(0.002, 0.05)
    assert gamma == pytest.approx(0.01)
    assert math.exp(-alpha * (0.05 - gamma)) == pytest.approx(0.01)
    alpha, gamma = alpha_gamma(0.05, 0.002)  # no γ separates: all that is found counts
    assert gamma == 0.05
    assert math.exp(-alpha * 0.01) < 0.01


def test_the_threshold_is_above_clutter() -> None:
    assert decision([1.0] * 8, [0.0] * 8) == 0.5
    assert decision([0.9] * 8, [0.0, 0.3]) == pytest.approx(0.6)
    assert decision([0.1] * 8, [0.4]) == pytest.approx(0.45)
    assert decision([1.0] * 8, [0.99]) == 0.95


def test_whose_a_pixel_is(twins: Template, rehearsals: list[Rehearsal]) -> None:
    for rehearsal in rehearsals:
        for name in ("left", "right"):
            motif = twins.parts[name].motif
            assert motif is not None
            x, y, _ = rehearsal.places[name] @ (*motif.centre, 1.0)
            assert rehearsal.whose(x, y) == name
        assert rehearsal.whose(1.0, 1.0) is None


def test_a_part_that_is_taken_for_another_is_named(twins: Template, rehearsals: list[Rehearsal]) -> None:
    measured = measure_leaf(twins, "left", 12.0, rehearsals, np.random.default_rng(0)).known
    assert measured.taken_for == "right"
    assert measured.elsewhere[0] < 0.01
    assert not measured.separates
    calibration = record({"left": measured})
    (doubt,) = calibration.warnings
    assert doubt.startswith('"left" is found at costs up to')
    assert doubt.endswith("no γ separates them")
    assert 'the part "right" costs' in doubt


def record(nodes: dict[str, NodeCalibration], present: tuple[float, ...] = (1.0, 1.0)) -> PaperCalibration:
    return PaperCalibration(
        fingerprint="0",
        rotation=12.0,
        scale=(1.0, 1.0),
        sigma0=3.0,
        nodes=nodes,
        threshold=0.5,
        clutter=[0.0],
        present=list(present),
    )


def test_doubts_in_words() -> None:
    lost = NodeCalibration(
        stride=8, sigma=3, alpha=1, gamma=1, covered=0, found=[], elsewhere=[0.1], taken_for=None
    )
    assert record({"eye": lost}, (0.1, 0.9, 1.0)).warnings == [
        '"eye" was found nowhere',
        "within ±12° it was missed in 1 of 3 scenes",
    ]
    mixed = lost.model_copy(update={"found": [0.01, 0.2]})
    assert record({"eye": mixed}).warnings == [
        '"eye" is found at costs up to 0.2, and clutter costs 0.1: no γ separates them'
    ]
    assert record({"eye": mixed.model_copy(update={"found": [0.01]})}).warnings == []


def test_at_home_asks_for_place_and_turn() -> None:
    truth = torch.from_numpy(placed(10.0, 1.0, (30.0, 20.0), (5.0, 5.0)))

    def moved(degrees: float, x: float) -> Tensor:
        return torch.from_numpy(placed(10.0 + degrees, 1.0, (30.0 + x, 20.0), (5.0, 5.0)))

    poses = torch.stack([moved(0, 0), moved(-3, 0), moved(0, -1.5), moved(1.5, 0.9), moved(179, 0)])
    assert at_home(poses, truth, (5.0, 5.0), 1.0, 2.0).tolist() == [True, False, False, True, False]
