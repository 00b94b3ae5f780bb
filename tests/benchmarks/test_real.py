"""The suite "real": its rules on made pictures, and a tiny run of each section, calibrated by a guess."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from benchmarks.__main__ import main
from benchmarks.geometry import apply, corners, linear, rotation, shift
from benchmarks.real import (
    camera,
    coins,
    common,
    gauge,
    industrial,
    needles,
    opencv,
    oxford,
    pairs,
    placing,
    screens,
    silhouettes,
    stamps,
    suite,
    without,
)
from benchmarks.real.common import Counts, MissingDataError, Plan, interleaved, iou, rigid, spread
from benchmarks.registration import Settings
from benchmarks.workload import section
from wherein.detect import Calibration
from wherein.detect.calibration.reach import Reach
from wherein.detect.fast.pieces import Pieces

TINY = Counts(
    gauge=1,
    without=1,
    pairs=1,
    oxford=1,
    coins=1,
    industrial=1,
    stamps=1,
    stamp_scenes=1,
    shapes=1,
    shape_scenes=1,
    needles=1,
    needle_scenes=1,
    screens=1,
    repeats=1,
)


def silent(share):
    pass


def guessed(self, template, ranges):
    """A calibration that no one measured."""
    return Calibration(
        fingerprint=template.fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        tilt=ranges.tilt,
        polarity=ranges.polarity,
        chance=dict.fromkeys((piece.name for piece in Pieces.of(template).pieces), 0.35),
        threshold=0.5,
        clutter=[0.3, 0.35],
        present=[0.8, 0.9],
        confused=[],
        limits=Reach(rotation=ranges.rotation, scale=ranges.scale),
        megapixels=0.2,
    )


@pytest.fixture
def plan(monkeypatch):
    monkeypatch.setattr(Plan, "_fewer", guessed)
    return Plan(Settings(quick=True), TINY)


# --- the suite ---


def stub(plan, share):
    share(0.5)
    rows = [{"what": "dial", "found": 3, "total": 4}]
    columns = (("what", "what", "text"), ("found", "found", "of total"))
    return section("dials", "About dials.", columns, rows=rows, losses=["dials: one missed"])


def failing(plan, share):
    raise ValueError("no places")


def test_a_section_that_fails_does_not_stop_the_others(monkeypatch, threads):
    made = {"first": suite.Section(failing, 1.0), "second": suite.Section(stub, 1.0)}
    monkeypatch.setattr(suite, "SECTIONS", made)
    report = suite.run(Settings(), names=["first", "second"])
    assert report["data"]["missing"] == ["first: failed with ValueError: no places"]
    assert [part["name"] for part in report["sections"]] == ["dials"]


def absent(plan, share):
    raise MissingDataError("no pictures")


def test_sections_run_by_name_and_missing_data_is_said(monkeypatch, tmp_path, capsys, threads):
    made = {"first": suite.Section(stub, 1.0), "second": suite.Section(absent, 3.0)}
    monkeypatch.setattr(suite, "SECTIONS", made)
    told = []
    report = suite.run(Settings(quick=True), lambda *a: told.append(a), ["first", "second"])
    assert told == [("real: first", 0.125)]
    assert report["suite"] == "real"
    assert report["data"]["missing"][0] == "second: no pictures"
    main(["real", "--quick", "--threads", "1", "--sections", "first", "--out", str(tmp_path)])
    assert "dials" in capsys.readouterr().out
    written = json.loads((tmp_path / "real_first.json").read_text())
    assert written["command"] == "python -m benchmarks real --sections first --quick"
    text = (tmp_path / "real_first.md").read_text()
    assert "| dial | 3/4 |" in text
    assert "- dials: one missed" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["real", "--sections", "moon"], "unknown section moon"),
        (["detection", "--sections", "gauge"], "--sections is for the suite real"),
    ],
)
def test_wrong_sections_are_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gauge", "pairs", "oxford", "industrial"])
def test_sections_without_shared_are_left_out(name, plan, monkeypatch, tmp_path, threads):
    monkeypatch.setattr(common, "REAL", tmp_path)
    report = suite.run(plan.settings, names=[name], plan=plan)
    assert report["sections"] == []
    assert report["data"]["missing"][0] == f"{name}: no ../shared/real/{name}"


def test_stamps_that_are_not_installed_are_left_out(plan, monkeypatch, tmp_path):
    monkeypatch.setattr(stamps, "STAMPS", tmp_path / "none")
    with pytest.raises(MissingDataError, match="tuxpaint-stamps-default"):
        stamps.measure(plan, silent)


# --- rules ---


def test_times_are_taken_in_turn():
    order = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b") or 7}
    answers = interleaved(calls, 3)
    assert order == ["a", "b"] * 3
    assert answers["b"].value == 7
    assert answers["a"].seconds >= 0


def test_spread_is_even():
    assert spread(range(10), 4) == [0, 3, 6, 9]
    assert spread([1, 2], None) == spread([1, 2], 5) == [1, 2]


def test_overlap_of_outlines():
    square = np.array([[10, 10], [49, 10], [49, 49], [10, 49]], float)
    assert iou(square, square, (100, 80)) == 1
    assert iou(square, square + np.array([20, 0]), (100, 80)) == pytest.approx(1 / 3, abs=0.01)
    assert iou(square, square + 500, (100, 80)) == 0


def test_overlap_of_boxes():
    assert pairs.overlap((0, 0, 10, 10), (0, 0, 10, 10)) == 1
    assert pairs.overlap((0, 0, 10, 10), (5, 0, 10, 10)) == pytest.approx(1 / 3)
    assert pairs.overlap((0, 0, 10, 10), (20, 0, 10, 10)) == 0


def test_coins_ahead_of_other_places():
    assert coins.coin_at((156, 52)) == 2
    assert coins.coin_at((128, 90)) is None
    assert coins.ahead([2, 5, 5, 7, None, 9], own=2) == 2


def test_detections_of_parts_that_the_border_cuts_count_nowhere():
    one = industrial.Inspection("things", "", "", ((50, 50), (150, 50)), cut=((0, 50),))
    counts = industrial.count([(52, 51), (1, 50), (300, 300)], one, size=50)
    assert counts == {"found": 1, "total": 2, "cut": 1, "wrong": 1}


def test_a_pose_is_judged_by_corners_and_a_symmetric_one_by_its_outline():
    template = rigid("square", np.full((40, 40, 3), 90, np.uint8))
    truth = shift(100, 100)[:2]
    middle = shift(19.5, 19.5) @ linear(rotation(90)) @ shift(-19.5, -19.5)
    turned = SimpleNamespace(matrix=shift(100, 100) @ middle, score=0.9)
    other = SimpleNamespace(matrix=shift(300, 300), score=0.8)
    found = Found([turned, other])
    assert not placing.judge(found, truth, template, symmetric=False).found
    verdict = placing.judge(found, truth, template, symmetric=True)
    assert (verdict.found, verdict.false, verdict.overlap) == (True, 1, pytest.approx(1, abs=0.1))
    assert placing.judge(found, None, template, symmetric=True).false == 2


class Found(list):
    candidates = ()


def test_the_reading_is_compared_at_each_position():
    right, wrong = gauge.Place(0.01, 0.95), gauge.Place(0.2, 0.95)
    judged = [
        gauge.Judged("a", 1.0, 5.0, right, 0.1, tip=0.02, value=5.5),
        gauge.Judged("b", 0.9, 5.0, right, 0.1, tip=0.3, value=9.0),
        gauge.Judged("c", 0.7, 15.0, wrong, 0.1),
    ]
    rows = {row["kind"]: row for row in gauge.celsius(judged)}
    assert rows["at 5 °C"]["worst"] == 4
    assert rows["°C, all"]["error"] == pytest.approx(2.25)
    assert "error" not in rows["at 15 °C"]
    strata = {row["kind"]: row for row in gauge.stratified("wherein", judged)}
    assert {kind: row["found"] for kind, row in strata.items()} == {
        "all": 2,
        "frontal": 1,
        "tilted": 1,
        "steep": 0,
    }
    assert (strata["all"]["read"], strata["steep"]["wrong"]) == (1, 1)
    assert [gauge._failure(one) for one in judged] == [
        None,
        "tip 0.30 R off",
        "pivot 0.200 R off, IoU of the rim 0.95",
    ]


def test_angles_wrap():
    assert needles.difference(179, -179) == 2
    assert needles.difference(-90, 90) == 180


# --- pictures ---


def test_backgrounds_are_none_of_a_calibration():
    names = camera.backgrounds()
    assert names
    assert not {"astronaut", "brick", "camera", "chelsea", "coffee", "gravel", "rocket"} & set(names)


def test_a_whole_pixel_shift_paints_the_cutout(plan):
    cutout = np.dstack([plan.rng(1).integers(0, 255, (20, 30, 3)), np.full((20, 30), 255)]).astype(np.uint8)
    scene = camera.paint(np.zeros((60, 80, 3), np.uint8), cutout, shift(10, 5)[:2])
    assert np.abs(scene[5:25, 10:40].astype(int) - cutout[..., :3]).max() <= 1
    assert scene[:4].max() == 0


def test_photographed_scenes_repeat_and_differ_from_their_picture(plan):
    picture = np.full((48, 64, 3), 120, np.uint8)
    one, again = (camera.photographed(picture, plan.rng("x"), glare=True) for _ in range(2))
    assert (one == again).all()
    assert one.std() > 1


def test_photographs_without_the_object_are_as_many_as_asked(plan):
    assert len(without.pictures(3, plan.rng(0))) == 3
    picture = plan.rng(0).integers(0, 255, (50, 60, 3), dtype=np.uint8)
    part = without._crop(picture, plan.rng(1))
    assert 25 <= part.shape[0] <= 45


@pytest.mark.parametrize("name", list(needles.SHAPES))
def test_needles_are_inside_their_outlines(name):
    shape = needles.SHAPES[name]
    meter = needles.template(shape)
    assert set(meter.parts.leaves) == {"plate", *(f"needle{k}" for k in range(4))}
    still = needles.plate(shape, (0, 0, 0, 0)).astype(int)
    moved = needles.plate(shape, (90, 0, 0, 0)).astype(int)
    rows, columns = np.nonzero(np.abs(still - moved).sum(axis=-1))
    assert np.hypot(columns - needles.CENTRES[0][0], rows - needles.CENTRES[0][1]).max() < needles.LENGTH + 6


@pytest.mark.parametrize("name", list(silhouettes.SHAPES))
def test_shapes_fit_into_their_picture(name):
    alpha = silhouettes.mask(name)
    assert 0.08 < (alpha > 127).mean() < 0.9
    flat = silhouettes.on_white(silhouettes.painted(name, silhouettes.COLOUR))
    assert (flat[0] == 255).all()


# --- peers ---


def test_sift_finds_a_photograph_that_was_turned():
    source = np.asarray(Image.fromarray(common.photographs.load("chelsea")).resize((300, 200)))
    truth = shift(60, 30) @ linear(rotation(20))
    scene = camera.paint(np.full((320, 400, 3), 90, np.uint8), _opaque(source), truth)
    matrix = opencv.sift(opencv.Features.of(source), scene)
    assert matrix is not None
    assert oxford.corner_error(matrix, truth, (300, 200)) < 3
    assert opencv.sift(opencv.Features.of(source), np.full((80, 80, 3), 90, np.uint8)) is None
    assert oxford.corner_error(None, truth, (300, 200)) == float("inf")


def _opaque(picture):
    return np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])


def test_match_template_names_several_places():
    motif = np.random.default_rng(0).integers(0, 255, (12, 16, 3), dtype=np.uint8)
    scene = np.full((80, 100, 3), 100, np.uint8)
    scene[10:22, 20:36] = scene[50:62, 60:76] = motif
    places = opencv.match_template(motif, scene, 2)
    assert {(x, y) for x, y, _ in places} == {(20, 10), (60, 50)}


# --- a tiny run of each section ---


def test_gauge(plan, shared, threads):
    made = gauge.measure(plan, silent)
    rows = {(row["method"], row["kind"]): row for row in made["rows"]}
    assert rows["wherein", "all"]["total"] == 1
    assert rows["wherein", "without"]["total"] == 1
    assert rows["wherein", "all"]["seconds"] > 0


def test_the_dial_of_the_template_is_where_it_is(shared, tmp_path):
    module = common.script("gauge.py")
    module.template(tmp_path / "gauge")
    dial = gauge.Dial(module, tmp_path / "gauge")
    (truth,) = (row for row in module.ROWS if row["image"] == dial.photograph.name)
    assert dial.place(truth, np.eye(3)).right
    assert not dial.place(truth, shift(30, 0)).right


def test_pairs(plan, shared):
    rows = pairs.measure(plan, silent)["rows"]
    assert [row["method"] for row in rows] == ["wherein, similarity", "wherein, translation", "matchTemplate"]
    assert all(0 <= row["auc"] <= 1 for row in rows)


def test_oxford(plan, shared):
    rows = oxford.measure(plan, silent)["rows"]
    assert [row["found"] for row in rows[:2]] == [1, 1]


def test_coins(plan):
    ours, theirs = coins.measure(plan, silent)["rows"]
    assert ours["ahead"] >= ours["found"] >= 0
    assert theirs["total"] == 23


def test_industrial_on_a_made_picture(plan, monkeypatch, tmp_path):
    cutout = np.asarray(Image.fromarray(common.photographs.load("chelsea")).resize((90, 60)))
    scene = camera.background((400, 240), plan.rng("industrial"))
    scene[40:100, 50:140] = scene[150:210, 250:340] = cutout
    (tmp_path / "industrial").mkdir()
    Image.fromarray(scene).save(tmp_path / "industrial" / "scene.png")
    Image.fromarray(cutout).save(tmp_path / "industrial" / "template.png")
    one = industrial.Inspection("two", "scene.png", "template.png", ((94, 69), (294, 179)))
    monkeypatch.setattr(industrial, "INSPECTIONS", (one,))
    monkeypatch.setattr(common, "REAL", tmp_path)
    made = industrial.measure(plan, silent)
    assert (made["rows"][0]["found"], made["rows"][0]["wrong"]) == (2, 0)
    assert made["losses"] == []


def test_stamps_on_a_made_stamp(plan, monkeypatch, tmp_path):
    cutout = _opaque(np.asarray(Image.fromarray(common.photographs.load("rocket")).resize((150, 100))))
    Image.fromarray(cutout).save(tmp_path / "rocket.png")
    monkeypatch.setattr(stamps, "STAMPS", tmp_path)
    monkeypatch.setattr(stamps, "NAMES", ("rocket",))
    row, total = stamps.measure(plan, silent)["rows"]
    assert (row["stamp"], total["stamp"]) == ("rocket", "all")
    assert (row["found"], row["total"], row["false"]) == (1, 1, 0)


class Blind:
    """A detector that finds nothing; 0.5 is its threshold."""

    threshold = 0.5

    def __init__(self, template, **arguments):
        self.template = template

    def __call__(self, scene):
        return Found()


def test_silhouettes_that_are_missed(plan, monkeypatch):
    monkeypatch.setattr(Plan, "detector", lambda self, template, **given: Blind(template, **given))
    made = silhouettes.measure(plan, silent)
    rows = {(row["shape"], row["on"]): row for row in made["rows"]}
    assert {on for _, on in rows} == {"light", "dark", "photograph", "inverted"}
    assert {(row["found"], row["total"], row["false"]) for row in rows.values()} == {(0, 1, 0)}
    assert made["losses"][0] == "silhouettes: arrow, light, scene 0: nothing near"


def test_an_inverted_silhouette_is_judged_by_the_picture_with_its_border(plan, monkeypatch):
    cutout, seen = silhouettes.painted("arrow", silhouettes.LIGHT), []
    border = max(cutout.shape[:2]) // 10

    class Knows(Blind):
        def __call__(self, scene):
            _, truth = silhouettes.made(plan, "arrow", "inverted", 0, cutout)
            seen.append(1)
            matrix = np.vstack([truth, [0, 0, 1]]) @ shift(-border, -border)
            return Found([SimpleNamespace(matrix=matrix, score=0.9)] if len(seen) == 7 else [])

    monkeypatch.setattr(Plan, "detector", lambda self, template, **given: Knows(template, **given))
    rows = {(row["shape"], row["on"]): row for row in silhouettes.measure(plan, silent)["rows"]}
    assert rows["arrow", "inverted"]["found"] == 1


def test_needles(plan):
    (row,) = needles.measure(plan, silent)["rows"]
    assert row["right"] + row["wrong"] + row["unseen"] in (0, len(needles.CENTRES))
    assert row["right"] > 0 or not row["found"]


def test_the_plate_is_wholly_inside_the_scene(plan):
    ends = apply(needles.pose(plan.rng("pose")), corners(*needles.PLATE))
    assert (ends >= 0).all()
    assert (ends <= np.array(placing.SIZE)).all()


def test_screens(plan):
    if not screens.CHROMIUM.exists():
        pytest.skip(f"no {screens.CHROMIUM}")
    made = screens.measure(plan, silent)
    assert len(made["rows"]) == 2 * len(screens.SCREENS)
    same = [row for row in made["rows"] if row["screen"] == "the same"]
    assert [row["found"] == row["total"] > 0 for row in same] == [True, True]


def test_places_on_a_screen_are_counted_once():
    truth = [(10.0, 10.0), (50.0, 10.0)]
    assert screens.counted([(11, 10), (10, 11), (90, 90)], truth) == {"found": 1, "total": 2, "false": 1}
    assert screens.counted([], truth) == {"found": 0, "total": 2, "false": 0}
