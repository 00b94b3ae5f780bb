"""Detection, 1: found, misplaced and false detections on every kind of scene."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import objects, photographs
from benchmarks.judging import Tally, judge
from benchmarks.subjects import CRAB, FIXED, describe_range, subjects
from benchmarks.workload import RANGES, Share, Workload, aim, section
from wherein.detect import Detector
from wherein.detect.search_range import Range
from wherein.template import Template

ABOUT = (
    "Scenes of 512 × 384 px on photographs of scikit-image and scikit-learn, with any rotation, and any "
    "joint angle within the turn. Defaults: at half to twice the size, and searched with tilt. An instance "
    "is found if its canvas centre is within 4 px and its angle within 5°; a part is right within 1 px and "
    "1°. Parts that are hidden, covered or outside are not counted; parts of missed instances count as "
    "wrong. Imagined: hidden parts that were reported as found. The rows called shared are the scenes of "
    "../shared/scenes, counted by score.py."
)
COLUMNS = (
    ("template", "template", "text"),
    ("scale", "scale", "text"),
    ("scenes of", "kind", "text"),
    ("n", "scenes", "text"),
    ("found", "found", "of instances"),
    ("parts right", "right", "of parts"),
    ("false alarms", "false_alarms", "text"),
    ("imagined", "imagined", "of hidden"),
)
FOUND, RIGHT = 0.99, 0.98
ALL = "all"


def measure(work: Workload, share: Share) -> dict[str, Any]:
    """Measure every template on every kind of scene, at fixed scale, over scales and with defaults."""
    rows, targets = [], []
    runs = [(template, ranges) for template in subjects(work.settings.quick) for ranges in RANGES]
    for done, (template, ranges) in enumerate(runs):
        detector = work.calibrations.detector(template, ranges, work.settings.threads)
        kinds = tuple(objects.KINDS) if ranges == FIXED else work.counts.scaled
        made = []
        for k, kind in enumerate(kinds):
            share((done + k / len(kinds)) / len(runs))
            made.append(_kind(work, detector, ranges, kind))
        rows += [*made, _total(made)]
        targets += _targets(made, f"{template.name}, {describe_range(ranges)}")
        if template.name == "crab" and kinds == tuple(objects.KINDS):
            rows += shared(detector, ranges)
    return section("quality", ABOUT, COLUMNS, rows=rows, targets=targets, losses=_losses(rows))


def _kind(work: Workload, detector: Detector, ranges: Range, kind: str) -> dict[str, Any]:
    total, failures = Tally(), []
    count = work.counts.empty if kind == "empty" else work.counts.scenes
    for index in range(count):
        scene = work.scene(detector.template, kind, index, ranges)
        tally = judge(detector(scene.picture).to_dict()["detections"], scene, detector.template)
        total += tally
        if not tally.perfect:
            failures.append({"scene": scene.name, **asdict(tally)})
    return row(detector.template, ranges, kind, asdict(total)) | {"failures": failures}


def row(template: Template, ranges: Range, kind: str, counts: Mapping[str, int]) -> dict[str, Any]:
    """A row of the table from the counts of one kind of scene."""
    return {"template": template.name, "scale": describe_range(ranges), "kind": kind, **counts}


def _total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    total = sum((_tally(made) for made in rows), Tally())
    return {**rows[0], "kind": ALL, **asdict(total), "failures": []}


def _tally(made: Mapping[str, Any]) -> Tally:
    return Tally(**{name: made[name] for name in asdict(Tally())})


def _targets(rows: list[dict[str, Any]], what: str) -> Iterator[dict[str, Any]]:
    total = sum((_tally(made) for made in rows), Tally())
    empty = sum((_tally(made) for made in rows if made["kind"] == "empty"), Tally())
    yield aim(f"{what}: found", ">=", FOUND, total.found / total.instances)
    yield aim(f"{what}: parts right", ">=", RIGHT, total.right / total.parts)
    yield aim(f"{what}: false alarms in {empty.scenes} scenes without it", "<=", 0, empty.false_alarms)


def _losses(rows: list[dict[str, Any]]) -> list[str]:
    """A sentence for each scene with a missed, misplaced or false detection."""
    return [
        f"{made['template']}, {made['scale']}, {failed['scene']}: {_describe(failed)}"
        for made in rows
        for failed in made["failures"]
    ]


def _describe(failed: Mapping[str, Any]) -> str:
    counts = {"missed": failed["instances"] - failed["found"], "false alarms": failed["false_alarms"]}
    return ", ".join([*(f"{count} {what}" for what, count in counts.items() if count), *failed["wrong"]])


# --- the scenes in ../shared, by its own score.py ---


def shared(detector: Detector, ranges: Range) -> list[dict[str, Any]]:
    """One row for each group of ../shared/scenes; those at other scales only if scales are searched."""
    score, folder = _score(photographs.SHARED / "score.py"), photographs.SHARED / "scenes"
    if score is None or not (folder / "truth.json").exists():
        return []
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    if ranges == FIXED:
        truth = [scene for scene in truth if not scene["scene"].startswith("scale")]
    found = {Path(s["scene"]).name: detector(folder / Path(s["scene"]).name).to_dict() for s in truth}
    groups = score.score(truth, found, CRAB)
    return [
        row(detector.template, ranges, f"shared: {name}", _as_tally(groups[name])) | {"failures": []}
        for name in sorted(groups)
    ]


def _as_tally(counted: Mapping[str, int]) -> dict[str, int]:
    return asdict(Tally()) | {name.replace(" ", "_"): count for name, count in counted.items()}


def _score(path: Path) -> ModuleType | None:
    """score.py as a module; None if it does not exist."""
    spec = spec_from_file_location("shared_score", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
