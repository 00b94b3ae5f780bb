"""Peak memory of one registration, measured in a separate process.

`peak_megabytes` runs it as `python -m benchmarks.memory METHOD PROBLEM THREADS`. The process solves a tiny
problem, so that the libraries of the method are imported, and records its memory. Then it solves the actual
problem, and prints the increase of the peak in MB.
"""

import pickle
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.geometry import shift
from benchmarks.measure import set_threads
from benchmarks.methods import METHODS, Method, attempt
from benchmarks.scenes import Problem

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120  # s


def peak_megabytes(method: Method, problem: Problem, threads: int) -> float | None:
    """The memory of a registration without libraries and pictures; None if it cannot be measured."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.pickle"
        file.write_bytes(pickle.dumps(problem))
        command = [sys.executable, "-m", "benchmarks.memory", method.name, str(file), str(threads)]
        try:
            ran = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
    return float(ran.stdout.split()[-1])


def tiny(motion: str) -> Problem:
    """A problem of 64 × 64 px, for which a method loads its libraries."""
    picture = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    start = shift(8, 8) if motion == "homography" else shift(8, 8)[:2]
    return Problem(picture, picture[8:56, 8:56].copy(), None, start, start, motion, "noise")


def main(name: str, file: str, threads: str) -> None:
    """Measure in this process and print the megabytes."""
    set_threads(int(threads))
    problem: Problem = pickle.loads(Path(file).read_bytes())
    attempt(METHODS[name], tiny(problem.motion))
    before = held()
    attempt(METHODS[name], problem)
    print(max(peak() - before, 0.0))


def held() -> float:
    """The current memory in MB; the peak is reset. Only Linux can: elsewhere it is the peak so far."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return _status("VmRSS")


def peak() -> float:
    """The peak memory of this process in MB."""
    if Path("/proc/self/status").exists():
        return _status("VmHWM")
    unit = 2**20 if sys.platform == "darwin" else 2**10  # macOS counts bytes, the others kB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _status(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main(*sys.argv[1:])
