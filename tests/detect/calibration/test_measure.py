"""What calibration measures: clutter, objects, similar parts."""

import sys

import numpy as np
import pytest
import torch

from detecting import angle, group, leaf, noise, painted, photo, ready, template, walker
from wherein.detect.calibration import measure, reach
from wherein.detect.calibration.backgrounds import Backgrounds, clutter, photographs
from wherein.detect.calibration.lookalikes import similar_parts
from wherein.detect.calibration.measure import calibrate, scene_size
from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.pages import page
from wherein.detect.fast.finder import Finder
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import placed


def test_clutter_is_the_same_for_the_same_seed() -> None:
    first = clutter(120, 90, 5)
    assert first.shape == (3, 90, 120)
    assert torch.equal(first, clutter(120, 90, 5))
    assert not torch.equal(first, clutter(120, 90, 6))
    assert first.min() >= 0
    assert first.max() <= 1
    assert first.std() > 0.02


@pytest.mark.parametrize("size", [(13, 12), (40, 300)])
def test_clutter_of_any_size(size: tuple[int, int]) -> None:
    assert clutter(*size, 0).shape == (3, size[1], size[0])


def test_parts_that_look_alike_are_reported() -> None:
    eye = noise(30, 24, 1)
    other = (0.7 * eye + 0.1).flip(1, 2)  # turned by 180°, in other light
    made = template(
        group("face"),
        leaf("left", "face", eye),
        leaf("right", "face", other, (40.0, 0.0)),
        leaf("mouth", "face", noise(26, 26, 7), (20.0, 40.0)),
        size=(70, 70),
    )
    ((a, b, zncc),) = similar_parts(made)
    assert {a, b} == {"left", "right"}
    assert zncc > 0.95
    assert similar_parts(walker()) == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A calibration on a few small scenes."""
    calibrating = sys.modules["wherein.detect.calibration.measure"]
    monkeypatch.setattr(calibrating, "SCENE_SIZE", (160, 120))
    for name, count in (("_CHANCE_SCENES", 2), ("_EMPTY_SCENES", 4), ("_PRESENT_SCENES", 4)):
        monkeypatch.setattr(calibrating, name, count)
    monkeypatch.setattr(reach, "_TRIES", 2)


@pytest.mark.usefixtures("quick")
def test_a_calibration_separates_and_is_the_same_again() -> None:
    patch = Template.rigid("patch", Motif.whole(noise(40, 50, 3)))
    shares: list[float] = []
    first = calibrate(patch, Range(20.0), progress=lambda share, what: shares.append(share))
    assert first == calibrate(patch, Range(20.0))
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert first.separates
    assert first.clutter[-1] < first.threshold < first.present[0]
    assert first.clutter == sorted(first.clutter)
    assert first.fingerprint == patch.fingerprint
    assert first.limits.rotation >= 20
    assert Calibration.model_validate_json(first.model_dump_json()) == first
    assert first.false_alarms(first.threshold) < first.false_alarms(first.clutter[-1])


@pytest.mark.usefixtures("quick")
def test_backgrounds_of_the_user_are_used() -> None:
    patch = Template.rigid("patch", Motif.whole(noise(30, 30, 3)))
    flat = calibrate(patch, Range(0.0), [torch.full((3, 130, 170), 0.5)])
    busy = calibrate(patch, Range(0.0), [clutter(170, 130, 3)])
    assert flat.chance["patch"] < busy.chance["patch"]


@pytest.mark.usefixtures("quick")
def test_a_background_that_shows_the_object_is_named() -> None:
    patch = Template.rigid("patch", Motif.whole(noise(30, 30, 3)))
    pictures = [clutter(170, 130, seed) for seed in range(4)]
    assert calibrate(patch, Range(0.0), pictures).suspects == ()
    pictures[2][:, 50:80, 60:90] = noise(30, 30, 3)
    known = calibrate(patch, Range(0.0), pictures)
    assert known.suspects == (2,)
    assert any("some backgrounds (numbers 3 of those used)" in warning for warning in known.warnings)


def test_a_template_cut_from_a_photograph_of_the_package_has_an_ordinary_threshold() -> None:
    """It is in that photograph, which is no clutter then."""
    coffee = photographs()[4]
    cup = Template.rigid("cup", Motif.whole(coffee[:, 140:300, 200:380].contiguous()))
    found = calibrate(cup, Range(rotation=180.0))
    assert found.clutter[-1] < 0.5
    assert found.threshold < 0.6
    assert not found.suspects


@pytest.mark.usefixtures("quick")
def test_what_was_made_counts_as_clutter_whatever_it_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outline of a button fits every other one of a page; only a photograph may show the object."""
    monkeypatch.setattr(measure, "suspect_scenes", lambda empty, present: list(range(len(empty))))
    patch = Template.rigid("patch", Motif.whole(noise(30, 30, 3)))
    scenes = Backgrounds((), 0, (64, 48), with_pages=True)
    made = [k for k in range(measure._EMPTY_SCENES) if not scenes.may_show_object(k)]
    assert 0 < len(made) < measure._EMPTY_SCENES
    assert len(calibrate(patch, Range(0.0)).clutter) == len(made)
    assert all(Backgrounds([page(64, 48, 0)], 0, (64, 48)).may_show_object(k) for k in range(4))


