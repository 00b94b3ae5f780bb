"""Traces of fits: they start where the search does, repeat its descents, and end where it ended."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import made_up, painted, texture, walker
from wherein.detect import Detection, Detections, Detector, PartFound
from wherein.detect.explain.convergence import _Recorder
from wherein.detect.explain.fit_trace import FinalPose, FitTrace
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.detect.fast.polish import FULL
from wherein.detect.score import MAX_ZNCC
from wherein.pyramid.descent import Stage
from wherein.pyramid.levels import ScenePyramid
from wherein.pyramid.motif_levels import Level
from wherein.solve import Damping, gauss_newton
from wherein.template.pose import placed, rotation

ROOT = placed(40.0, 1.0, (160.0, 120.0), walker().centre)
TURNS = {"arm": 20.0, "wrist": -33.0, "leg": 12.0}


@pytest.fixture(scope="module")
def detector() -> Detector:
    made = walker()
    return ready(made)


@pytest.fixture(scope="module")
def found(detector: Detector) -> Detections:
    """One walker whose leg is missing, with so much noise that no score is capped."""
    scene, _ = painted(detector.template, ROOT, TURNS, hidden=("leg",))
    noisy = scene + 0.14 * torch.randn(scene.shape, generator=torch.Generator().manual_seed(3))
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
        assert trace.zncc == pytest.approx(found[0].parts[name].score, abs=2e-3)


def test_a_hidden_part_has_no_trace(found: Detections, traces: dict[str, FitTrace]) -> None:
    assert not found[0].parts["leg"].found
    assert "leg" not in traces


def test_from_coarse_to_fine_and_never_much_worse(detector: Detector, traces: dict[str, FitTrace]) -> None:
    finder = detector.search.octaves.finder  # type: ignore[attr-defined]
    models = {model.piece.fitted_leaf.name: model for model in finder.models.values()}
    for name, trace in traces.items():
        scales = [stage.scale for stage in trace.stages]
        first = models[name].screen_scale if name == "trunk" else models[name].joint_scale
        assert scales == sorted(scales, reverse=True)
        assert (scales[0], scales[-1]) == (first, 1)
        # A robust descent minimises another cost.
        for stage in (stage for stage in trace.stages if not stage.robust):
            cost = 1 - np.array(stage.zncc)
            # What the solver allows a step to lose: a hundredth, and rounding.
            assert (cost[1:] <= 1.01 * cost[:-1] + 1e-5).all()
    start, *_, end = traces["trunk"].stages[0].zncc
    assert end > start + 0.05  # a start is off by up to a basin


def test_the_steps_are_those_of_the_solver() -> None:
    """Descents that are stopped later and later are the history of one descent."""
    made = walker()
    scene, where = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    model, levels, stage = PieceModel.of(piece), ScenePyramid(scene), Stage(2, 8, pixels=600)
    start = (where["hand"] @ rotation(6.0, (4.0, 13.0)))[None]
    trace = _Recorder(levels, model, EUCLIDEAN).record(stage, start).zncc
    side = model.pyramid.side(2, EUCLIDEAN, 600)
    level = Level(levels.reduced(2), side, EUCLIDEAN, 2, 2)
    kept = gauss_newton(
        level.objective, level.enter(start), stage.steps, Damping(1e-2), stage.tolerance, history=True
    )
    costs = torch.stack(kept.history)[: len(trace), 0]
    assert 3 <= len(trace) <= stage.steps + 1
    np.testing.assert_allclose(trace, 1 - costs.double().numpy(), atol=2e-4)
    assert trace[-1] - trace[0] > 0.1


def test_an_occluded_piece_is_fitted_plainly_and_robustly(detector: Detector) -> None:
    scene, where = painted(detector.template, ROOT, TURNS)
    x, y = (where["trunk"][:2] @ (25.0, 15.0, 1.0)).round().astype(int)
    scene[:, y - 11 : y + 11, x - 11 : x + 11] = texture(22, 22, seed=9)
    found = detector(scene)
    trace = detector.fit_traces(found)[0]["trunk"]
    assert found[0].parts["trunk"].found
    assert [stage.robust for stage in trace.stages if stage.scale == 1] == [False, True]
    assert trace.kept is FinalPose.ROBUST
    assert trace.zncc < found[0].parts["trunk"].score  # of what is not covered


def test_in_another_octave() -> None:
    made = walker()
    detector = Detector(
        made, 0.0, (0.9, 2.2), calibration=made_up(made, rotation=0.0, scale=(0.9, 2.2)), threads=1
    )
    root = placed(0.0, 1.9, (165.0, 125.0), made.centre)
    scene = torch.nn.functional.interpolate(painted(made, root, TURNS)[0][None], size=(261, 347))[0]
    found = detector(scene)
    assert found[0].scale > 1.8
    (traces,) = detector.fit_traces(found)
    assert traces["trunk"].from_search
    for name, trace in traces.items():
        assert min(trace.zncc, MAX_ZNCC) == pytest.approx(found[0].parts[name].score, abs=5e-3)


def shifted(found: Detections, by: tuple[float, float]) -> Detections:
    """As if it had been found elsewhere."""

    def moved(matrix: np.ndarray) -> np.ndarray:
        return matrix + np.array(((0.0, 0.0, by[0]), (0.0, 0.0, by[1])))

    parts: dict[str, PartFound] = {n: replace(p, matrix=moved(p.matrix)) for n, p in found[0].parts.items()}
    return replace(found, items=(Detection(found[0].score, moved(found[0].matrix), parts),))


def test_a_pose_that_no_start_leads_to(detector: Detector, found: Detections) -> None:
    trace = detector.fit_traces(shifted(found, (-37.0, 24.0)))[0]["trunk"]
    assert not trace.from_search
    assert {stage.scale for stage in trace.stages} == {1}


def test_traces_do_not_depend_on_threads(found: Detections, traces: dict[str, FitTrace]) -> None:
    made = walker()
    assert Detector(made, calibration=made_up(made), threads=2).fit_traces(found) == (traces,)


def test_no_detections_have_no_traces(detector: Detector, found: Detections) -> None:
    assert detector.fit_traces(replace(found, items=())) == ()


def test_a_stage_that_has_converged_has_no_steps() -> None:
    made = walker()
    scene, where = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).pieces if p.name == "walker")
    recorder = _Recorder(ScenePyramid(scene), PieceModel.of(piece), EUCLIDEAN)
    stage = recorder.record(replace(FULL, tolerance=1e3), where["trunk"][None])
    assert len(stage.zncc) <= 2
