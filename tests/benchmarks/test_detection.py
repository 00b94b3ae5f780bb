"""The suite "detection" on stubs: its shape, its aims and its losses; and what its sections are made of."""

import json
import sys

import numpy as np
import pytest
import torch

from benchmarks import cold, detection, determinism, growth, objects, quality, sections, speed, workload
from benchmarks.__main__ import main
from benchmarks.detection import Section
from benchmarks.launch import launched
from benchmarks.registration import Settings
from benchmarks.subjects import DEFAULTS, FIXED, SCALES, Calibrations, robot
from benchmarks.workload import Counts, Workload, aim, section
from wherein.detect import Calibration, Detector
from wherein.detect.calibration.reach import Reach
from wherein.detect.fast.pieces import Pieces

TINY = Counts(
    scenes=1, empty=2, scaled=("plain", "empty"), timed=1, repeats=1, swept=1, swept_scales=0, same=1
)


def guessed(template):
    """A calibration that no one measured."""
    homes = [piece.name for piece in Pieces.of(template).pieces]
    return Calibration(
        fingerprint=template.fingerprint,
        rotation=180.0,
        scale=FIXED.scale,
        chance=dict.fromkeys(homes, 0.35),
        threshold=0.5,
        clutter=[0.3, 0.35],
        present=[0.8, 0.9],
        confused=[],
        limits=Reach(rotation=180.0, scale=FIXED.scale),
        megapixels=0.2,
    )


class Guessed(Calibrations):
    """Calibrations at once."""

    def _make(self, template, ranges):
        return guessed(template)


class LeafScore:
    """What a detector says: the truth, less what a stub does to it."""

    def __init__(self, detections):
        self._detections = detections

    def to_dict(self):
        return {"seconds": np.random.default_rng().random(), "detections": self._detections}


class Oracle:
    """A detector that knows the scenes that were made, and finds nothing where it is told to miss."""

    def __init__(self, template, scenes, misses):
        self.template, self._scenes, self._misses = template, scenes, misses

    def __call__(self, picture):
        scene = self._scenes[picture.tobytes()]
        if scene.name.split("_")[0] in self._misses:
            return LeafScore([])
        return LeafScore([self._detection(one) for one in scene.instances])

    def _detection(self, one):
        hidden = set(self.template.parts.leaves) - set(one.parts)
        parts = {name: {"found": True, "matrix": m[:2].tolist()} for name, m in one.parts.items()}
        parts |= {name: {"found": False, "matrix": one.root[:2].tolist()} for name in hidden}
        return {"matrix": one.root[:2].tolist(), "parts": parts}


@pytest.fixture
def oracle(monkeypatch):
    """A small robot, looked for by one who knows, except where the kind is among the misses."""
    template, scenes, misses, scene = growth.limbed(2), {}, set(), Workload.scene

    def noted(*given):
        made = scene(*given)
        return scenes.setdefault(made.picture.tobytes(), made)

    monkeypatch.setattr(Workload, "scene", noted)
    monkeypatch.setattr(Guessed, "detector", lambda self, wanted, *_: Oracle(wanted, scenes, misses))
    monkeypatch.setattr(quality, "subjects", lambda quick: [template])
    kinds = {kind: objects.KINDS[kind] for kind in ("plain", "two", "missing", "empty")}
    monkeypatch.setattr(objects, "KINDS", kinds)
    return Workload(Settings(), TINY, Guessed()), misses


def silent(share):
    pass


def test_quality_of_one_who_knows(oracle):
    work, _ = oracle
    made = quality.measure(work, silent)
    assert [target["met"] for target in made["targets"]] == [True] * 9
    assert made["losses"] == []
    by = {(row["scale"], row["kind"]): row for row in made["rows"]}
    assert by["fixed scale", "two"]["instances"] == 2
    assert by["fixed scale", "missing"]["hidden"] > 0 == by["fixed scale", "missing"]["imagined"]
    assert by["fixed scale", "all"]["scenes"] == len(objects.KINDS) - 1 + TINY.empty
    assert by["scales 0.8 to 1.25", "all"]["scenes"] == 1 + TINY.empty


def test_quality_names_what_was_missed(oracle):
    work, misses = oracle
    misses.add("two")
    made = quality.measure(work, silent)
    aims = {target["measure"]: target for target in made["targets"]}
    found = aims["robot with 4, fixed scale: found"]
    assert not found["met"]
    assert found["value"] == pytest.approx(2 / 4)
    assert not aims["robot with 4, fixed scale: parts right"]["met"]
    assert aims["robot with 4, scales 0.8 to 1.25: found"]["met"]
    (lost,) = made["losses"]
    assert lost.startswith("robot with 4, fixed scale, two_0_")
    assert lost.endswith(": 2 missed")


