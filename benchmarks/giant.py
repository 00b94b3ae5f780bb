"""The suite "giant": a search of 20,000 × 20,000 pixels with 4 GB of memory; the memory for 24 megapixels.

The scene consists of photographs in cells of 512 pixels, with different crops, rotations and light. It is
written as a tiled TIFF, tile by tile, and is never in memory as a whole. Three instances are painted into it:
one across the border of a tile of the search, one rotated, and one enlarged. A second scene is the same
without them.

Searches run in separate processes: `python -m benchmarks.giant TEMPLATE SCENE MEMORY THREADS`. The address
space of such a process is limited to MEMORY bytes (0: no limit). It prints the result, its time and its
memory.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks import photographs
from benchmarks.geometry import apply, corners
from benchmarks.measure import machine, set_threads
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.workload import aim, levels, section

Pixels = NDArray[np.uint8]

ROOT = Path(__file__).resolve().parents[1]
SIDE, QUICK_SIDE = 20_000, 6_000  # px
MEMORY = 4 * 10**9  # bytes
CELL, TILE, CROP, ALIGNED = 512, 512, 1024, 64  # px
MOTIF = ("astronaut", 60, 130, 140, 180)  # photograph, top, left, height, width
TURNED, ENLARGED = 137.0, 1.6  # degrees, scale
LARGE = (4000, 6000)  # px
TEMPLATES = (260, 1500)  # px

ABOUT = (
    f"A tiled TIFF of photographs, searched with `memory={MEMORY:,}` in a process whose address space has "
    "the same limit, at every rotation, half to twice the size, and tilts up to 40°. px off: the largest "
    "difference of a corner's x or y from a search in a crop of "
    f"{CROP} × {CROP} px. Peak: the peak memory of the whole process, including libraries."
)
COLUMNS = (
    ("scene", "scene", "text"),
    ("Mpx", "megapixels", "number"),
    ("found", "found", "of total"),
    ("others", "others", "number"),
    ("px off", "off", "number"),
    ("s", "seconds", "number"),
    ("Mpx/s", "speed", "number"),
    ("peak MB", "peak", "number"),
)
ABOUT_LARGE = (
    "An array of 24 megapixels, searched in one piece. Rise: the peak memory of the process minus its memory "
    "before the search, which includes libraries, template and array."
)
COLUMNS_LARGE = (
    ("template px", "template", "number"),
    ("rise MB", "rise", "number"),
    ("peak MB", "peak", "number"),
    ("s", "seconds", "number"),
)


@dataclass(frozen=True)
class Instance:
    """An object in the scene: its rotation in degrees, its scale, and the position of its centre."""

    degrees: float
    scale: float
    at: tuple[float, float]


@dataclass(frozen=True)
class GiantScene:
    """A scene of photographs, made region by region."""

    side: int
    motif: Pixels
    instances: tuple[Instance, ...]
    seed: int

    @cached_property
    def _names(self) -> list[str]:
        return [name for name in photographs.names() if name != MOTIF[0]]

    def cell(self, row: int, column: int) -> Pixels:
        """The pixels of a cell; they depend on the seed and on the position of the cell only."""
        rng = np.random.default_rng((self.seed, row, column))
        crop = photographs.crop(str(rng.choice(self._names)), CELL, CELL, rng)
        turned = np.rot90(crop, int(rng.integers(4)))[:, :: int(rng.choice((-1, 1)))]
        return np.clip(turned * rng.uniform(0.7, 1.1) + rng.uniform(-10, 10), 0, 255).astype(np.uint8)

    @cached_property
    def patches(self) -> list[tuple[int, int, Pixels]]:
        """The regions (of 3 × 3 cells) with the painted instances: left, top and pixels of each."""
        import torch

        from wherein.images.motif import Motif
        from wherein.template.paint import paint
        from wherein.template.pose import placed

        motif = Motif.whole(torch.from_numpy(self.motif).movedim(-1, 0).float() / 255)
        made = []
        for one in self.instances:
            first = [int(k // CELL) - 1 for k in one.at]
            rows = [
                np.concatenate([self.cell(first[1] + j, first[0] + i) for i in range(3)], 1) for j in range(3)
            ]
            ground = torch.from_numpy(np.concatenate(rows)).movedim(-1, 0).float() / 255
            left, top = CELL * first[0], CELL * first[1]
            pose = placed(one.degrees, one.scale, (one.at[0] - left, one.at[1] - top), motif.centre)
            painted = paint(ground, motif, torch.from_numpy(pose))
            made.append((left, top, levels(painted.movedim(0, -1).numpy().clip(0, 1))))
        return made

    def tiles(self) -> Iterator[Pixels]:
        """The tiles of the file, row by row."""
        for top in range(0, self.side, TILE):
            for left in range(0, self.side, TILE):
                tile = self.cell(top // CELL, left // CELL)
                for x, y, patch in self.patches:
                    if x <= left < x + patch.shape[1] and y <= top < y + patch.shape[0]:
                        tile = patch[top - y : top - y + TILE, left - x : left - x + TILE]
                yield np.ascontiguousarray(tile)

    def write(self, path: Path) -> None:
        """Write the scene as a tiled TIFF."""
        import tifffile

        shape = (self.side, self.side, 3)
        with tifffile.TiffWriter(path, bigtiff=True) as file:
            file.write(self.tiles(), shape=shape, dtype=np.uint8, tile=(TILE, TILE), photometric="rgb")


def run(settings: Settings, step: Step = silent) -> dict[str, Any]:
    """Measure the giant scene, and the memory for a large one."""
    set_threads(settings.threads)
    at = machine(settings.threads)
    with tempfile.TemporaryDirectory() as folder:
        giant = _giant(Path(folder), settings, step)
        large = _large(Path(folder), settings, step)
    return {
        "format": FORMAT,
        "suite": "giant",
        "command": "python -m benchmarks giant" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings),
        "machine": at,
        "data": {"missing": list(photographs.missing())},
        "sections": [giant, large],
    }


def _giant(folder: Path, settings: Settings, step: Step) -> dict[str, Any]:
    from wherein.detect import Detector

    name, top, left, height, width = MOTIF
    motif = photographs.load(name)[top : top + height, left : left + width]
    template = folder / "motif.png"
    Image.fromarray(motif).save(template)
    step("giant: calibration", 0.0)
    detector = Detector(template, threads=settings.threads)
    side = QUICK_SIDE if settings.quick else SIDE
    instances = placed_instances(detector, side)
    rows = []
    for number, own in enumerate((instances, ())):
        words = f"{len(own)} instances" if own else "empty"
        step(f"giant: writing, {words}", 0.1 + 0.4 * number)
        file = folder / "scene.tif"
        GiantScene(side, motif, own, settings.seed).write(file)
        step(f"giant: searching, {words}", 0.2 + 0.4 * number)
        done = searched(template, file, MEMORY, settings.threads)
        found = [np.array(one) for one in done["matrices"]]
        near = [min(found, key=lambda m, one=one: _distance(m, one, motif), default=None) for one in own]
        offs = [_off(detector, file, one, match, motif) for one, match in zip(own, near, strict=True)]
        right = sum(off < 1 for off in offs)
        rows.append(
            {
                "scene": words,
                "megapixels": side**2 / 1e6,
                "found": right,
                "total": len(own),
                "others": len(found) - right,
                "off": max(offs, default=None),
                "seconds": done["seconds"],
                "speed": side**2 / 1e6 / done["seconds"],
                "peak": done["peak"],
            }
        )
    aims = [
        aim("instances found", ">=", 3, rows[0]["found"]),
        aim("px off", "<=", 0.01, rows[0]["off"]),
        aim("peak MB", "<=", MEMORY / 1e6, max(row["peak"] for row in rows)),
    ]
    return section("giant", ABOUT, COLUMNS, rows=rows, losses=[], targets=aims)


def placed_instances(detector: Any, side: int) -> tuple[Instance, ...]:
    """An instance across the right and lower border of the search's first tile, one rotated, one enlarged."""
    from wherein.detect.tiled.giant_search import object_size
    from wherein.detect.tiled.tiles import MAX_SIDE, plan

    size = object_size(detector.search.finder)
    first = plan((0, 0, side, side), size, (0.5, 2.0), True, MAX_SIDE)[0].tiles[0]
    return (
        Instance(0.0, 1.0, (first[2] + 0.3, first[3] - 0.4)),
        Instance(TURNED, 1.0, (0.71 * side + 0.25, 0.3 * side)),
        Instance(-30.0, ENLARGED, (0.4 * side, 0.83 * side + 0.6)),
    )


