"""All of a calibration of the paper's network: what it is for, that it repeats, and what it says."""

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import walker
from wherein.detect.calibration.backgrounds import clutter
from wherein.detect.detector import Detector
from wherein.detect.paper.instances import PaperDetector
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.paper.nodes import Hyperparameters
from wherein.detect.paper.tuning import PaperCalibration, calibrate_paper
from wherein.detect.search_range import Range
from wherein.errors import ArgumentError
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix, Tree


def scene(badge: Template, seed: int, degrees: float) -> tuple[Tensor, Tensor, dict[str, Matrix]]:
    """Clutter, the badge in it, and where its parts are."""
    background = clutter(97, 81, 300 + seed)
    root = placed(degrees, 1.0, (47.3 + seed, 40.6 - seed), badge.centre)
    where = matrices(badge.parts, root, {"flap": 4.0 - seed})
    return background, render(background, badge, where), where


@torch.no_grad()
def test_it_finds_what_the_constants_of_the_crab_do_not(
    badge: Template, calibrated: PaperCalibration
) -> None:
    """The plate is partly covered, which costs more than they allow; without the badge nothing is found."""
    network = PaperNetwork(badge, calibrated.shared, per_node=calibrated.hyperparameters(badge))
    derived, released = PaperDetector(network, calibrated.threshold), PaperDetector(PaperNetwork(badge))
    for seed, degrees in enumerate((-9.0, 5.0)):
        empty, painted, where = scene(badge, seed, degrees)
        (found,) = derived(painted)
        assert np.abs((found.matrix - where["badge"]) @ (*badge.centre, 1.0)).max() < 1
        for name in ("plate", "flap"):
            assert found.parts[name].found
            assert np.abs(found.parts[name].matrix - where[name])[:2, 2].max() < 1
        assert derived(empty) == []
        assert released(painted) == []


def test_what_was_measured(badge: Template, calibrated: PaperCalibration) -> None:
    assert calibrated.fingerprint == badge.fingerprint
    assert (calibrated.rotation, calibrated.scale) == (12.0, (1.0, 1.0))
    assert list(calibrated.nodes) == list(badge.parts)
    plate, flap = calibrated.nodes["plate"], calibrated.nodes["flap"]
    assert plate.gamma > 2 * flap.gamma  # it is covered
    assert plate.gamma > Hyperparameters().gamma
    for node in (plate, flap):
        assert node.separates
        assert node.found[-1] <= node.gamma < node.elsewhere[0]
        assert np.exp(-node.alpha * (node.elsewhere[0] - node.gamma)) == pytest.approx(0.01)
        assert node.covered is not None and node.covered > 0.8
        assert node.stride >= 4
    assert calibrated.clutter[-1] < calibrated.threshold < calibrated.present[1]
    assert calibrated.warnings == [] or calibrated.missed
    assert PaperCalibration.model_validate_json(calibrated.model_dump_json()) == calibrated


def test_it_is_the_same_again(badge: Template, calibrated: PaperCalibration) -> None:
    shares: list[float] = []
    again = calibrate_paper(badge, Range(12.0), progress=lambda share, what: shares.append(share))
    assert again == calibrated
    assert shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1


def test_a_group_of_one_is_refused_before_time_is_spent(badge: Template) -> None:
    parts = {name: part for name, part in badge.parts.items() if name != "flap"}
    with pytest.raises(ArgumentError, match='"badge" has one part'):
        calibrate_paper(Template("badge", badge.canvas, Tree(parts), ("plate",)), Range(12.0))


def test_what_a_caller_chooses_wins(
    badge: Template, calibrated: PaperCalibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: object) -> PaperCalibration:
        raise AssertionError("calibrated, though all was given")

    monkeypatch.setattr("wherein.detect.methods.paper_calibration_for", never)
    known = Detector(badge, 12.0, 1, 0, method="paper", calibration=calibrated, threshold=0.3)
    strides = [node.stride for node in reversed(known.search.detector.network.nodes)]
    assert strides == [node.stride for node in calibrated.nodes.values()]
    assert known.threshold == 0.3 and known.calibration is calibrated


def test_calibrations_and_methods_that_do_not_belong_together(
    badge: Template, calibrated: PaperCalibration
) -> None:
    with pytest.raises(ArgumentError, match='is a PaperCalibration, but method="fast" needs a Calibration'):
        Detector(badge, rotation=12.0, calibration=calibrated)
    with pytest.raises(ArgumentError, match="measured for rotation=12, scale="):
        Detector(badge, scale=1, tilt=0, method="paper", calibration=calibrated)
    with pytest.raises(ArgumentError, match="measured for another template"):
        Detector(walker(), 12.0, 1, 0, method="paper", calibration=calibrated)
    with pytest.raises(ArgumentError, match=r"scale is \(1.0, 2.0\)"):
        Detector(badge, scale=(1.0, 2.0), method="paper")
    with pytest.raises(
        ArgumentError, match='tilt is 40, but method="paper" knows no perspective: use tilt=0'
    ):
        Detector(badge, scale=1, method="paper")
    with pytest.raises(ArgumentError, match='polarity is "any", but method="paper" compares colours'):
        Detector(badge, scale=1, tilt=0, polarity="any", method="paper")
