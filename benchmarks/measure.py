"""Measurements that are the same for every method: ZNCC on the support, corner error, time, machine."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from benchmarks.geometry import Array, Spline, apply, corners, pixels
from benchmarks.scenes import Problem

SUCCESS = 0.9  # minimum ZNCC of a successful registration, as in the paper
MIN_VISIBLE = 0.5  # minimum fraction of the motif inside the scene for a comparison; a choice
BRIEF = 0.25  # s: calls that are shorter are timed twice

T = TypeVar("T")


class Ruler:
    """Measures matrices for one problem. The spline of the scene is computed once for all methods."""

    def __init__(self, problem: Problem) -> None:
        self._corners = corners(*problem.motif_size)
        self._truth = apply(problem.truth, self._corners)
        self._points = pixels(*problem.motif_size)[problem.support.ravel()]
        self._motif = problem.motif[..., :3][problem.support].astype(np.float64)
        self._scene = Spline(problem.scene, order=3)

    def corner_error(self, matrix: Array | None) -> float:
        """RMS distance in px over the motif's four corners; infinite without a matrix."""
        if matrix is None:
            return float("inf")
        error = float(np.sqrt(((apply(matrix, self._corners) - self._truth) ** 2).sum(axis=1).mean()))
        return error if np.isfinite(error) else float("inf")

    def zncc(self, matrix: Array | None) -> float:
        """ZNCC (appendix A.3) of the motif and the scene, which is sampled at the matrix by a cubic spline.

        It is computed over the part of the support inside the scene, and is 0 if that is less than half.
        """
        if matrix is None:
            return 0.0
        points = apply(matrix, self._points)
        inside = np.all((points >= 0) & (points <= np.array(self._scene.size) - 1), axis=1)
        return zncc(self._motif[inside], self._scene(points[inside])) if inside.mean() >= MIN_VISIBLE else 0.0


def zncc(x: Array, y: Array) -> float:
    """⟨x̃, ỹ⟩ / (‖x̃‖ ‖ỹ‖) of two sets of pixels (N, C) minus their channel means; 0 if one is constant."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    norm = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float((x * y).sum() / norm) if norm > 0 else 0.0


@dataclass(frozen=True)
class Trial:
    """The result of one method on one problem."""

    index: int
    photograph: str
    zncc: float
    corner: float  # px, inf: no answer
    seconds: float
    status: str

    @property
    def succeeded(self) -> bool:
        """Whether the registration succeeded."""
        return self.zncc >= SUCCESS


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """The return value of a call, and its time in seconds; for brief calls, the shorter of two times."""
    began = perf_counter()
    value = call()
    seconds = perf_counter() - began
    if seconds < BRIEF:
        began = perf_counter()
        call()
        seconds = min(seconds, perf_counter() - began)
    return value, seconds


def summarise(trials: Sequence[Trial]) -> dict[str, Any]:
    """The statistics of one method on one group; None stands for an infinite corner error."""
    error = np.array([trial.corner for trial in trials])
    solved = error[[trial.succeeded for trial in trials]]
    failed = [trial for trial in trials if not trial.succeeded or trial.corner >= 1]
    return {
        "count": len(trials),
        "success": float(np.mean([trial.succeeded for trial in trials])),
        "within_1px": float(np.mean(error < 1)),
        "corner_median": _finite(_quantile(error, 0.5)),
        "corner_p90": _finite(_quantile(error, 0.9)),
        "corner_median_solved": _finite(_quantile(solved, 0.5)) if solved.size else None,
        "corner_rms": _finite(np.sqrt(np.mean(error**2))),
        "seconds": float(np.median([trial.seconds for trial in trials])),
        "statuses": dict(Counter(trial.status for trial in trials).most_common()),
        "failures": [
            {
                "index": trial.index,
                "photograph": trial.photograph,
                "zncc": round(trial.zncc, 4),
                "corner": _finite(trial.corner),
                "status": trial.status,
            }
            for trial in failed
        ],
    }


def _quantile(values: Array, q: float) -> float:
    """The quantile, without interpolation: between infinite values it would give nan."""
    return float(np.quantile(values, q, method="inverted_cdf"))


def _finite(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def time_ratio(ours: Sequence[Trial], peers: Sequence[Trial]) -> dict[str, Any]:
    """Our time / the peer's time: medians over the problems that the peer solved, and over all it got."""
    times = {trial.index: trial.seconds for trial in ours}
    both = [trial for trial in peers if trial.index in times]
    solved = [trial for trial in both if trial.succeeded]
    medians = [
        float(np.median([times[p.index] / p.seconds for p in some])) if some else None
        for some in (solved, both)
    ]
    return {"solved": medians[0], "solved_count": len(solved), "all": medians[1]}


def set_threads(threads: int) -> None:
    """Set the number of threads of torch and OpenCV."""
    import torch

    torch.set_num_threads(threads)
    try:
        import cv2
    except ImportError:
        return
    cv2.setNumThreads(threads)


def machine(threads: int) -> dict[str, Any]:
    """The machine of the run. Times are unreliable if the load before is close to the number of cores."""
    packages = ("wherein", "torch", "numpy", "scipy", "opencv-python-headless", "kornia", "scikit-image")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": threads,
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "versions": {package: _version(package) for package in packages},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
