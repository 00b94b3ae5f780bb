"""A Ray cluster of two nodes on this machine, one of which can be killed: `python -m benchmarks.ray_nodes`.

It prints the address, kills the second node when it reads a line, and stops at the end of its input. It is a
separate process, so that benchmarks and tests need not import Ray.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOPBACK = "127.0.0.1"
STORE = 100 * 2**20  # bytes


@dataclass(frozen=True)
class RayNodes:
    """A running cluster.

    Attributes:
        address: the address for `--address`.
        environment: environment variables for processes that connect to it, with its token.
        process: the process that runs it.
    """

    address: str
    environment: dict[str, str]
    process: subprocess.Popen[str]

    def kill_node(self) -> None:
        """Kill all processes of the second node; returns when they are gone."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "killed\n"


@contextmanager
def ray_nodes() -> Iterator[RayNodes]:
    """A cluster of two nodes with one CPU each, until the end of the block."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    environment = {**os.environ, **token, **quiet}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.ray_nodes"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise RuntimeError("no Ray cluster could be started")
        yield RayNodes(address, environment, process)
    finally:
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()


def main() -> None:
    """Run the cluster until the end of the input."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": STORE, "node_ip_address": LOOPBACK}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
