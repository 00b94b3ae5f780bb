"""Real, 6: cut-outs of real objects, painted into photographs with changed light."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.real import camera, placing
from benchmarks.real.common import OURS, MissingDataError, Picture, Plan, interleaved, median, rigid
from benchmarks.workload import Share, aim, section

STAMPS = Path("/usr/share/tuxpaint/stamps")  # Debian's tuxpaint-stamps-default
LONGEST = 160  # maximum side of a template in px: at twice the size, it fits into a scene at any rotation
SCALES = (0.5, 2.0)
NAMES = (
    *("household/tools/plyers", "animals/birds/penguin", "household/tools/wrench", "household/tools/saw"),
    *("household/key", "animals/birds/owl", "animals/fish/clownfish", "animals/insects/hornet"),
    *("animals/mammals/cats/tiger", "animals/mammals/elephant", "animals/mammals/equines/zebra"),
    *("food/fruit/orange", "food/fruit/pineapple", "food/vegetables/corn", "hobbies/camera_35mm"),
    *("hobbies/music/string/violin", "hobbies/music/brass/trumpet", "household/dishes/mug"),
    *("household/dishes/teapot", "household/Lightbulb", "household/rubberduck", "medical/stethoscope"),
    *("sports/soccer", "sports/tennis_racket", "sports/basketball", "symbols/money/us/coins/025quarter"),
    *("plants/flowers/rose", "military/vehicles/f22_raptor", "space/planets/3_earth"),
    "animals/shellfish/abalone",
)
ROUND = ("orange", "soccer", "basketball", "025quarter", "3_earth")  # judged by their outline
ABOUT = (
    f"Stamps of Debian's tuxpaint-stamps-default, reduced to {LONGEST} px, in scenes of 640 × 480 px on "
    "photographs that no calibration uses: scale 0.5 to 2, any rotation, gain, white balance, uneven "
    "light, shadow, blur, noise, JPEG. Default arguments. Found: corners within 5 % of the diagonal (RMS); "
    "round objects: IoU of the outlines ≥ 0.8. False, with it: detections elsewhere in these scenes. False, "
    "without it: scenes with a detection, of as many scenes without the object."
)
COLUMNS = (
    ("stamp", "stamp", "text"),
    ("size", "size", "text"),
    ("found", "found", "of total"),
    ("false, with it", "beside", "text"),
    ("false, without it", "false", "of total"),
    ("threshold", "threshold", "number"),
    ("ms", "seconds", "ms"),
)


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Measure every stamp in its own scenes."""
    if not STAMPS.is_dir():
        raise MissingDataError("no stamps of Tux Paint (Debian's tuxpaint-stamps-default)")
    names = [name for name in NAMES if (STAMPS / f"{name}.png").exists()][: plan.counts.stamps]
    rows, losses = [], []
    for done, name in enumerate(names):
        share(done / len(names))
        row, lost = stamped(plan, name.rsplit("/", 1)[-1], load(STAMPS / f"{name}.png"))
        rows.append(row)
        losses += lost
    if rows:
        rows.append(_total(rows))
    alarms = sum(row["false"] for row in rows[:-1])
    aims = [aim("stamps: false alarms in scenes without it", "<=", 0, alarms)]
    return section("stamps", ABOUT, COLUMNS, rows=rows, targets=aims, losses=losses)


def load(path: Path) -> Picture:
    """A stamp (h, w, 4), reduced to at most LONGEST px."""
    with Image.open(path) as image:
        return placing.fitted(np.asarray(image.convert("RGBA")), LONGEST)


def stamped(plan: Plan, name: str, cutout: Picture) -> tuple[dict[str, Any], list[str]]:
    """The row of one stamp, and a sentence for each failure."""
    template = rigid(name, cutout)
    detector, symmetric = plan.detector(template), name in ROUND
    verdicts, without, seconds, losses = [], 0, [], []
    for index in range(plan.counts.stamp_scenes):
        for there in (True, False):
            scene, truth = made(plan, name, cutout, index, there)
            answer = interleaved({OURS: partial(detector, scene)}, 1)[OURS]
            verdict = placing.judge(answer.value, truth, template, symmetric)
            seconds.append(answer.seconds)
            if there:
                verdicts.append(verdict)
                losses += [] if verdict.found else [_missed(name, index, truth, verdict)]
            else:
                without += verdict.false > 0
                losses += [f"stamps: {name}, scene {index} without it: false alarm"] if verdict.false else []
    row = {
        "stamp": name,
        "size": f"{cutout.shape[1]} × {cutout.shape[0]}",
        "found": sum(verdict.found for verdict in verdicts),
        "total": len(verdicts),
        "beside": sum(verdict.false for verdict in verdicts),
        "false": without,
        "threshold": detector.threshold,
        "seconds": median(seconds),
    }
    return row, losses


def made(
    plan: Plan, name: str, cutout: Picture, index: int, there: bool
) -> tuple[Picture, np.ndarray | None]:
    """A scene with or without the stamp, and the true pose of the stamp."""
    rng = plan.rng("stamps", name, index, there)
    scene = camera.background(placing.SIZE, rng)
    truth = placing.pose((cutout.shape[1], cutout.shape[0]), SCALES, rng) if there else None
    if truth is not None:
        scene = camera.paint(scene, cutout, truth)
    return camera.photographed(scene, rng), truth


def _missed(name: str, index: int, truth: np.ndarray | None, verdict: placing.Verdict) -> str:
    scale = 0.0 if truth is None else float(np.sqrt(np.linalg.det(truth[:, :2])))
    best = "nothing near" if verdict.scored is None else f"best score {verdict.scored:.2f}"
    off = f"IoU {verdict.overlap:.2f}, {verdict.error:.0%} off" if np.isfinite(verdict.error) else best
    return f"stamps: {name}, scene {index} at scale {scale:.2f}: {off}"


def _total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    summed = {key: sum(row[key] for row in rows) for key in ("found", "total", "beside", "false")}
    return {"stamp": "all", "size": "", **summed, "seconds": median([row["seconds"] for row in rows])}
