"""What a piece tells where something is in front of it; how many there can be; which poses are told."""

import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import group, leaf, made_up, noise, painted, photo, template, walker
from wherein.detect import Detector, calibrate
from wherein.detect.calibrate import _Backgrounds, _stage
from wherein.detect.evidence import information, likeness
from wherein.detect.finder import Range
from wherein.detect.fitting import EUCLIDEAN, Fitting
from wherein.detect.pieces import Pieces
from wherein.detect.visible import evidence
from wherein.images.motif import Motif
from wherein.search.levels import Descended, SceneLevels, descend
from wherein.solve.schedule import Stage
from wherein.template import Template
from wherein.template.pose import placed

RIGID = Template.rigid("patch", Motif.whole(noise(90, 120, 8)))
POSE = placed(33.0, 1.0, (150.0, 110.0), RIGID.centre)


def judged(scene: Tensor, pose: np.ndarray = POSE) -> tuple[float, float]:
    """ℓ of all of the motif, and of what is visible of it."""
    fitting = Fitting.of(Pieces.of(RIGID).pieces[0])
    levels = SceneLevels(scene)
    found = descend(levels, fitting.levels, EUCLIDEAN, Stage(fitting.judged, 0), pose[None])
    return float(information(found.zncc)[0]), float(evidence(levels, fitting, found)[0])


def shown(cover: float = 0.0, turn: float = 33.0) -> Tensor:
    """The motif on gravel, a share of it under a loud patch."""
    root = placed(turn, 1.0, (150.0, 110.0), RIGID.centre)
    scene, _ = painted(RIGID, root, on=photo("gravel", 300, 220))
    if cover:
        width, height = (np.sqrt(cover) * np.array(RIGID.size)).astype(int)
        scene = scene.clone()
        scene[:, 90 : 90 + height, 120 : 120 + width] = noise(height, width, 5) * 2 - 0.5
    return scene.clamp(0, 1)


def test_what_fits_is_told_as_it_is() -> None:
    whole, visible = judged(shown())
    assert whole == visible
    assert whole > 2.5


@pytest.mark.parametrize("cover", [0.1, 0.2, 0.3])
def test_a_cover_takes_its_share_and_no_more(cover: float) -> None:
    whole, visible = judged(shown(cover))
    assert whole < 1.4
    assert visible > 1.0
    assert visible > 1.8 * whole
    assert visible <= 0.75 * information(np.array(0.98)) + 1e-9


def test_clutter_gains_little() -> None:
    gains = []
    for seed in range(6):
        whole, visible = judged(
            photo("gravel", 300, 220, seed), placed(60.0 * seed, 1, (150, 110), RIGID.centre)
        )
        gains.append(float(likeness(np.array(visible)) - likeness(np.array(whole))))
    assert max(gains) < 0.25


def test_what_is_not_there_tells_nothing() -> None:
    fitting = Fitting.of(Pieces.of(RIGID).pieces[0])
    none = Descended(POSE[None], np.array([-1.0]))
    assert evidence(SceneLevels(shown()), fitting, none).tolist() == [0.0]


@pytest.mark.parametrize("cover", [0.0, 0.1, 0.2])
def test_a_rigid_thing_is_found_under_a_patch(cover: float) -> None:
    found = Detector(RIGID, calibration=made_up(RIGID, threshold=0.75), threads=1)(shown(cover))
    assert len(found) == 1
    corner = np.array((*RIGID.size, 1.0))
    assert np.linalg.norm(found[0].matrix @ corner - (POSE @ corner)[:2]) < 1


@pytest.mark.parametrize(("turn", "told"), [(0.0, 1), (12.0, 1), (24.0, 0), (-40.0, 0)])
def test_only_rotations_that_were_asked_for_are_told(turn: float, told: int) -> None:
    detector = Detector(RIGID, rotation=10, calibration=made_up(RIGID, rotation=10), threads=1)
    assert len(detector(shown(turn=turn))) == told


def test_as_many_as_there_are() -> None:
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


def test_scenes_have_room_for_the_template() -> None:
    assert _stage(walker(), Range()) == (1, (512, 384))
    large = Template.rigid("large", Motif.whole(torch.rand(3, 700, 900)))
    factor, size = _stage(large, Range(scale=(0.5, 2.0)))
    assert factor == 4
    assert size == (585, 455)


def test_small_backgrounds_are_continued() -> None:
    small = photo("gravel", 100, 80)
    made = _Backgrounds([small], (250, 130), 0)(0)
    assert made.shape == (3, 130, 250)
    torch.testing.assert_close(made[:, :80, :100], small)
    torch.testing.assert_close(made[:, :80, 100:200], small.flip(2))


def test_a_large_template_is_calibrated_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("_CHANCES", 1), ("_EMPTY", 3), ("_PRESENT", 3)):
        monkeypatch.setattr(sys.modules["wherein.detect.calibrate"], name, count)
    made = template(group("r"), leaf("a", "r", noise(500, 640, 2), static=True), size=(640, 500))
    known = calibrate(made, Range(0.0))
    assert known.fingerprint == made.fingerprint
    assert known.present[0] > 0.85
    assert known.megapixels == pytest.approx(4 * 512 * 384 / 1e6)
    scene, _ = painted(made, placed(0.0, 1.0, (420.0, 310.0), made.centre), on=photo("coffee", 600, 400))
    assert len(Detector(made, rotation=0, calibration=known, threads=1)(scene)) == 1
