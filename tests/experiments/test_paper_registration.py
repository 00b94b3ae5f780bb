"""The paper's descent with its coarse scales on reduced pictures: it ends where it ends at full size."""

from dataclasses import replace

import pytest
import torch

from wherein.experiments.figures.fig5 import PANELS, Panel
from wherein.experiments.paper_registration import Schedule, register_by_paper
from wherein.experiments.registration_scenes import as_tensor, observe
from wherein.experiments.runs.experiment import generator
from wherein.experiments.subject import Subject

SCHEDULE = Schedule(sigma=5.0, scales=2, iterations=25)


def test_scenes_are_reduced_as_far_as_the_smoothing_allows() -> None:
    reduced = replace(SCHEDULE, coarse=1.25)
    assert [reduced.reduction(sigma) for sigma in (10.0, 5.0, 2.5, 1.25, 0.625)] == [8, 4, 2, 1, 1]
    assert SCHEDULE.reduction(10.0) == 1


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
