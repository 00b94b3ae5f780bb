"""Run a command and print its time and peak memory as JSON: `python -m benchmarks.launch COMMAND…`.

This launcher is a small separate process, because on Linux the peak memory of a child starts with the memory
of its parent: a child of the benchmark would seem to need at least as much memory as the benchmark itself.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]


def launched(command: list[str], timeout: float = 600) -> dict[str, float | str]:
    """Run a command; returns its seconds, its peak memory in MB, its exit status and its output."""
    launch = [sys.executable, "-m", "benchmarks.launch", *command]
    ran = subprocess.run(launch, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=True)
    return json.loads(ran.stdout)


def main(command: list[str]) -> None:
    """Run the command and print the numbers."""
    began = perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = perf_counter() - began
    unit = 2**20 if sys.platform == "darwin" else 2**10  # macOS counts bytes, the others kB
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    numbers = {"seconds": seconds, "peak_mb": peak, "status": ran.returncode, "output": ran.stdout}
    print(json.dumps(numbers | {"errors": ran.stderr[-2000:]}))


if __name__ == "__main__":
    main(sys.argv[1:])
