"""Figure 5 in a tiny setting: the same numbers again, stopped or not, and what they say of basins."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wherein.experiments import Name
from wherein.experiments.figures import fig5
from wherein.experiments.figures.fig5 import EXPERIMENT, PANELS, Fig5Settings
from wherein.experiments.figures.fig5_methods import METHODS
from wherein.experiments.registration_scenes import corner_error
from wherein.experiments.runs.reproduction import Request, reproduce
from wherein.experiments.subject import Subject

TINY = Fig5Settings(
    shifts=(0.0, 9.0), turns=(0.0, 170.0), scales=(1.0,), images=1, sigma=5.0, halvings=3, iterations=12
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig5, "EXPERIMENT", replace(EXPERIMENT, quick=TINY))


def told(folder: Path) -> dict:
    numbers = json.loads((folder / "fig5.json").read_text(encoding="utf-8"))
    del numbers["timing"]
    return numbers


def test_a_run_that_was_stopped_gives_what_one_that_was_not_gives(tmp_path: Path) -> None:
    seen: list[str] = []

    def stop_after_two(share: float, what: str) -> None:
        seen.append(what)
        if share > 0.3:
            raise KeyboardInterrupt

    stopped = Request(Name.FIG5, tmp_path / "stopped", quick=True)
    with pytest.raises(KeyboardInterrupt):
        reproduce(stopped, stop_after_two)
    assert stopped.journal.exists() and not stopped.path(".json").exists()
    reproduce(stopped, lambda share, what: None)
    whole = Request(Name.FIG5, tmp_path / "whole", quick=True)
    files = reproduce(whole, lambda share, what: None)
    assert told(stopped.out) == told(whole.out)
    assert [path.name for path in files] == ["fig5.json", "fig5.png", "fig5-numbers.png"]
    for path in files[1:]:
        assert path.read_bytes() == (stopped.out / path.name).read_bytes()


def test_tasks_depend_on_nothing_but_settings_and_seed() -> None:
    subject = Subject.load()
    some = fig5.tasks(TINY, subject, 0)[1]
    assert some.work() == some.work()
    other = fig5.tasks(TINY, subject, 1)[1]
    assert other.name == some.name and other.work() != some.work()


def test_a_small_shift_comes_home_and_half_a_turn_only_with_a_search() -> None:
    subject = Subject.load()
    near = fig5.at_pose(TINY, subject, 0, PANELS[0], 0.0, 0.0)
    far = fig5.at_pose(TINY, subject, 0, PANELS[0], 170.0, 0.0)
    assert set(near) == set(METHODS)
    assert all(near[method]["right"] == [True] and near[method]["zncc"][0] > 0.95 for method in METHODS)
    assert [far[method]["right"][0] for method in ("paper", "default", "start", "descent")] == [
        False, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("panel", PANELS, ids=[panel.name for panel in PANELS])
def test_the_scene_shows_the_motif_where_the_panel_says(panel: fig5.Panel) -> None:
    subject, settings = Subject.load(), replace(TINY, images=2)
    other = 30.0 if panel.name == "rotation" else 0.5
    first, second = fig5.images(settings, subject, 0, panel, other, 9.0)
    assert not first.scene.equal(second.scene)  # each before a background of its own
    back = np.linalg.inv(first.start) @ first.truth  # as the motif sees its own motion
    centre = np.array(((first.motif.width - 1) / 2, (first.motif.height - 1) / 2, 1.0))
    expected = {"rotation": (np.cos(np.pi / 6), 9.0), "scale": (0.5, 4.5)}[panel.name]
    assert abs(back[0, 0] - expected[0]) < 1e-9
    assert abs(np.linalg.norm((back @ centre - centre)[:2]) - expected[1]) < 1e-9
    assert corner_error(first, first.truth) == 0 and corner_error(first, first.start) > 9
