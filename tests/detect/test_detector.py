"""The whole detector compared with the truth, on photographs."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks import objects
from detecting import (
    angle,
    between,
    detector,
    empty,
    group,
    leaf,
    made_up,
    noise,
    off,
    painted,
    photo,
    ready,
    scene,
    template,
    toy,
    walker,
    write_picture,
)
from wherein import ArgumentError, Detection, Detections, Detector, PictureError, TemplateError
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.score import MAX_ZNCC
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import placed

OTHER = made_up(Template.rigid("other", Motif.whole(noise(9, 9))))
ROBOT = Path(__file__).resolve().parents[2] / "src" / "wherein" / "demo" / "robot"


@pytest.fixture(scope="module")
def robot() -> Detector:
    made = Template.load(ROBOT)
    return ready(made)


@pytest.fixture(scope="module")
def small() -> Detector:
    made = walker()
    return ready(made)


def match(detector: Detector, found: Detections, instance: objects.Instance) -> Detection:
    """The detection within 4 px and 5° of the truth, as score.py has it."""
    made = detector.template

    def near(item: Detection) -> bool:
        return bool(np.less_equal(off(made, made.parts.root, item.matrix, instance.root), (4, 5)).all())

    items = [item for item in found if near(item)]
    assert items, f"not among {found}"
    return items[0]


def check(detector: Detector, scene: objects.Scene) -> None:
    """Every instance, every part within 1 px and 1°, and nothing else."""
    found = detector(scene.picture)
    assert len(found) == len(scene.instances), scene.name
    for instance in scene.instances:
        item = match(detector, found, instance)
        for name, truth in instance.parts.items():
            if name not in instance.covered:
                assert np.less(off(detector.template, name, item.parts[name].matrix, truth), 1).all(), name
                assert item.parts[name].found, name


@pytest.mark.parametrize("index", range(3))
def test_robots_anywhere_on_photographs(robot: Detector, index: int) -> None:
    check(robot, objects.scene(robot.template, "plain", index))


@pytest.mark.parametrize("kind", ["two", "light", "noise", "grey", "empty"])
def test_robots_two_in_other_light_in_noise_grey_and_none(robot: Detector, kind: str) -> None:
    check(robot, objects.scene(robot.template, kind, 0))


def test_half_outside(robot: Detector) -> None:
    """It is found, and its score is about the highest that its visible fraction allows."""
    scene = objects.scene(robot.template, "outside", 0)
    (instance,) = scene.instances
    item = match(robot, robot(scene.picture), instance)
    height, width = load_picture(scene.picture).pixels.shape[-2:]
    fractions = [
        model.footprint.visible(instance.parts[model.piece.fitted_leaf.name][None], (width, height))
        for model in robot.search.finder.models.values()
    ]
    highest = np.sqrt(1 - (1 - MAX_ZNCC**2) ** np.mean(fractions))
    assert np.mean(fractions) < 0.8
    assert 0.95 * highest < item.score <= highest + 0.005


def test_a_part_outside_the_scene_is_not_found(small: Detector) -> None:
    """However well the visible fifth of it fits."""
    root = placed(0.0, 1.0, (320.0 - 60.0, 120.0), small.template.centre)
    scene, where = painted(small.template, root)
    edge = where["hand"] @ (0, 0, 1)
    scene = scene[:, :, : int(edge[0]) + 7].contiguous()
    (item,) = small(scene)
    assert item.parts["upper"].found
    assert not item.parts["hand"].found


def test_limb_searches_are_not_prepared_if_the_body_is_enough() -> None:
    made = walker()
    detector = ready(made)
    scene, _ = painted(made, placed(75.0, 1.0, (160.0, 120.0), made.centre))
    assert len(detector(scene)) == 1
    assert "searches" not in vars(detector.search.finder.limb_search)


def test_a_part_that_is_not_there_is_not_found(small: Detector) -> None:
    root = placed(75.0, 1.0, (160.0, 120.0), small.template.centre)
    for hidden in ("leg", "hand"):
        scene, where = painted(small.template, root, {"arm": 15.0}, (hidden,))
        (item,) = small(scene)
        assert not item.parts[hidden].found
        for name in {"trunk", "upper", "leg", "hand"} - {hidden}:
            assert item.parts[name].found
            assert np.less(off(small.template, name, item.parts[name].matrix, where[name]), 1).all()


@pytest.mark.parametrize("turn", [0.0, 40.0, -90.0, 180.0])
def test_a_chain_of_three_levels_at_any_rotation(small: Detector, turn: float) -> None:
    root = placed(turn, 1.0, (160.0, 120.0), small.template.centre)
    scene, where = painted(small.template, root, {"arm": -35.0, "wrist": 38.0, "leg": 24.0})
    (item,) = small(scene)
    for name, part in item.parts.items():
        assert np.less(off(small.template, name, part.matrix, where[name]), 1).all(), name


def test_without_its_body_it_is_found_from_its_limbs(small: Detector) -> None:
    root = placed(20.0, 1.0, (150.0, 120.0), small.template.centre)
    scene, where = painted(small.template, root, {"arm": 10.0}, ("trunk",))
    detector = ready(small.template, threshold=0.35)
    item = detector(scene)[0]
    assert not item.parts["trunk"].found
    assert np.less(off(small.template, "walker", item.matrix, where["walker"]), (4, 5)).all()


def same(a: Detections, b: Detections) -> bool:
    return {**a.to_dict(), "seconds": 0} == {**b.to_dict(), "seconds": 0}


def test_results_do_not_depend_on_run_threads_or_type_of_scene(small: Detector, tmp_path: Path) -> None:
    root = placed(75.0, 1.0, (160.0, 120.0), small.template.centre)
    scene, _ = painted(small.template, root, {"arm": 15.0})
    levels = (scene * 255).round().to(torch.uint8)
    array = levels.movedim(0, -1).numpy()
    Image.fromarray(array).save(tmp_path / "scene.png")
    found = small(array)
    assert len(found) == 1
    again = ready(small.template, threads=2)
    assert same(found, small(array))
    assert same(found, again(array))
    for source in (levels, tmp_path / "scene.png", str(tmp_path / "scene.png"), Image.fromarray(array)):
        assert same(found, small(source))
    assert same(found, small(array[..., ::-1], color="bgr"))
    with pytest.raises(ArgumentError, match="scene: color='bgr' is for arrays"):
        small(tmp_path / "scene.png", color="bgr")
    assert same(found, small(levels.float() / 255))


def test_the_scene_is_not_changed(small: Detector) -> None:
    scene = photo("coffee", 120, 90)
    before = scene.clone()
    small(scene)
    assert torch.equal(scene, before)


def test_max_instances_and_threshold() -> None:
    patch = Template.rigid("patch", Motif.whole(noise(30, 40, 3)))
    on = photo("coffee", 260, 160)
    for x in (50.0, 130.0, 210.0):
        on, _ = painted(patch, placed(x, 1.0, (x, 80.0), patch.centre), on=on)

    def count(**more: object) -> int:
        return len(ready(patch, **more)(on))

    assert count(threshold=0.9) == 3
    assert count(threshold=0.9, max_instances=2) == 2
    assert count(threshold=0.999) == 0


def test_the_best_candidate_is_reported_if_nothing_was_found() -> None:
    finder, on = detector(toy()), painted(toy(), placed(0.0, 1.0, (80.0, 60.0), toy().centre))[0]
    (best,) = found = finder(on)
    assert found.candidates == ()
    finder.search.threshold = best.score + 1e-3
    nothing = finder(on)
    assert len(nothing) == 0
    (close,) = nothing.candidates
    assert close.score == pytest.approx(best.score)
    # Candidates lack the last fit by pixels, which moves a pose that is right by thousandths of a pixel.
    np.testing.assert_allclose(close.matrix, best.matrix, atol=1e-2)
    assert finder(empty()).candidates == ()
    assert nothing.to_dict()["candidates"] == [close.to_candidate()]


def test_repr() -> None:
    made = ready(walker(), 30, (0.8, 1.25))
    ranges = "rotation ±30°, scale 0.8 to 1.25, tilt 0°"
    assert repr(made) == f"Detector('walker', {ranges}, threshold 0.500, fast)"


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (3, 3), (15, 16), (40, 30)])
@pytest.mark.parametrize("flat", [False, True])
def test_scenes_smaller_than_the_template(small: Detector, size: tuple[int, int], flat: bool) -> None:
    scene = torch.full((3, size[1], size[0]), 0.5) if flat else photo("coffee", *size)
    assert len(small(scene)) == 0


def test_a_flat_and_a_grey_scene(small: Detector) -> None:
    assert len(small(np.zeros((200, 300), np.uint8))) == 0
    assert len(small(np.full((200, 300), 0.7))) == 0


def test_templates_of_every_shape() -> None:
    """A leaf as root; only static parts; parts that may not turn; one limb alone; 5 × 5 pixels."""
    patch = noise(40, 50, 8)
    shapes = [
        Template.rigid("patch", Motif.whole(patch)),
        template(
            group("root"),
            leaf("a", "root", patch, static=True),
            leaf("b", "root", noise(30, 30, 9), (50.0, 5.0), turn=0.0),
            size=(80, 40),
        ),
        template(group("root"), leaf("a", "root", patch), size=(50, 40)),
        template(
            group("root"),
            leaf("a", "root", patch, static=True),
            leaf("dot", "root", noise(5, 5, 9), (52.0, 5.0)),
            size=(60, 40),
        ),
    ]
    for made in shapes:
        root = placed(33.0, 1.0, (160.0, 120.0), made.centre)
        scene, where = painted(made, root)
        for chance in (0.3, 0.7):
            calibration = made_up(made, chance=chance)
            item = ready(made, calibration=calibration)(scene)[0]
            leaves = [name for name in made.parts.leaves if name != "dot"]
            for name in leaves:
                assert np.less(off(made, name, item.parts[name].matrix, where[name]), 1).all()


def test_objects_far_outside_the_range_of_rotations_are_not_found() -> None:
    made = walker()
    detector = ready(made, rotation=10.0)
    for turn, there in ((-8.0, 1), (170.0, 0)):
        scene, _ = painted(made, placed(turn, 1.0, (160.0, 120.0), made.centre))
        found = [d for d in detector(scene) if d.score > 0.6]
        assert len(found) == there
        assert all(between(angle(d.matrix), turn) < 1 for d in found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rotation": -1.0}, "rotation must be 0 to 180 degrees, searched to either side, but is -1.0"),
        ({"rotation": 200.0}, "rotation must be .* but is 200"),
        ({"rotation": float("nan")}, "rotation must be .* but is nan"),
        (
            {"scale": (2.0, 1.0)},
            r"scale must be a number above 0, or \(low, high\) with 0 < low ≤ high, but is \(2.0, 1.0\)",
        ),
        ({"scale": (0.0, 1.0)}, "0 < low ≤ high"),
        ({"scale": (1.0, float("inf"))}, "scale must be"),
        ({"scale": (1e-6, 1e-6)}, "scale must be a factor from .* to .*, as in .*, but is"),
        ({"scale": (80, 125)}, r"scale must be a factor from .* to .*, as in .*, but is \(80, 125\)"),
        ({"max_instances": 0}, "max_instances must be a positive integer, or None for all, but is 0"),
        ({"threshold": 1.5}, "threshold must be between 0 and 1, .* but is 1.5"),
        ({"threads": 0}, "threads must be a positive integer, .* but is 0"),
        (
            {"calibration": made_up(Template.rigid("x", Motif.whole(noise(9, 9))))},
            "measured for another template",
        ),
        (
            {"calibration": made_up(walker()).model_copy(update={"chance": {}})},
            "measured for another template",
        ),
        ({"rotation": 20.0}, "measured for .*rotation=180.* but .*rotation=20.* is requested"),
        ({"scale": (0.5, 1.0)}, r"but .*scale=\(0.5, 1\).* is requested. Calibrate again"),
        ({"tilt": 30.0}, "measured for .*tilt=0.* but .*tilt=30.* is requested"),
        ({"polarity": "any"}, "measured for .*polarity='same'.* but .*polarity='any'.* is requested"),
        ({"tilt": -1.0}, "tilt must be 0 to 70 degrees, but is -1.0"),
        ({"tilt": 80.0}, "tilt must be 0 to 70 degrees, but is 80.0"),
        ({"polarity": "both"}, "polarity must be one of same, any, but is 'both'"),
        ({"overlap": 1.5}, "overlap must be a fraction between 0 and 1, but is 1.5"),
        ({"overlap": -0.1}, "overlap must be a fraction between 0 and 1, but is -0.1"),
    ],
)
def test_wrong_arguments_are_refused_with_a_message(arguments: dict, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Detector(walker(), **({"scale": 1, "tilt": 0, "calibration": made_up(walker())} | arguments))


def test_unreadable_files_are_refused_with_a_message(small: Detector, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="does not exist"):
        Detector(tmp_path / "nothing")
    with pytest.raises(PictureError):
        small(tmp_path / "nothing.png")
    with pytest.raises(ArgumentError, match="color is 'hsv'"):
        small(np.zeros((9, 9)), color="hsv")


def test_detections_in_a_file_carry_its_name(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a b.png", empty())
    search = detector(toy())
    assert search(path).name == str(path)
    assert search(str(path)).to_coco()["images"][0]["file_name"] == str(path)
    assert search(empty()).to_coco()["images"][0]["file_name"] == "scene.png"


def test_a_grey_scene_is_searched_in_one_plane() -> None:
    search = ready(walker()).search
    assert isinstance(search, SceneSearch)
    grey, colours = noise(40, 60)[:1].expand(3, -1, -1), noise(40, 60)
    assert len(search.levels(grey).scene) == 1
    assert len(search.levels(colours).scene) == 3
    nearly = grey.clone()
    nearly[2, 39, 59] += 0.1  # a single coloured pixel
    assert len(search.levels(nearly).scene) == 3


def test_a_threshold_may_be_a_rate_of_false_alarms() -> None:
    known = made_up(walker())
    strict, loose = (
        Detector(walker(), scale=1, tilt=0, calibration=known, threshold=rate)
        for rate in ("1e-6/MP", "0.5 / mp")
    )
    assert known.false_alarms(strict.threshold) == pytest.approx(1e-6, rel=1e-3)
    assert known.false_alarms(loose.threshold) == pytest.approx(0.5, rel=1e-3)
    with pytest.raises(
        ArgumentError, match="threshold: 2 is not allowed: use a score between 0 and 1, or a rate"
    ):
        Detector(walker(), scale=1, tilt=0, calibration=known, threshold="2")


WRONG = {
    "rotation='90'": "rotation must be 0 to 180 degrees, searched to either side, but is '90'",
    "rotation=None": "rotation must be 0 to 180 degrees, searched to either side, but is None",
    "scale='12'": "scale must be a number above 0, or (low, high) with 0 < low ≤ high, but is '12'",
    "max_instances=1.5": "max_instances must be a positive integer, or None for all, but is 1.5",
    "overlap='half'": "overlap must be a fraction between 0 and 1, but is 'half'",
    "tilt=None": "tilt must be 0 to 70 degrees, but is None",
    "threads=0.5": "threads must be a positive integer, or None for the setting of torch, but is 0.5",
    "threshold='high'": "threshold: high is not allowed: use a score between 0 and 1, or a rate of false "
    "alarms such as 0.01/MP.",
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
        "show(lambda: wherein.Detector(None))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines.pop() == (
        "template must be a template, a folder or .zip with template.json, a picture, or a list of these, "
        "but is of the type NoneType"
    )
    assert len(lines) == len(WRONG)
    assert all(line.startswith(words) for line, words in zip(lines, WRONG.values(), strict=True)), lines


def test_a_detector_can_be_pickled_after_a_search_too() -> None:
    detector, picture = ready(toy()), scene(toy())
    found = detector(picture).to_dict()["detections"]
    assert found
    for copied in (pickle.loads(pickle.dumps(detector)), copy.deepcopy(detector)):
        assert copied(picture).to_dict()["detections"] == found
