"""The evidence of occluded pieces; how many objects are found; which poses are reported."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import group, leaf, made_up, noise, painted, photo, template, walker
from wherein.detect import Detector, calibrate
from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.measure import _test_size
from wherein.detect.fast.evidence import piece_evidence
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Pieces
from wherein.detect.score import equivalent_zncc, information
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import ScenePyramid
from wherein.template import Template
from wherein.template.pose import placed

RIGID = Template.rigid("patch", Motif.whole(noise(90, 120, 8)))
POSE = placed(33.0, 1.0, (150.0, 110.0), RIGID.centre)


def evidence(scene: Tensor, pose: np.ndarray = POSE) -> tuple[float, float]:
    """ℓ of the whole motif, and of its best cells if that is more."""
    model = PieceModel.of(Pieces.of(RIGID).pieces[0])
    levels = ScenePyramid(scene)
    found = descend(levels, model.pyramid, EUCLIDEAN, Stage(model.scoring_scale, 0), pose[None])
    return float(information(found.zncc)[0]), float(piece_evidence(levels, model, found)[0])


def shown(cover: float = 0.0, turn: float = 33.0) -> Tensor:
    """The motif on gravel, a fraction of it under a patch of strong contrast."""
    root = placed(turn, 1.0, (150.0, 110.0), RIGID.centre)
    scene, _ = painted(RIGID, root, on=photo("gravel", 300, 220))
    if cover:
        width, height = (np.sqrt(cover) * np.array(RIGID.size)).astype(int)
        scene = scene.clone()
        scene[:, 90 : 90 + height, 120 : 120 + width] = noise(height, width, 5) * 2 - 0.5
    return scene.clamp(0, 1)


def test_a_good_fit_is_scored_as_a_whole() -> None:
    whole, visible = evidence(shown())
    assert whole == visible
    assert whole > 2.5


@pytest.mark.parametrize("cover", [0.1, 0.2, 0.3])
def test_an_occluder_takes_its_share_of_the_evidence_and_little_more(cover: float) -> None:
    whole, visible = evidence(shown(cover))
    assert whole < 1.4
    assert visible > 1.0
    assert visible > 1.8 * whole
    assert visible <= 0.75 * information(np.array(0.98)) + 1e-9


def test_clutter_gains_little() -> None:
    gains = []
    for seed in range(6):
        whole, visible = evidence(
            photo("gravel", 300, 220, seed), placed(60.0 * seed, 1, (150, 110), RIGID.centre)
        )
        gains.append(float(equivalent_zncc(np.array(visible)) - equivalent_zncc(np.array(whole))))
    assert max(gains) < 0.25


def test_a_piece_that_was_not_found_has_no_evidence() -> None:
    model = PieceModel.of(Pieces.of(RIGID).pieces[0])
    none = Fits(POSE[None], np.array([-1.0]))
    assert piece_evidence(ScenePyramid(shown()), model, none).tolist() == [0.0]


@pytest.mark.parametrize("cover", [0.0, 0.1, 0.2])
def test_a_rigid_object_is_found_under_an_occluder(cover: float) -> None:
    found = Detector(RIGID, calibration=made_up(RIGID, threshold=0.75), threads=1)(shown(cover))
    assert len(found) == 1
    corner = np.array((*RIGID.size, 1.0))
    assert np.linalg.norm(found[0].matrix @ corner - (POSE @ corner)[:2]) < 1


@pytest.mark.parametrize(("turn", "count"), [(0.0, 1), (12.0, 1), (24.0, 0), (-40.0, 0)])
def test_only_rotations_in_the_range_are_reported(turn: float, count: int) -> None:
    detector = Detector(RIGID, rotation=10, calibration=made_up(RIGID, rotation=10), threads=1)
    assert len(detector(shown(turn=turn))) == count


def test_all_of_many_objects_are_found() -> None:
    icon = Template.rigid("icon", Motif.whole(noise(24, 24, 3)))
    scene = photo("coffee", 512, 384).clone()
    places = [(x, y) for x in range(8, 480, 52) for y in range(8, 350, 58)]
    for x, y in places:
        scene[:, y : y + 24, x : x + 24] = noise(24, 24, 3)
    detector = Detector(icon, rotation=0, calibration=made_up(icon, rotation=0, threshold=0.9), threads=1)
    found = detector(scene)
    assert len(places) > 50
    assert len(found) == len(places)
    corners = {(round(item.matrix[0, 2]), round(item.matrix[1, 2])) for item in found}
    assert corners == set(places)
    few = Detector(icon, 0, max_instances=7, calibration=made_up(icon, 0, threshold=0.9), threads=1)
    assert len(few(scene)) == 7


def test_test_scenes_have_room_for_the_template() -> None:
    assert _test_size(walker(), Range()) == (1, (512, 384))
    large = Template.rigid("large", Motif.whole(torch.rand(3, 700, 900)))
    factor, size = _test_size(large, Range(scale=(0.5, 2.0)))
    assert factor == 4
    assert size == (585, 455)


def test_small_backgrounds_are_continued_by_their_mirror_images() -> None:
    small = photo("gravel", 100, 80)
    made = Backgrounds([small], 0, (250, 130))(0)
    assert made.shape == (3, 130, 250)
    torch.testing.assert_close(made[:, :80, :100], small)
    torch.testing.assert_close(made[:, :80, 100:200], small.flip(2))


def test_a_large_template_is_calibrated_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("_CHANCE_SCENES", 1), ("_EMPTY_SCENES", 3), ("_PRESENT_SCENES", 3)):
        monkeypatch.setattr(sys.modules["wherein.detect.calibration.measure"], name, count)
    made = template(group("r"), leaf("a", "r", noise(500, 640, 2), static=True), size=(640, 500))
    known = calibrate(made, Range(0.0))
    assert known.fingerprint == made.fingerprint
    assert known.present[0] > 0.85
    assert known.megapixels == pytest.approx(4 * 512 * 384 / 1e6)
    scene, _ = painted(made, placed(0.0, 1.0, (420.0, 310.0), made.centre), on=photo("coffee", 600, 400))
    assert len(Detector(made, rotation=0, calibration=known, threads=1)(scene)) == 1


def test_a_lower_threshold_loses_nothing() -> None:
    """A weak hypothesis from the body must not end the search from the limbs."""
    made = walker()
    root = placed(25.0, 1.0, (160.0, 120.0), made.centre)
    scene, _ = painted(made, root, {"arm": 20.0}, hidden=("trunk",))
    for threshold in (None, 0.3, 0.1, 0.05):
        found = Detector(made, calibration=made_up(made, threshold=0.4), threshold=threshold, threads=1)(
            scene
        )
        assert any(np.abs(item.parts["hand"].angle - 45.0) < 1 for item in found), threshold


def test_the_only_part_is_taken_to_be_at_rest() -> None:
    """A template with one part that was not marked as static: its turn cannot be told from the root's."""
    made = template(group("r"), leaf("a", "r", noise(60, 80, 2)), size=(80, 60))
    scene, _ = painted(made, placed(50.0, 1.0, (160.0, 120.0), made.centre))
    found = Detector(made, calibration=made_up(made), threads=1)(scene)
    assert found[0].angle == pytest.approx(50, abs=0.5)
    assert found[0].parts["a"].angle == pytest.approx(50, abs=0.5)


WRONG = {
    "rotation='90'": "rotation must be 0 to 180 degrees, searched to either side, but is '90'",
    "rotation=None": "rotation must be 0 to 180 degrees, searched to either side, but is None",
    "scale='12'": "scale must be (low, high) with 0 < low ≤ high, but is '12'",
    "max_instances=1.5": "max_instances must be a positive integer, or None for all, but is 1.5",
    "threads=0.5": "threads must be a positive integer, or None for the setting of torch, but is 0.5",
    "threshold='high'": "threshold must be between 0 and 1, or None for the calibrated one, but is 'high'",
}


def test_arguments_of_the_wrong_type_are_refused_with_a_message() -> None:
    """In a process of its own: here jaxtyping checks the types before the detector does."""
    lines = [
        "import torch, wherein",
        "from wherein.images.motif import Motif",
        "made = wherein.Template.rigid('x', Motif.whole(torch.rand(3, 30, 40)))",
        "def show(make):",
        "    try: make()",
        "    except wherein.ArgumentError as error: print(error)",
        *(f"show(lambda: wherein.Detector(made, {wrong}))" for wrong in WRONG),
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(WRONG)
    assert all(line.startswith(words) for line, words in zip(lines, WRONG.values(), strict=True)), lines