def test_shared_scenes_are_scored_by_their_own_script(shared):
    truth = json.loads((shared / "scenes" / "truth.json").read_text())

    class Knows:
        template = robot()

        def __call__(self, path):
            scene = next(s for s in truth if s["scene"].endswith(path.name))
            parts = [{n: {"matrix": m} for n, m in one["parts"].items()} for one in scene["instances"]]
            return LeafScore(
                [{"matrix": o["root"], "parts": p} for o, p in zip(scene["instances"], parts, strict=True)]
            )

    rows = {row["kind"]: row for row in quality.shared(Knows(), FIXED)}
    assert set(rows) == {"shared: empty", "shared: turn"}
    assert rows["shared: turn"]["found"] == rows["shared: turn"]["instances"] > 0
    assert rows["shared: turn"]["right"] == rows["shared: turn"]["parts"] > 0
    assert "shared: scale" in {row["kind"] for row in quality.shared(Knows(), SCALES)}


def row(template, ranges, which, faster, rate=1.0, seconds=0.05):
    words = {"template": template, "scale": speed.describe_range(ranges), "with": which}
    return {**words, "faster": faster, "rate": rate, "seconds": seconds}


def test_aims_of_speed():
    rows = [
        row("crab", FIXED, speed.WITH, 101.0, 26.0),
        row("crab", FIXED, speed.WITHOUT, 101.0, 24.0, seconds=0.07),
        row("crab", SCALES, speed.WITH, 199.0),
        row("crab", SCALES, speed.WITHOUT, 200.0),
        row("crab", DEFAULTS, speed.WITH, None, seconds=0.09),
        row("crab", DEFAULTS, speed.WITHOUT, None, seconds=0.10),
        row("crab without body", FIXED, speed.WITH, 20.0),
        row("crab without body", FIXED, speed.WITHOUT, 19.0),
    ]
    targets = speed._targets(rows, "crab")
    assert [(t["bound"], t["met"]) for t in targets] == [
        (100, True),
        (25, True),
        (100, True),
        (25, False),
        (200, False),
        (200, True),
        (20, True),
        (20, False),
        (0.02, False),
        (1.2, False),
        (1.2, True),
        (0.1, True),
        (1.2, True),
        (1.2, True),
    ]


def test_times_are_medians_and_the_warm_up_is_apart():
    numbers = speed.summary(9.0, [0.1, 0.2, 0.6])
    assert (numbers["warm_up"], numbers["seconds"], numbers["rate"]) == (9.0, 0.2, pytest.approx(5))


def test_a_sweep_that_finds_more_is_a_loss(monkeypatch):
    template = robot()
    scene = Workload(Settings(), TINY).scene(template, "plain", 0, FIXED)

    class Knows:
        calls = 1

        def __init__(self, *_, **__):
            pass

        def __call__(self, picture):
            return {name: matrix[:2] for name, matrix in scene.instances[0].parts.items()}

    monkeypatch.setattr(speed, "Sweep", Knows)
    peer, parts = speed.Peer(), len(scene.instances[0].parts)
    (lost,) = speed._sweep(peer, template, FIXED, [scene], [(3, parts)], grey=False)
    assert f"3 parts within 4 px against {parts}" in lost
    assert peer.median(FIXED, grey=False) > 0
    assert peer.median(FIXED, grey=True) is None
    assert speed._sweep(peer, template, FIXED, [scene], [(parts, parts)], grey=True) == []


def test_growth_takes_parts_out_pair_by_pair():
    for pairs in (1, 3, 5):
        template = growth.limbed(pairs)
        pieces = Pieces.of(template)
        assert (len(pieces.limbs), pieces.body is not None) == (2 * pairs, True)
        kept = growth.pruned(guessed(robot()), template)
        assert set(kept.chance) == {piece.name for piece in pieces.pieces}
    assert len(list(growth.cases())) == 4 + 5 + 4 + 5


def test_growth_paints_what_it_looks_for(threads):
    template = growth.limbed(1)
    empty, scene = growth.pictures(template, (256, 192), 0)
    assert empty.shape == scene.shape == (192, 256, 3)
    assert (empty != scene).any()
    case = growth.Case("pixels", "256 × 192", template, size=(256, 192), rotation=15.0)
    made = growth._row(Workload(Settings(), TINY, Guessed()), case)
    assert made["found"] == 1
    assert made["with"] > 0 < made["without"]