def _distance(matrix: NDArray[np.float64], one: Instance, motif: Pixels) -> float:
    height, width = motif.shape[:2]
    middle = apply(matrix, np.array([[(width - 1) / 2, (height - 1) / 2]]))[0]
    return float(np.linalg.norm(middle - one.at))


def _off(
    detector: Any, file: Path, one: Instance, matrix: NDArray[np.float64] | None, motif: Pixels
) -> float:
    """The largest coordinate difference of a detection's corners from a search in a crop around it."""
    from wherein.giant.tiff_source import TiffSource

    left, top = (int(max(0, k - CROP / 2) // ALIGNED * ALIGNED) for k in one.at)
    with TiffSource(file) as source:
        crop = source.stored((left, top, left + CROP, top + CROP), 1)
    found = detector(crop)
    if matrix is None or not found:
        return float("inf")
    ends = corners(motif.shape[1], motif.shape[0])
    return float(np.abs(apply(found[0].matrix, ends) + np.array((left, top)) - apply(matrix, ends)).max())


def _large(folder: Path, settings: Settings, step: Step) -> dict[str, Any]:
    """The memory of a search in 24 megapixels, for a small and a large template."""
    scene = GiantScene(max(LARGE), np.zeros((2, 2, 3), np.uint8), (), settings.seed)
    cells = -(-LARGE[0] // CELL), -(-LARGE[1] // CELL)
    rows = [np.concatenate([scene.cell(j, i) for i in range(cells[1])], 1) for j in range(cells[0])]
    picture = np.concatenate(rows)[: LARGE[0], : LARGE[1]]
    np.save(folder / "large.npy", picture)
    measured = []
    for number, side in enumerate(TEMPLATES[: 1 if settings.quick else None]):
        step(f"large: template of {side} px", 0.8 + 0.1 * number)
        Image.fromarray(picture[1000 : 1000 + side, 1200 : 1200 + side]).save(folder / f"{side}.png")
        _calibrate(folder / f"{side}.png", settings.threads)
        done = searched(folder / f"{side}.png", folder / "large.npy", 0, settings.threads)
        measured.append({"template": side, **{name: done[name] for name in ("rise", "peak", "seconds")}})
    aims = [aim("rise MB", "<=", 1000, max(row["rise"] for row in measured))]
    return section("large", ABOUT_LARGE, COLUMNS_LARGE, rows=measured, losses=[], targets=aims)


def _calibrate(template: Path, threads: int) -> None:
    """Calibrate and store the calibration, in a separate process, so that its memory does not count."""
    code = "import sys; from wherein.detect import Detector; Detector(sys.argv[1], threads=int(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", code, str(template), str(threads)], cwd=ROOT, check=True)


def searched(template: Path, scene: Path, memory: int, threads: int) -> dict[str, Any]:
    """The result, the time and the memory of a search in a separate process."""
    command = [sys.executable, "-m", "benchmarks.giant", *map(str, (template, scene, memory, threads))]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return json.loads(ran.stdout)


def main(arguments: Sequence[str]) -> None:
    """Search in this process, and print the result, the time and the memory."""
    template, scene, memory, threads = arguments
    limit = int(memory)
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    from benchmarks.memory import held, peak
    from wherein.detect import Detector

    set_threads(int(threads))
    detector = Detector(template, threads=int(threads), memory=limit or None)
    picture: Any = np.load(scene) if scene.endswith(".npy") else scene
    detector(photographs.load("coffee"))  # the first search makes data that later searches reuse
    before, began = held(), perf_counter()
    found = detector(picture)
    print(
        json.dumps(
            {
                "matrices": [one.matrix.tolist() for one in found],
                "seconds": perf_counter() - began,
                "rise": peak() - before,
                "peak": peak(),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
