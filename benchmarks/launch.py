"""Run a command and print its time and peak memory as JSON: `python -m benchmarks.launch COMMAND…`.

This is a small separate process, because Linux counts the parent's memory at the start as the child's: a
child of the benchmark itself would seem to need at least as much memory as the benchmark.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]


def launched(command: list[str], timeout: float = 600) -> dict[str, float | str]:
    """Seconds, peak memory in MB, exit status and standard output of a command."""
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
