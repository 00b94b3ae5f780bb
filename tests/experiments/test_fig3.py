"""Figure 3 in a tiny setting: a toy that turns is found by both methods, and a stopped run ends the same."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from detecting import made_up, texture
from wherein.detect import Detector
from wherein.experiments import Name, fig3
from wherein.experiments.data import Subject
from wherein.experiments.fig3 import EXPERIMENT, Settings
from wherein.experiments.reproduce import Request, reproduce
from wherein.experiments.turning import bent, error, moving, turned
from wherein.images.gaussian import blur
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.template import Part, Template, Tree
from wherein.template.pose import matrices
from wherein.template.render import render

TINY = Settings(size=(170, 150), angles=(0.0, 12.0), every=120.0, bend=8.0)


def leaf(name: str, at: tuple[float, float], seed: int, static: bool = False) -> Part:
    motif = Motif.whole(blur(texture(27, 25, seed), 1.0))
    return Part(name, "toy", motif, at, (13.0, 12.0), 20.0, static)


@pytest.fixture(scope="module")
def toy() -> Template:
    """Three limbs that turn about their middles, around a body that does not."""
    limbs = (leaf("left", (0, 2), 1), leaf("right", (61, 5), 2), leaf("low", (30, 53), 3))
    parts = (
        Part("toy", None, None, (0, 0), (43.5, 39.5), 0.0, False),
        leaf("body", (31, 26), 4, True),
        *limbs,
    )
    tree = Tree({part.name: part for part in parts})
    bare = Template("toy", Picture(torch.zeros(3, 80, 88), torch.zeros(80, 88)), tree, tuple(tree)[1:])
    pixels, cover = (
        render(torch.full((3, 80, 88), shade), bare, matrices(tree, np.eye(3), {})) for shade in (0.0, 1.0)
    )
    return replace(bare, canvas=Picture(pixels, 1 - (cover - pixels)[0]))


@pytest.fixture(scope="module")
def subject(toy: Template) -> Subject:
    ground = torch.linspace(0.35, 0.65, 200).expand(3, 180, 200) + 0.05 * blur(texture(200, 180, 9), 3.0)
    return Subject(toy, ground.contiguous(), "made up")


def test_the_papers_tree_has_no_part_that_is_fixed_to_the_root(toy: Template) -> None:
    assert moving(toy).parts.leaves == ("left", "right", "low")
    assert moving(toy).paint_order == ("left", "right", "low")
    rigid = Template.rigid("logo", Motif.whole(texture(20, 20, 1)))
    assert moving(rigid).parts.leaves == ("logo",)


def test_limbs_bend_as_far_as_they_may(toy: Template) -> None:
    drawn = [bent(toy, np.random.default_rng(seed), 50.0) for seed in range(20)]
    assert all(set(turns) == {"left", "right", "low"} for turns in drawn)
    sizes = [abs(turn) for turns in drawn for turn in turns.values()]
    assert 15 < max(sizes) <= 20  # more than the joints allow was asked for


def test_errors_are_distances_and_turns(subject: Subject) -> None:
    shown = turned(subject.template, subject.photograph, 170.0, {"left": 5.0})
    other = turned(subject.template, subject.photograph, -170.0, {"left": 5.0})
    assert error(shown.root, other.root, subject.template.centre) == pytest.approx((0, 20), abs=1e-9)
    assert error(shown.parts["left"], shown.root, (0.0, 0.0))[1] == pytest.approx(5)
    moved = turned(subject.template, subject.photograph, 170.0, {}, at=(60.0, 70.0))
    x, y = (subject.photograph.shape[2] - 1) / 2 - 60, (subject.photograph.shape[1] - 1) / 2 - 70
    assert error(shown.root, moved.root, subject.template.centre) == pytest.approx((np.hypot(x, y), 0))


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
    told = fig3.judged(subject.template, shown, [])
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


def calibrated(template: Template, threads: int) -> Detector:
    """For which nobody had to wait."""
    return Detector(template, calibration=made_up(template, rotation=180.0), threads=threads)


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
