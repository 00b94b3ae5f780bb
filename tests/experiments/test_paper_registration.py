"""The paper's descent: its scales, and that on reduced pictures it ends where it ends at full size."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from wherein.experiments import paper_registration
from wherein.experiments.figures.fig5 import PANELS, Panel
from wherein.experiments.paper_registration import Schedule, register_by_paper
from wherein.experiments.registration_scenes import as_tensor, observe
from wherein.experiments.runs.experiment import generator
from wherein.experiments.subject import Subject
from wherein.formulations import WithBackground

SCHEDULE = Schedule(sigma=5.0, scales=2, iterations=25)


def test_scenes_are_reduced_as_far_as_the_smoothing_allows() -> None:
    reduced = replace(SCHEDULE, coarse=1.25)
    assert [reduced.reduction(sigma) for sigma in (10.0, 5.0, 2.5, 1.25, 0.625)] == [8, 4, 2, 1, 1]
    assert SCHEDULE.reduction(10.0) == 1


def test_every_scale_has_half_the_smoothing_of_the_one_before(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = observe(subject, PANELS[0].moved(6.0, 12.0), generator(0, "halved"))
    sigmas: list[float] = []

    def told(sigma: float, *others: Any, **named: Any) -> WithBackground:
        sigmas.append(sigma)
        return WithBackground(sigma, *others, **named)

    monkeypatch.setattr(paper_registration, "WithBackground", told)
    register_by_paper((seen,), "euclidean", Schedule(sigma=4.0, scales=3, iterations=1), goal=2.0)
    assert sigmas == [4.0, 2.0, 1.0]


def test_at_the_start_of_each_scale_only_the_background_moves(robot: Subject) -> None:
    seen = observe(robot, PANELS[0].moved(6.0, 12.0), generator(0, "still"))
    still = replace(SCHEDULE, coarse=1.25, still=5)

    def moved(schedule: Schedule) -> torch.Tensor:
        return register_by_paper((seen,), "euclidean", schedule, goal=2.0).matrix - as_tensor(seen.start)

    assert not moved(replace(still, scales=2, iterations=5)).any()
    first = replace(still, scales=1, iterations=6)
    assert moved(first).abs().max() > 1
    # The background has: a model that stays where it starts gives another first step of the pose.
    assert (moved(first) - moved(replace(first, background=0.0))).abs().max() > 0.02


@pytest.mark.parametrize(("panel", "other"), [(PANELS[0], 12.0), (PANELS[1], 0.9)], ids=["turn", "scale"])
def test_it_ends_where_it_ends_at_full_size(panel: Panel, other: float) -> None:
    subject = Subject.load()
    seen = observe(subject, panel.moved(6.0, other), generator(0, "reduced"))
    ends = [
        register_by_paper((seen,), panel.motion, schedule, goal=2.0)
        for schedule in (SCHEDULE, replace(SCHEDULE, coarse=1.25))
    ]
    width, height = seen.motif.width - 1.0, seen.motif.height - 1.0
    corners = torch.tensor(((0, 0, 1), (width, 0, 1), (0, height, 1), (width, height, 1))).mT
    moved, apart = (
        ((a - b) @ corners).norm(dim=-2).max()
        for a, b in ((ends[0].matrix[0], as_tensor(seen.start)[0]), (ends[0].matrix[0], ends[1].matrix[0]))
    )
    assert moved > 4
    assert apart < 0.1 * moved  # half-way, when a difference of pace still shows
    assert ends[1].iterations == ends[0].iterations
