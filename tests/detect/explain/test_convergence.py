"""FitTraces of finds: they begin where the search does, are its own descents, and end where it ended."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from detecting import made_up, painted, texture, walker
from wherein.detect import Detection, Detections, Detector, PartFound
from wherein.detect.explain.convergence import FinalPose, FitTrace, _Path
from wherein.detect.fast.piece_search import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.detect.fast.polish import FULL
from wherein.detect.score import MAX_ZNCC
from wherein.formulations import CorrelationObjective
from wherein.pyramid.descent import Stage
from wherein.pyramid.levels import Level, ScenePyramid
from wherein.solve import Damping, gauss_newton
from wherein.template.pose import placed, rotation

ROOT = placed(40.0, 1.0, (160.0, 120.0), walker().centre)
TURNS = {"arm": 20.0, "wrist": -33.0, "leg": 12.0}


@pytest.fixture(scope="module")
def detector() -> Detector:
    made = walker()
    return Detector(made, calibration=made_up(made), threads=1)


@pytest.fixture(scope="module")
def found(detector: Detector) -> Detections:
    """One walker whose leg is missing, with so much noise that no score is as high as scores can be."""
    scene, _ = painted(detector.template, ROOT, TURNS, hidden=("leg",))
    noisy = scene + 0.14 * torch.randn(scene.shape, generator=torch.Generator().manual_seed(3))
    return detector(noisy.clamp(0, 1))


@pytest.fixture(scope="module")
def ways(detector: Detector, found: Detections) -> dict[str, FitTrace]:
    (only,) = detector.retraced(found)
    return dict(only)


def test_a_way_ends_at_the_score(found: Detections, ways: dict[str, FitTrace]) -> None:
    assert set(ways) == {"trunk", "upper", "hand"}
    for name, way in ways.items():
        assert way.led
        assert found[0].parts[name].score < MAX_ZNCC
        assert way.zncc == pytest.approx(found[0].parts[name].score, abs=2e-3)


def test_what_is_hidden_has_no_way(found: Detections, ways: dict[str, FitTrace]) -> None:
    assert not found[0].parts["leg"].found
    assert "leg" not in ways


def test_from_coarse_to_fine_and_never_much_worse(detector: Detector, ways: dict[str, FitTrace]) -> None:
    models = {f.piece.fitted_leaf.name: f for f in detector.search.octaves.whole.models.values()}  # type: ignore[attr-defined]
    for name, way in ways.items():
        scales = [leg.scale for leg in way.stages]
        first = models[name].coarsest if name == "trunk" else models[name].joint_scale
        assert scales == sorted(scales, reverse=True)
        assert (scales[0], scales[-1]) == (first, 1)
        for leg in (leg for leg in way.stages if not leg.robust):  # a robust one descends something else
            cost = 1 - np.array(leg.zncc)
            # What the solver allows a step to lose: a hundredth, and rounding.
            assert (cost[1:] <= 1.01 * cost[:-1] + 1e-5).all()
    start, *_, end = ways["trunk"].stages[0].zncc
    assert end > start + 0.05  # a start is off by up to a basin


def test_the_steps_are_those_of_the_solver() -> None:
    """A descent cut off ever later is the history of one descent."""
    made = walker()
    scene, where = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).limbs if p.name == "wrist")
    model, levels, stage = PieceModel.of(piece), ScenePyramid(scene), Stage(2, 8, pixels=600)
    start = (where["hand"] @ rotation(6.0, (4.0, 13.0)))[None]
    told = _Path(levels, model, EUCLIDEAN)._trace(stage, start).zncc
    side = model.pyramid.side(2, EUCLIDEAN, 600)
    objective = CorrelationObjective(levels.surface(2), side, EUCLIDEAN)
    at = Level(objective, 2, 2, (0.0, 0.0)).enter(start)
    kept = gauss_newton(objective, at, stage.steps, Damping(1e-2), stage.tolerance, history=True)
    costs = torch.stack(kept.history)[: len(told), 0]
    assert 3 <= len(told) <= stage.steps + 1
    np.testing.assert_allclose(told, 1 - costs.double().numpy(), atol=2e-4)
    assert told[-1] - told[0] > 0.1


def test_under_a_cover_it_descends_both_ways(detector: Detector) -> None:
    scene, where = painted(detector.template, ROOT, TURNS)
    x, y = (where["trunk"][:2] @ (25.0, 15.0, 1.0)).round().astype(int)
    scene[:, y - 11 : y + 11, x - 11 : x + 11] = texture(22, 22, seed=9)
    found = detector(scene)
    way = detector.retraced(found)[0]["trunk"]
    assert found[0].parts["trunk"].found
    assert [leg.robust for leg in way.stages if leg.scale == 1] == [False, True]
    assert way.kept is FinalPose.ROBUST
    assert way.zncc < found[0].parts["trunk"].score  # of what is not covered


def test_in_a_band_of_another_scale() -> None:
    made = walker()
    detector = Detector(
        made, 0.0, (0.9, 2.2), calibration=made_up(made, rotation=0.0, scale=(0.9, 2.2)), threads=1
    )
    root = placed(0.0, 1.9, (165.0, 125.0), made.centre)
    scene = torch.nn.functional.interpolate(painted(made, root, TURNS)[0][None], size=(261, 347))[0]
    found = detector(scene)
    assert found[0].scale > 1.8
    (ways,) = detector.retraced(found)
    assert ways["trunk"].led
    for name, way in ways.items():
        assert min(way.zncc, MAX_ZNCC) == pytest.approx(found[0].parts[name].score, abs=5e-3)


def shifted(found: Detections, by: tuple[float, float]) -> Detections:
    """As if it had been found elsewhere."""

    def moved(matrix: np.ndarray) -> np.ndarray:
        return matrix + np.array(((0.0, 0.0, by[0]), (0.0, 0.0, by[1])))

    parts: dict[str, PartFound] = {n: replace(p, matrix=moved(p.matrix)) for n, p in found[0].parts.items()}
    return replace(found, items=(Detection(found[0].score, moved(found[0].matrix), parts),))


def test_where_no_start_leads_there_it_says_so(detector: Detector, found: Detections) -> None:
    way = detector.retraced(shifted(found, (-37.0, 24.0)))[0]["trunk"]
    assert not way.led
    assert {leg.scale for leg in way.stages} == {1}


def test_the_same_again_and_with_more_threads(found: Detections, ways: dict[str, FitTrace]) -> None:
    made = walker()
    assert Detector(made, calibration=made_up(made), threads=2).retraced(found) == (ways,)


def test_nothing_found_nothing_to_tell(detector: Detector, found: Detections) -> None:
    assert detector.retraced(replace(found, items=())) == ()


def test_a_leg_at_rest_has_no_step() -> None:
    made = walker()
    scene, where = painted(made, ROOT, TURNS)
    piece = next(p for p in Pieces.of(made).pieces if p.name == "walker")
    path = _Path(ScenePyramid(scene), PieceModel.of(piece), EUCLIDEAN)
    leg = path._trace(replace(FULL, tolerance=1e3), where["trunk"][None])
    assert len(leg.zncc) <= 2
