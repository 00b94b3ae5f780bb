"""Figure 3 in a tiny setting: a toy that turns is found by both methods, and a stopped run ends the same."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from detecting import ready
from wherein.detect import Detector
from wherein.experiments import Name
from wherein.experiments.figures import fig3
from wherein.experiments.figures.fig3 import EXPERIMENT, Fig3Settings
from wherein.experiments.registration_scenes import translation
from wherein.experiments.rotated_scenes import evaluate, part_centre, pose_error
from wherein.experiments.runs.reproduction import Request, reproduce
from wherein.experiments.subject import Subject
from wherein.template import Template, Tree
from wherein.threads import one_thread

TINY = Fig3Settings(size=(170, 150), angles=(0.0, 12.0), every=120.0, bend=8.0)


@pytest.mark.parametrize("sweep", fig3.SWEEPS)
def test_the_papers_network_finds_it_and_tells_the_errors(subject: Subject, sweep: str) -> None:
    network = fig3.network_for(subject.template, TINY.stride)
    told = fig3.by_paper(TINY, subject, 0, network, sweep, 12.0)
    assert told == json.loads(json.dumps(told))
    assert told["found"] and told["perfect"] and told["px"] < 1
    assert {name for name, part in told["parts"].items() if part["right"]} == {"left", "right", "low"}
    assert 0.9 < told["peak"] <= 1.01 and len(told["trace"]) == 170
    shown = fig3.scene(TINY, subject, 0, sweep, 12.0)
    x = (shown.root @ (*subject.template.parts["toy"].pivot, 1.0))[0]
    assert abs(int(np.argmax(told["trace"])) - x) < 2


def test_a_part_that_others_cover_may_cost_more(toy: Template) -> None:
    low = replace(toy.parts["low"], at=(30.0, 40.0))
    tree = Tree({**toy.parts, "low": low})
    covered = replace(toy, parts=tree, paint_order=("low", "left", "right", "body"))
    plain, more = (fig3.network_for(template, 16) for template in (toy, covered))
    rise = {
        name: float((b.gamma - a.gamma).detach() / a.gamma.detach())
        for name, a, b in zip(plain.order, plain.nodes, more.nodes, strict=True)
    }
    assert rise.pop("low") > 1
    assert max(rise.values()) < 1e-3


def test_what_is_not_there_is_not_found(subject: Subject) -> None:
    shown = fig3.scene(TINY, subject, 0, "bent", 0.0)
    told = evaluate(subject.template, shown, [])
    assert not told["found"] and not told["perfect"] and told["finds"] == 0
    summary = fig3.numbers(
        TINY,
        {
            "default, every rotation": [{"sweep": "bent", **told}],
            "paper, bent, +0°": {"sweep": "bent", **told, "peak": 0.0, "trace": [0.0]},
        },
    )["summary"]
    assert summary["paper"]["bent"] == summary["default"]["bent"]
    assert summary["paper"]["bent"]["perfect_to"] is None and summary["paper"]["bent"]["scenes"] == 1


def calibrated(template: Template, scale: float, tilt: float, threads: int) -> Detector:
    """For which nobody had to wait."""
    assert (scale, tilt) == (1, 0)
    return ready(template, threads=threads)


def test_a_run_that_was_stopped_gives_what_one_that_was_not_gives(
    toy: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(TINY, sweeps=("bent",), angles=(12.0,))
    monkeypatch.setattr(fig3, "EXPERIMENT", replace(EXPERIMENT, quick=small))
    monkeypatch.setattr(fig3, "Detector", calibrated)
    toy.save(tmp_path / "toy")

    def stop(share: float, what: str) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    stopped, whole = (
        Request(Name.FIG3, tmp_path / name, tmp_path / "toy", quick=True) for name in ("stopped", "whole")
    )
    with pytest.raises(KeyboardInterrupt):
        reproduce(stopped, stop)
    for request in (stopped, whole):
        files = reproduce(request, lambda share, what: None)
        assert [path.name for path in files] == ["fig3.json", "fig3.png", "fig3-numbers.png"]
    reports = [json.loads(request.path(".json").read_text()) for request in (stopped, whole)]
    assert all(report.pop("timing") for report in reports)
    assert reports[0] == reports[1]
    assert [reports[0]["summary"][method]["bent"]["perfect"] for method in ("paper", "default")] == [1, 3]


@torch.no_grad()
def test_at_30_degrees_a_claw_of_the_crab_is_missed_and_no_eye_is_taken_for_the_other(shared: Path) -> None:
    """As docs/experiments.md says, where the paper says that the eyes are confused."""
    settings, crab = Fig3Settings(), Subject.load(shared / "crab")
    network = fig3.network_for(crab.template, settings.stride)
    shown = fig3.scene(settings, crab, 0, "at rest", 30.0)
    # Around the crab, by whole strides: the same grid as in the whole scene, for a quarter of the work.
    left, top, size = 128, 64, 256
    nodes = dict(zip(network.order, network.nodes, strict=True))
    sure = {}
    for name in ("eye_left", "eye_right", "claw_left"):
        with one_thread():
            window = shown.scene[:, top : top + size, left : left + size]
            found = nodes[name](window, network.log_sigma0.exp(), network.memory)
        poses = translation(left, top) @ found.matrix[found.weight > 0.05].double().numpy()
        sure[name] = [pose_error(pose, shown.parts[name], part_centre(crab.template, name)) for pose in poses]
    assert sure["claw_left"] == []
    for name in ("eye_left", "eye_right"):
        assert sure[name] and max(pixels for pixels, _ in sure[name]) < 1