def test_determinism_sees_a_difference(monkeypatch):
    work = Workload(Settings(), TINY, Guessed())

    class Fickle:
        def __init__(self, threads):
            self.threads = threads

        def __call__(self, picture):
            return LeafScore([self.threads])

    monkeypatch.setattr(Guessed, "detector", lambda self, template, scale, threads: Fickle(threads))
    before = torch.get_num_threads()
    made = determinism.measure(work, silent)
    assert torch.get_num_threads() == before
    assert [target["met"] for target in made["targets"]] == [True, False]
    assert [(one["again"], one["threads"]) for one in made["rows"]] == [(1, 0)] * 10


def test_a_process_is_timed_and_weighed():
    hold = "x = bytearray(120 * 2**20); import time; time.sleep(0.2); print('done')"
    told = launched([sys.executable, "-S", "-c", hold])
    assert (told["status"], told["output"]) == (0, "done\n")
    assert 0.2 < told["seconds"] < 20
    assert 120 < told["peak_mb"] < 200


def test_cold_start_uses_the_kept_calibration(monkeypatch):
    monkeypatch.setattr(cold, "timed_subject", lambda: growth.limbed(1))
    made = cold.measure(Workload(Settings(), Counts(cold=1), Guessed()), silent)
    assert made["rows"][0]["seconds"] < 60
    assert made["rows"][0]["peak_mb"] > 50
    assert [one["what"] for one in made["rows"][1:]] == ["calibration: robot with 2, fixed scale"]
    assert made["targets"][2]["met"]


def test_quick_calibrations_serve_all_scales():
    calibrations = Guessed(quick=True)
    template = growth.limbed(1)
    assert calibrations.of(template, SCALES) is calibrations.of(template, FIXED)
    assert list(calibrations.seconds) == ["robot with 2, fixed scale"]
    detector = calibrations.detector(template, SCALES, threads=1)
    assert isinstance(detector, Detector)
    assert detector.ranges == SCALES


def test_fewer_scenes_of_a_calibration_are_fewer(monkeypatch):
    seen = {}
    module = sys.modules["wherein.detect.calibration.measure"]

    def noted(template, ranges):
        seen[ranges] = module._CHANCE_SCENES, module._EMPTY_SCENES, module._PRESENT_SCENES
        return guessed(template)

    monkeypatch.setattr(module, "calibrate", noted)
    before = module._CHANCE_SCENES, module._EMPTY_SCENES, module._PRESENT_SCENES
    Calibrations(quick=True).of(robot(), FIXED)
    assert seen[FIXED] == (1, 4, 5)
    Calibrations().of(robot(), SCALES)
    assert seen[SCALES] == before


COLUMNS = (("what", "what", "text"), ("took", "took", "ms"), ("found", "found", "of all"))


def stub(work, share):
    share(0.5)
    rows = [{"what": "a", "took": 0.0123, "found": 3, "all": 4}, {"what": "b", "took": None}]
    aims = [aim("speed", ">=", 2, 3.0), aim("share", ">=", 0.9, 0.5), aim("else", "<", 1, None)]
    return section("things", "About things.", COLUMNS, rows=rows, targets=aims, losses=["scene 7: 1 missed"])


def test_report_and_command(monkeypatch, tmp_path, capsys, threads):
    parts = (Section("first", stub, 1.0), Section("second", stub, 3.0))
    told = []
    report = detection.run(Settings(quick=True), lambda *a: told.append(a), parts)
    assert told == [("first", 0.125), ("second", 0.625)]
    assert report["settings"]["counts"]["empty"] == workload.QUICK.empty
    monkeypatch.setattr(
        "benchmarks.__main__.SUITES", {"detection": lambda s, step: detection.run(s, step, parts[:1])}
    )
    main(["detection", "--quick", "--threads", "1", "--out", str(tmp_path)])
    assert "things" in capsys.readouterr().out
    written = json.loads((tmp_path / "detection.json").read_text())
    assert written["suite"] == "detection"
    assert [target["met"] for target in written["sections"][0]["targets"]] == [True, False, None]
    text = (tmp_path / "detection.md").read_text()
    assert text.startswith("# Benchmark: detection")
    for line in (
        "| a | 12.3 | 3/4 |",
        "| b | – | – |",
        "| things | speed | >= 2 | 3 | yes |",
        "| things | share | >= 0.9 | 0.5 | no |",
        "| things | else | < 1 | – | not measured |",
        "- scene 7: 1 missed",
        "About things.",
    ):
        assert line in text


@pytest.mark.parametrize(("value", "text"), [(12345.6, "12346"), (99.96, "100"), (0.01234, "0.0123")])
def test_numbers_have_three_digits_and_no_powers(value, text):
    assert sections.number(value) == text
