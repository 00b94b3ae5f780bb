"""Real, 3: homographies of the Oxford affine set, by the criteria of ../shared/real/oxford.py."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import wherein
from benchmarks.geometry import Array, apply, corners
from benchmarks.real import opencv
from benchmarks.real.common import OURS, Picture, Plan, folder, interleaved, lost, median, spread
from benchmarks.workload import Share, aim, section

SIFT, ECC = "SIFT + MAGSAC", "ECC"
MAX_SIDE = 512  # px: larger pictures are reduced to this side, as in oxford.py
NEAR, EXACT = 3.0, 1.0  # px: bounds of the mean error of the corners
ABOUT = (
    "Photographs 2 to 6 of each planar scene are registered with photograph 1, at 512 px "
    "(`../shared/real/oxford.py`); the error is the mean over the corners of photograph 1. wherein: "
    "`register(motion='homography')` without a start; ECC starts from the identity."
)
COLUMNS = (
    ("method", "method", "text"),
    ("under 3 px", "found", "of total"),
    ("under 1 px", "exact", "of total"),
    ("ms a pair", "seconds", "ms"),
    ("90 %", "p90", "ms"),
)


def measure(plan: Plan, share: Share) -> dict[str, Any]:
    """Run wherein, SIFT and ECC alternately on every pair."""
    pairs = spread(list(names(folder("oxford"))), plan.counts.oxford)
    errors: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    losses = []
    for done, (scene, index) in enumerate(pairs):
        share(done / len(pairs))
        motif, other, truth = load(scene, index)
        calls = {
            OURS: partial(registered, motif, other),
            SIFT: partial(matched, motif, other),
            ECC: partial(opencv.ecc, motif, other),
        }
        for name, answer in interleaved(calls, plan.counts.repeats).items():
            error = corner_error(answer.value, truth, (motif.shape[1], motif.shape[0]))
            errors.setdefault(name, []).append(error)
            seconds.setdefault(name, []).append(answer.seconds)
        if errors[OURS][-1] >= NEAR:
            losses.append(f"oxford: {scene.name} 1 to {index}, {errors[OURS][-1]:.3g} px off")
    rows = [_row(name, np.array(some), seconds[name]) for name, some in errors.items()]
    peers = {row["method"]: row["found"] for row in rows[1:]}
    losses += lost("oxford: pairs under 3 px", rows[0]["found"], peers)
    aims = [
        aim(
            "oxford: pairs under 3 px, ours − the best peer's",
            ">=",
            0,
            rows[0]["found"] - max(peers.values()),
        )
    ]
    return section("oxford", ABOUT, COLUMNS, rows=rows, targets=aims, losses=losses)


def names(where: Path) -> Iterator[tuple[Path, int]]:
    """The folder of each scene, with the number of each photograph that has a homography."""
    for scene in sorted(path for path in where.iterdir() if path.is_dir()):
        for index in range(2, 7):
            if (scene / f"H1to{index}p.xml").exists():
                yield scene, index


def load(scene: Path, index: int) -> tuple[Picture, Picture, Array]:
    """Photograph 1, photograph `index`, and the homography between them, all reduced to MAX_SIDE."""
    first, other = (_open(scene, number) for number in (1, index))
    factor = min(1.0, MAX_SIDE / max(first.size + other.size))
    text = (scene / f"H1to{index}p.xml").read_text(encoding="utf-8")
    numbers = re.search(r"<data>(.*?)</data>", text, re.DOTALL)
    if numbers is None:
        raise ValueError(f"{scene.name}/H1to{index}p.xml has no <data>")
    matrix = np.array(numbers[1].split(), float).reshape(3, 3)
    # Pixel centres are at whole numbers: x' = factor (x + 0.5) − 0.5.
    resize = np.array([[factor, 0, (factor - 1) / 2], [0, factor, (factor - 1) / 2], [0, 0, 1]])
    return _reduced(first, factor), _reduced(other, factor), resize @ matrix @ np.linalg.inv(resize)


def _open(scene: Path, number: int) -> Image.Image:
    path = next(path for path in scene.iterdir() if path.stem == f"img{number}")
    return Image.open(path).convert("RGB")


def _reduced(image: Image.Image, factor: float) -> Picture:
    method = Image.Resampling.BOX if factor == 0.5 else Image.Resampling.LANCZOS
    return np.asarray(image.resize((round(image.width * factor), round(image.height * factor)), method))


def registered(motif: Picture, scene: Picture) -> Array:
    """The homography found by wherein."""
    return np.asarray(wherein.register(scene, motif, motion="homography").matrix)


def matched(motif: Picture, scene: Picture) -> Array | None:
    """The homography found by SIFT; its time includes the features of both pictures."""
    return opencv.sift(opencv.Features.of(motif), scene)


def corner_error(matrix: Array | None, truth: Array, size: tuple[int, int]) -> float:
    """The mean error of the corners of photograph 1, in px; infinite without a matrix."""
    if matrix is None:
        return float("inf")
    ends = corners(*size)
    error = np.linalg.norm(apply(matrix, ends) - apply(truth, ends), axis=1).mean()
    return float(error) if np.isfinite(error) else float("inf")


def _row(name: str, errors: Array, seconds: list[float]) -> dict[str, Any]:
    return {
        "method": name,
        "found": int((errors < NEAR).sum()),
        "exact": int((errors < EXACT).sum()),
        "total": len(errors),
        "seconds": median(seconds),
        "p90": float(np.quantile(seconds, 0.9)),
    }
