"""The nodes of the paper's network: their hyperparameters are those of the docs and of appendix A.4."""

import math
import re
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import Tensor

from wherein.detect.paper.nodes import Hyperparameters, Node, group_node, leaf_node, missing_spike
from wherein.detect.paper.occurrence import Aggregate
from wherein.formulations import CostSmoothed, MotionObjective
from wherein.images.gaussian import gaussian_spots
from wherein.images.motif import Motif
from wherein.motion import Euclidean
from wherein.solve import UnrolledStage
from wherein.template.extract import OccurrenceMotif

MATHS = Path(__file__).parents[3] / "docs" / "maths.md"
JOINTS = torch.tensor([[30.0, 42.0], [71.0, 35.0], [52.0, 70.0]])


def test_the_docs_have_every_hyperparameter() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([-+.\w]+) \|$", MATHS.read_text(encoding="utf-8"), re.MULTILINE)
    chosen = asdict(Hyperparameters())
    assert chosen.pop("aggregate") is Aggregate.MAXIMUM
    assert chosen.pop("filters") is False
    assert {name: float(value) for name, value in rows} == chosen


def test_widths_are_those_of_appendix_a4() -> None:
    chosen = Hyperparameters()
    assert chosen.sigma**2 == 9
    assert chosen.scene_sigma**2 == 9 / 4
    assert chosen.fine_sigma**2 == pytest.approx(1e-2)
    assert chosen.sigma0**2 == 9


@pytest.fixture
def leaf() -> Node:
    """Of a thousand pixels."""
    mask = torch.ones(30, 40)
    mask[:10, :20] = 0
    return leaf_node(Motif(torch.rand(3, 30, 40), mask), (20.0, 15.0), Hyperparameters())


@torch.no_grad()
def test_a_leaf_of_a_thousand_pixels_has_the_alpha_and_gamma_of_the_released_code(leaf: Node) -> None:
    """Which has 10 for each of the crab's claws and eyes."""
    assert float(leaf.log_alpha.exp()) == pytest.approx(10, rel=1e-5)
    assert float(leaf.gamma) == pytest.approx(10, rel=1e-5)
    costs = torch.tensor([0.0, 9.99, 10.1, 11.0])
    found = leaf.results(torch.eye(3).expand(4, 3, 3), costs)
    weights = leaf.occurrences(found, (50, 60), torch.tensor(3.0)).weight
    expected = torch.tensor([1.0, 1.0, math.exp(-1), math.exp(-10)])
    torch.testing.assert_close(weights, expected, rtol=1e-3, atol=0)


@torch.no_grad()
def test_the_second_round_is_hardly_smoothed(leaf: Node) -> None:
    first, second = leaf.network.stages
    assert isinstance(first, UnrolledStage) and isinstance(second, UnrolledStage)
    coarse, fine = (stage.settings(torch.zeros(1)) for stage in (first, second))
    assert isinstance(coarse, CostSmoothed) and isinstance(fine, CostSmoothed)
    assert float(coarse.sigma) == pytest.approx(3)
    assert float(fine.sigma) == pytest.approx(0.1)
    assert float(fine.scene_sigma) == 0


@pytest.fixture
def group() -> Node:
    spots = gaussian_spots(JOINTS, 3.0, 111, 103)
    return group_node(OccurrenceMotif(Motif.whole(spots), (0, 0)), JOINTS, (50.0, 50.0), Hyperparameters())


def cost(node: Node, maps: Tensor) -> float:
    """At the identity, as the node's own formulation has it."""
    (stage,) = node.network.stages
    assert isinstance(stage, UnrolledStage)
    objective = MotionObjective(node.network.bind(stage, maps), Euclidean())
    return float(objective.evaluate(objective.start()).cost)


@torch.no_grad()
def test_a_missing_spike_costs_what_the_formula_says(group: Node) -> None:
    maps = gaussian_spots(JOINTS, 3.0, 111, 103)
    unit = missing_spike(channels=3, sigma=20.0)
    assert cost(group, maps) == pytest.approx(0, abs=1e-3 * unit)
    assert cost(group, maps * torch.tensor([1, 0, 1])[:, None, None]) == pytest.approx(unit, rel=0.03)
    assert cost(group, maps * torch.tensor([0, 0, 1])[:, None, None]) == pytest.approx(2 * unit, rel=0.03)


@torch.no_grad()
def test_a_group_lets_a_fifth_of_a_spike_be_missing(group: Node) -> None:
    unit = 1 / (8 * math.pi * 3 * 20**2)
    assert float(group.gamma) == pytest.approx(0.2 * unit, rel=1e-5)
    assert float(group.log_alpha.exp()) == pytest.approx(25 / unit, rel=1e-5)