def test_test_scenes_turn_every_joint_and_leave_out_any_limb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also groups, and limbs attached to groups."""
    made = template(
        group("toy"),
        leaf("trunk", "toy", noise(40, 40, 1), (0.0, 40.0), static=True),
        group("arm", "toy", (40.0, 60.0), turn=25.0),
        leaf("upper", "arm", noise(20, 20, 2), (40.0, 50.0), static=True),
        group("pair", "toy", (20.0, 40.0), turn=30.0),
        leaf("left", "pair", noise(20, 12, 3), (5.0, 10.0), (6.0, 18.0), turn=20.0),
        leaf("right", "pair", noise(20, 12, 4), (25.0, 10.0), (6.0, 18.0), turn=20.0),
        size=(80, 80),
    )
    calibrating = sys.modules["wherein.detect.calibration.measure"]
    rendered: list[tuple[dict[str, np.ndarray], set[str]]] = []

    def record(
        ground: torch.Tensor, _: Template, where: dict[str, np.ndarray], hidden: set[str]
    ) -> torch.Tensor:
        rendered.append((where, hidden))
        return ground

    monkeypatch.setattr(calibrating, "render", record)
    finder, rng = Finder(made, Range(0.0), {}), np.random.default_rng(5)
    for _ in range(40):
        calibrating.painted_scene(finder, torch.zeros(3, 30, 41), rng)
    assert set().union(*(hidden for _, hidden in rendered)) == {"upper", "left", "right"}
    for name, limit in (("arm", 25.0), ("pair", 30.0)):
        turns = np.array([angle(where[name]) for where, _ in rendered])
        assert np.abs(turns).max() <= limit
        assert turns.max() > 0.8 * limit and turns.min() < -0.8 * limit


def test_test_scenes_have_room_for_the_template() -> None:
    assert scene_size(walker(), Range()) == (1, (512, 384))
    tall = Template.rigid("tall", Motif.whole(torch.rand(3, 380, 200)))
    assert scene_size(tall, Range(scale=(0.5, 2.0))) == (1, (512, 494))
    assert scene_size(tall, Range(scale=(2.0, 3.0))) == (2, (512, 494)), "at the nearest size to its own"
    large = Template.rigid("large", Motif.whole(torch.rand(3, 700, 900)))
    assert scene_size(large, Range())[0] == 4


def test_no_photograph_serves_twice_and_clutter_out_of_focus_follows() -> None:
    scenes, count = Backgrounds((), 0, (256, 192)), 2 * len(photographs())
    later = range(count + 1, count + 8, 2)
    assert all(scenes.may_show_object(k) for k in range(1, count, 2))
    assert not any(scenes.may_show_object(k) for k in later)

    def steepest(picture: torch.Tensor) -> float:
        return float(picture.diff(dim=-1).abs().max())

    assert max(steepest(scenes(k)) for k in later) < 0.35 < min(steepest(scenes(k - 1)) for k in later)


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
    assert known.separates
    assert known.megapixels == pytest.approx(4 * 512 * 384 / 1e6)
    scene, _ = painted(made, placed(0.0, 1.0, (420.0, 310.0), made.centre), on=photo("coffee", 600, 400))
    assert len(ready(made, rotation=0.0, calibration=known)(scene)) == 1
