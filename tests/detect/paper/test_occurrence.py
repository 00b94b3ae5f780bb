"""Occurrence maps: eq. (14), their gradients, their peaks."""

import math

import pytest
import torch

from wherein.detect.paper.occurrence import BATCH, Aggregate, confidence, occurrence_map, peaks
from wherein.images.gaussian import blur, gaussian_spots

SIZE = (31, 37)


def test_a_spot_on_a_pixel_is_the_filter_and_a_spot_between_has_its_mean_there() -> None:
    spot = gaussian_spots(torch.tensor([[18.0, 15.0]]), 2.0, *SIZE)[0]
    spike = torch.zeros(SIZE)
    spike[15, 18] = 1
    torch.testing.assert_close(spot, blur(spike, 2.0), atol=3e-4, rtol=0)
    between = gaussian_spots(torch.tensor([[17.3, 14.8]], dtype=torch.float64), 2.0, *SIZE)[0]
    y, x = torch.meshgrid(torch.arange(31.0), torch.arange(37.0), indexing="ij")
    assert between.sum().item() == pytest.approx(1, abs=1e-6)
    assert (between * x).sum().item() == pytest.approx(17.3, abs=1e-5)
    assert (between * y).sum().item() == pytest.approx(14.8, abs=1e-5)


def test_the_sum_is_equation_14_and_the_maximum_counts_a_place_once() -> None:
    points = torch.rand(2 * BATCH + 3, 2) * 30
    weights = torch.rand(len(points))
    spots = gaussian_spots(points, 1.5, *SIZE) * weights[:, None, None]
    torch.testing.assert_close(occurrence_map(points, weights, 1.5, SIZE, Aggregate.SUM), spots.sum(0))
    torch.testing.assert_close(occurrence_map(points, weights, 1.5, SIZE), spots.amax(0))
    twice = torch.cat((points, points)), torch.cat((weights, weights))
    torch.testing.assert_close(occurrence_map(*twice, 1.5, SIZE), spots.amax(0))
    assert torch.equal(occurrence_map(points[:0], weights[:0], 1.5, SIZE), torch.zeros(SIZE))


@pytest.mark.parametrize("aggregate", list(Aggregate))
def test_gradients(aggregate: Aggregate) -> None:
    points = torch.tensor([[8.3, 9.1], [25.0, 20.4]], dtype=torch.float64, requires_grad=True)
    cost = torch.tensor([0.3, 0.9], dtype=torch.float64, requires_grad=True)
    settings = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (2.0, 0.1, 1.7)]

    def run(*inputs: torch.Tensor) -> torch.Tensor:
        points, cost, alpha, gamma, sigma0 = inputs
        return occurrence_map(points, confidence(cost, alpha, gamma), sigma0, SIZE, aggregate)[4:25:5, 4:30:5]

    assert torch.autograd.gradcheck(run, (points, cost, *settings))


def test_confidence_is_one_below_gamma() -> None:
    found = confidence(torch.tensor([0.0, 2.0, 2.5, torch.inf]), 2.0, 2.0)
    torch.testing.assert_close(found, torch.tensor([1.0, 1.0, math.exp(-1), 0.0]))


def test_peaks_of_a_map() -> None:
    points = torch.tensor([[8.0, 9.0], [25.0, 20.0], [28.0, 20.0]])
    drawn = occurrence_map(points, torch.tensor([0.5, 1.0, 0.9]), 1.0, SIZE) * 2 * math.pi
    places, heights = peaks(drawn, minimum=0.2, distance=5)
    assert places.tolist() == [[25, 20], [8, 9]]
    torch.testing.assert_close(heights, torch.tensor([1.0, 0.5]))
    assert len(peaks(drawn, minimum=0.2, distance=2)[0]) == 3
    assert len(peaks(drawn, minimum=0.7, distance=5)[0]) == 1
    assert len(peaks(torch.zeros(SIZE), minimum=0.1, distance=3)[0]) == 0
    assert peaks(torch.ones(SIZE), minimum=0.5, distance=40)[0].tolist() == [[0, 0]]  # a plateau counts once
