"""`wherein detect --engine ray`: a cluster of two nodes, and what is left when one of them is lost."""

import importlib.util
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.ray_nodes import ray_nodes
from shared_runs import FIXED, finished, started, timeless, wait_for
from wherein.cli.main import app

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None or sys.platform == "win32",
    reason="Ray is not installed: pip install 'wherein[scale]'",
)


def test_a_node_is_lost(many: Path) -> None:
    """In the middle of a run: every scene has one line, the same as in one process."""
    for k in range(40):
        (many / "scenes" / f"more{k:02}.png").symlink_to("1.png")
    words = ["detect", str(many / "toy"), str(many / "scenes"), *FIXED]
    with ray_nodes() as nodes:
        where = ["--engine", "ray", "--address", nodes.address, "--resume", many / "run"]
        process = started(*words, *where, environment=nodes.environment)
        try:
            wait_for(lambda: finished(many / "run") >= 8, "nothing is finished")
            nodes.kill_node()
            there = finished(many / "run")
            printed, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert there < 50
    assert process.returncode == 4, errors
    alone = CliRunner().invoke(app, words)
    assert timeless(printed) == timeless(alone.stdout)
    assert errors == alone.stderr, "Ray says nothing of its own"
