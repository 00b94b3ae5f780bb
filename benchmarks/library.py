"""The suite "library": quality and time as functions of the number of templates, up to 100.

Templates are cut-outs of objects (Debian's tuxpaint-stamps-default), patches of photographs, and near twins
of both, in which a third of the width and height is replaced. Scenes are other photographs with zero to five
of the templates, at every rotation and half to twice their size, with changed light, blur, noise and JPEG.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from PIL import Image

from benchmarks import photographs
from benchmarks.geometry import apply, corners
from benchmarks.measure import machine, set_threads
from benchmarks.real import camera, placing
from benchmarks.real.common import Picture, median, rigid
from benchmarks.real.stamps import LONGEST, SCALES, STAMPS
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.workload import aim, section
from wherein.detect import Detector

CUT_FROM = ("astronaut", "chelsea", "coffee", "rocket", "stereo_motorcycle", "china", "flower")
"""Photographs from which patches are cut; no scene shows them."""
TWINS_FROM = ("brick", "gravel")  # photographs that replace a part of a near twin's original
OTHER_FOLDERS = ("symbols",)  # folders that are not used: letters and signs are not objects
PATCH = (70, 160)  # px: minimum and maximum side of a patch
CHANGED = 0.35  # the replaced share of the width and of the height of a near twin
SHARES = (0.55, 0.85)  # cumulated shares of cut-outs and of patches; the rest are near twins
MAX_OBJECTS = 5
NEAR = 0.1  # maximum distance of the centres, in diagonals of the object in the scene
ABOUT = (
    "Scenes of 640 × 480 px with zero to five of the templates. Found: an object of the right name within a "
    "tenth of its diagonal. Wrong name: another object is reported there. Calibration is not timed. Growth: "
    "the time relative to one template, divided by the number of templates; 1 is linear."
)
COLUMNS = (
    ("templates", "templates", "number"),
    ("scenes", "scenes", "number"),
    ("found", "found", "of total"),
    ("wrong name", "wrong", "number"),
    ("false alarms", "false", "number"),
    ("ms", "seconds", "ms"),
    ("growth", "growth", "number"),
    ("s to calibrate each", "calibrated", "number"),
)


@dataclass(frozen=True)
class Counts:
    """Number of scenes by the number of templates."""

    scenes: tuple[tuple[int, int], ...] = ((1, 30), (10, 30), (100, 100))


FULL, QUICK = Counts(), Counts(((1, 3), (10, 3)))


@dataclass(frozen=True)
class Truth:
    """An object in a scene: the name of its template, and its pose, 2×3."""

    name: str
    matrix: np.ndarray


def run(settings: Settings, step: Step = silent, counts: Counts | None = None) -> dict[str, Any]:
    """Measure all numbers of templates; `step` is called with the progress."""
    set_threads(settings.threads)
    at = machine(settings.threads)
    counts = counts or (QUICK if settings.quick else FULL)
    pictures = cutouts(settings.seed, max(number for number, _ in counts.scenes))
    rows, losses = [], []
    for done, (number, scenes) in enumerate(counts.scenes):
        step(f"library: {number}", done / len(counts.scenes))
        row, lost = _measured(dict(list(pictures.items())[:number]), scenes, settings)
        rows.append(row)
        losses += lost
    for row in rows:
        row["growth"] = row["seconds"] / rows[0]["seconds"] / row["templates"] * rows[0]["templates"]
    made = section("library", ABOUT, COLUMNS, rows=rows, losses=losses, targets=_aims(rows[-1]))
    missing = [] if STAMPS.is_dir() else [f"{STAMPS}: patches of photographs are used instead of cut-outs"]
    return {
        "format": FORMAT,
        "suite": "library",
        "command": "python -m benchmarks library" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings) | {"counts": asdict(counts)},
        "machine": at,
        "data": {"missing": missing + list(photographs.missing())},
        "sections": [made],
    }


def _aims(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        aim("found with the right name", ">=", 0.99, row["found"] / max(1, row["total"])),
        aim("false alarms in a scene", "<=", 0.01, row["false"] / row["scenes"]),
        aim("growth of the time", "<=", 0.2, row["growth"]),
        aim("seconds", "<=", 0.3, row["seconds"]),
    ]


def _measured(
    pictures: dict[str, Picture], scenes: int, settings: Settings
) -> tuple[dict[str, Any], list[str]]:
    """The row of one library, and a sentence for each failure."""
    began = perf_counter()
    # A single template is given as a list too, so that rows differ in the number of templates only.
    detector = Detector([rigid(name, one) for name, one in pictures.items()], threads=settings.threads)
    calibrated = (perf_counter() - began) / len(pictures)
    counts, seconds, losses = np.zeros(4, dtype=int), [], []
    for index in range(scenes):
        scene, truths = made(pictures, settings.seed, index)
        found = detector(scene)
        seconds.append(found.seconds)
        verdict, lost = judged(found, truths, pictures)
        counts += verdict
        losses += [f"library: {len(pictures)} templates, scene {index}: {words}" for words in lost]
    right, total, wrong, false = counts.tolist()
    row = {
        "templates": len(pictures),
        "scenes": scenes,
        "found": right,
        "total": total,
        "wrong": wrong,
        "false": false,
        "seconds": median(seconds),
        "calibrated": calibrated,
    }
    return row, losses


def cutouts(seed: int, count: int) -> dict[str, Picture]:
    """The pictures (with alpha) of all templates by name, in random order."""
    rng = np.random.default_rng((seed, 0x11B))
    stamped = _stamps(rng, round(SHARES[0] * count)) if STAMPS.is_dir() else {}
    patched = {f"patch {k}": _patch(rng) for k in range(round(SHARES[1] * count) - len(stamped))}
    own = stamped | patched
    originals = rng.permutation(list(own))[: count - len(own)]
    every = own | {f"{name} (twin)": _twin(own[name], rng) for name in originals.tolist()}
    return {name: every[name] for name in rng.permutation(list(every)).tolist()}


def _stamps(rng: np.random.Generator, count: int) -> dict[str, Picture]:
    """Cut-outs of objects, without tiny or nearly empty ones."""
    found: dict[str, Picture] = {}
    paths = _stamp_files()
    for index in rng.permutation(len(paths)):
        if len(found) == count:
            break
        picture = np.asarray(Image.open(paths[index]).convert("RGBA"))
        rows, columns = np.nonzero(picture[..., 3] > 127)
        if len(rows) < 400 or paths[index].stem in found:
            continue
        cut = placing.fitted(picture[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1], LONGEST)
        if min(cut.shape[:2]) >= 24 and max(cut.shape[:2]) >= 60:
            found[paths[index].stem] = cut
    return found


@cache
def _stamp_files() -> list[Path]:
    mirrored = ("_mirror", "_flip")
    return sorted(
        path
        for path in STAMPS.rglob("*.png")
        if not path.stem.endswith(mirrored) and not set(path.parts) & set(OTHER_FOLDERS)
    )


def _patch(rng: np.random.Generator) -> Picture:
    """A rectangle of a photograph with texture in each quarter, or the best of 20 attempts."""
    width, height = rng.integers(*PATCH, 2).tolist()
    known = [name for name in CUT_FROM if name in photographs.names()]
    best: tuple[float, Picture] | None = None
    for _ in range(20):
        cut = photographs.crop(known[int(rng.integers(len(known)))], width, height, rng)
        grey, (h, w) = cut.mean(axis=-1), (height // 2, width // 2)
        contrast = min(float(grey[y : y + h, x : x + w].std()) for y in (0, h) for x in (0, w))
        if best is None or contrast > best[0]:
            best = contrast, cut
        if contrast > 2 * photographs.MIN_CONTRAST:
            break
    assert best is not None
    return np.concatenate((best[1], np.full((height, width, 1), 255, np.uint8)), -1)


def _twin(original: Picture, rng: np.random.Generator) -> Picture:
    """A near twin: the same picture with a rectangle replaced."""
    made, (height, width) = original.copy(), original.shape[:2]
    across, down = max(8, round(CHANGED * width)), max(8, round(CHANGED * height))
    rows, columns = np.nonzero(made[..., 3] > 127)
    middle = int(rng.integers(len(rows)))
    x = int(np.clip(columns[middle] - across // 2, 0, width - across))
    y = int(np.clip(rows[middle] - down // 2, 0, height - down))
    other = TWINS_FROM[int(rng.integers(len(TWINS_FROM)))]
    made[y : y + down, x : x + across, :3] = photographs.crop(other, across, down, rng)
    return made


def made(pictures: dict[str, Picture], seed: int, index: int) -> tuple[Picture, list[Truth]]:
    """A scene, and the objects in it, which do not overlap."""
    rng = np.random.default_rng((seed, len(pictures), index))
    scene, names = _background(rng), list(pictures)
    truths: list[Truth] = []
    boxes: list[np.ndarray] = []
    for _ in range(int(rng.integers(min(MAX_OBJECTS, len(pictures)) + 1))):
        name = names[int(rng.integers(len(names)))]
        height, width = pictures[name].shape[:2]
        for _ in range(50):
            matrix = placing.pose((width, height), SCALES, rng)
            ends = apply(matrix, corners(width, height))
            box = np.array((ends.min(axis=0), ends.max(axis=0)))
            if all((box[1] < other[0]).any() or (other[1] < box[0]).any() for other in boxes):
                scene = camera.paint(scene, pictures[name], matrix)
                truths.append(Truth(name, matrix))
                boxes.append(box)
                break
    return camera.photographed(scene, rng), truths


def _background(rng: np.random.Generator) -> Picture:
    """A photograph that neither templates nor calibrations use."""
    return camera.background(placing.SIZE, rng, without=CUT_FROM)


def judged(
    found: Sequence[Any], truths: Sequence[Truth], pictures: dict[str, Picture]
) -> tuple[np.ndarray, list[str]]:
    """The counts of a scene, and a sentence for each failure.

    The counts are: objects found with the right name, all objects, objects with a wrong name, false alarms.
    """
    left, right, wrong, lost = list(found), 0, 0, []
    for truth in truths:
        height, width = pictures[truth.name].shape[:2]
        ends = apply(truth.matrix, corners(width, height))
        reach = NEAR * np.linalg.norm(ends[2] - ends[0])
        near = [one for one in left if np.linalg.norm(np.array(one.center) - ends.mean(axis=0)) <= reach]
        same = [one for one in near if one.template == truth.name]
        right += bool(same)
        wrong += bool(near) and not same
        for one in (same or near)[:1]:
            left.remove(one)
            lost += [] if same else [f"{truth.name} is called {one.template}"]
        lost += [] if near else [f"{truth.name} is missed"]
    lost += [f"false alarm: {one.template}, score {one.score:.2f}" for one in left]
    return np.array((right, len(truths), wrong, len(left))), lost
