"""Traces of fits: they start where the search does, repeat its fits, and end where it ended."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import painted, ready, walker
from wherein.detect import Detection, Detections, Detector, PartFound
from wherein.detect.explain.fit_trace import FitTrace
from wherein.detect.fast.refinement.converged import POLISH
from wherein.detect.score import MAX_ZNCC
from wherein.planes.plane_descent import PlaneStage
from wherein.template.pose import placed

ROOT = placed(40.0, 1.0, (160.0, 120.0), walker().centre)
TURNS = {"arm": 20.0, "wrist": -33.0, "leg": 12.0}


@pytest.fixture(scope="module")
def detector() -> Detector:
    made = walker()
    return ready(made)


@pytest.fixture(scope="module")
def found(detector: Detector) -> Detections:
    """One walker whose leg is missing, with so much noise that no score is capped.

    With more noise, fits with little smoothing, as in the search, and with the usual one end apart.
    """
    scene, _ = painted(detector.template, ROOT, TURNS, hidden=("leg",))
    noisy = scene + 0.1 * torch.randn(scene.shape, generator=torch.Generator().manual_seed(3))
    return detector(noisy.clamp(0, 1))


@pytest.fixture(scope="module")
def traces(detector: Detector, found: Detections) -> dict[str, FitTrace]:
    (only,) = detector.fit_traces(found)
    return dict(only)


def test_a_trace_ends_at_the_score(found: Detections, traces: dict[str, FitTrace]) -> None:
    assert set(traces) == {"trunk", "upper", "hand"}
    for name, trace in traces.items():
        assert trace.from_search
        assert found[0].parts[name].score < MAX_ZNCC
        assert trace.zncc == pytest.approx(found[0].parts[name].score, abs=3e-3)


def test_a_hidden_part_has_no_trace(found: Detections, traces: dict[str, FitTrace]) -> None:
    assert not found[0].parts["leg"].found
    assert "leg" not in traces


def test_from_coarse_to_fine_and_better_in_the_end(detector: Detector, traces: dict[str, FitTrace]) -> None:
    finder = detector.search.finder  # type: ignore[attr-defined]
    models = {model.piece.fitted_leaf.name: model for model in finder.models.values()}
    for name, trace in traces.items():
        scales = [stage.scale for stage in trace.stages]
        assert len(scales) == len(models[name].stages)
        assert scales == sorted(scales, reverse=True)
        for stage in trace.stages:
            last = stage is trace.stages[-1]
            assert len(stage.zncc) == 1 + PlaneStage().rounds + (len(POLISH) if last else 0)
            assert stage.zncc[-1] > stage.zncc[0] - 0.01
    start, *_, end = traces["trunk"].stages[0].zncc
    assert end > start + 0.02  # a start is off by up to a basin


def test_at_another_size() -> None:
    made = walker()
    detector = ready(made, 0.0, (0.9, 2.2))
    root = placed(0.0, 1.9, (165.0, 125.0), made.centre)
    scene = torch.nn.functional.interpolate(painted(made, root, TURNS)[0][None], size=(261, 347))[0]
    found = detector(scene)
    assert found[0].scale > 1.8
    (traces,) = detector.fit_traces(found)
    assert traces["trunk"].from_search
    for name, trace in traces.items():
        assert min(trace.zncc, MAX_ZNCC) == pytest.approx(found[0].parts[name].score, abs=0.02)


def shifted(found: Detections, by: tuple[float, float]) -> Detections:
    """As if it had been found elsewhere."""

    def moved(matrix: np.ndarray) -> np.ndarray:
        return matrix + np.array(((0.0, 0.0, by[0]), (0.0, 0.0, by[1])))

    parts: dict[str, PartFound] = {n: replace(p, matrix=moved(p.matrix)) for n, p in found[0].parts.items()}
    return replace(found, items=(Detection(found[0].score, moved(found[0].matrix), parts),))


def test_a_pose_that_no_start_leads_to(detector: Detector, found: Detections) -> None:
    trace = detector.fit_traces(shifted(found, (-37.0, 24.0)))[0]["trunk"]
    assert not trace.from_search


def test_traces_do_not_depend_on_threads(found: Detections, traces: dict[str, FitTrace]) -> None:
    made = walker()
    assert ready(made, threads=2).fit_traces(found) == (traces,)


def test_no_detections_have_no_traces(detector: Detector, found: Detections) -> None:
    assert detector.fit_traces(replace(found, items=())) == ()
