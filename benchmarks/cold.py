"""Detection, 3: time and memory of one run of the command, and the time of the calibration before it."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.launch import launched
from benchmarks.subjects import FIXED, timed_subject
from benchmarks.workload import Share, Workload, aim, levels, section

ABOUT = (
    "`wherein detect TEMPLATE SCENE` as a separate process on one scene of 512 × 384 px, from the start of "
    "Python to its end. The calibration is stored beside the template, the compiled kernel in the user's "
    "cache. Calibrations are timed in the process of the benchmark."
)
COLUMNS = (
    ("what", "what", "text"),
    ("n", "count", "text"),
    ("s", "seconds", "number"),
    ("peak MB", "peak_mb", "number"),
    ("found", "found", "text"),
)
COMMAND = [sys.executable, "-c", "from wherein.cli.main import main; main()"]
RANGE = ["--scale", "1", "1", "--tilt", "0"]  # the range of the calibration
START, CALIBRATION, MEMORY = 4.0, 60.0, 1000.0  # s, s, MB


def measure(work: Workload, share: Share) -> dict[str, Any]:
    """Run the processes one after the other, and add the times of all calibrations of this benchmark run."""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for k in range(work.counts.cold):
            share(k / work.counts.cold)
            runs.append(_detect(work, Path(folder) / str(k)))
    seconds, peak = (float(np.median([run[key] for run in runs])) for key in ("seconds", "peak_mb"))
    start = {"what": "wherein detect", "count": len(runs), "seconds": seconds, "peak_mb": peak}
    made = work.calibrations.seconds
    rows = [
        start | {"found": sum(run["found"] for run in runs)},
        *({"what": f"calibration: {name}", "count": 1, "seconds": taken} for name, taken in made.items()),
    ]
    slowest = None if work.settings.quick else max(made.values(), default=None)
    targets = [
        aim("cold start, s", "<", START, seconds),
        aim("peak memory of the command, MB", "<", MEMORY, peak),
        aim("slowest calibration, s", "<", CALIBRATION, slowest),
    ]
    return section("cold start", ABOUT, COLUMNS, rows=rows, targets=targets)


def _detect(work: Workload, folder: Path) -> dict[str, Any]:
    """Run the command once, on new files."""
    template = timed_subject()
    place = template.save(folder / "template")
    kept = place / "calibration.json"
    calibration = work.calibrations.of(template, FIXED)
    kept.write_text(json.dumps([calibration.model_dump(mode="json")]), encoding="utf-8")
    before = kept.read_bytes()
    scene = folder / "scene.png"
    Image.fromarray(levels(work.scene(template, "plain", 0, FIXED).picture)).save(scene)
    ran = launched([*COMMAND, "detect", str(place), str(scene), *RANGE])
    if ran["status"] != 0 or kept.read_bytes() != before:
        raise RuntimeError(f"wherein detect did not run as expected: {ran['errors'] or 'it calibrated'}")
    return {**ran, "found": len(json.loads(ran["output"])["detections"])}
