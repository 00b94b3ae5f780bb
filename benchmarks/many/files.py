"""A template with its calibration and many scenes as files, and the command that searches them."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from benchmarks.measure import machine
from benchmarks.registration import Settings
from benchmarks.report import FORMAT
from benchmarks.subjects import FIXED, timed_subject
from benchmarks.workload import Workload, levels

HAS_RAY = find_spec("ray") is not None  # without Ray, rows that need it are omitted
COMMAND = [sys.executable, "-c", "from wherein.cli.main import main; main()"]
RANGE = ["--scale", "1", "1", "--tilt", "0"]  # the range of the calibration
KINDS = ("plain", "noise", "covered", "empty")
DIFFERENT = 12  # number of different scenes; the others are links to them, which saves time and disk space


@dataclass(frozen=True)
class Files:
    """The template and the scenes of a command.

    Attributes:
        root: the folder of all files.
        count: number of scenes.
    """

    root: Path
    count: int

    def command(self, *options: str | Path) -> list[str]:
        """The command `wherein detect` for all scenes."""
        words = [*COMMAND, "detect", self.root / "template", self.root / "scenes", *RANGE, "--quiet"]
        return [str(word) for word in (*words, *options)]

    def output(self, *options: str | Path, environment: dict[str, str] | None = None) -> str:
        """Run the command; returns its standard output."""
        ran = subprocess.run(
            self.command(*options), env=environment, capture_output=True, text=True, check=True
        )
        return ran.stdout


@contextmanager
def written(settings: Settings, count: int) -> Iterator[Files]:
    """Write the files to a folder that is deleted at the end of the block."""
    work, template = Workload.of(settings), timed_subject()
    with TemporaryDirectory(prefix="wherein-benchmark-") as name:
        root = Path(name)
        place = template.save(root / "template")
        calibration = work.calibrations.of(template, FIXED)
        text = json.dumps([calibration.model_dump(mode="json")])
        (place / "calibration.json").write_text(text, encoding="utf-8")
        (root / "scenes").mkdir()
        for k in range(count):
            path = root / "scenes" / f"{k:05}.png"
            if k < DIFFERENT:
                picture = work.scene(template, KINDS[k % len(KINDS)], k // len(KINDS), FIXED).picture
                Image.fromarray(levels(picture)).save(path)
            else:
                path.symlink_to(f"{k % DIFFERENT:05}.png")
        yield Files(root, count)


def timeless(text: str) -> str:
    """Lines of JSON without the times of the searches."""
    return re.sub(r'"seconds": [0-9.]+', "", text)


def finished(run: Path) -> int:
    """The number of finished shards of a run."""
    return len(list((run / "shards").glob("[!.]*.jsonl")))


def suite_report(
    suite: str, settings: Settings, sections: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """The report of a suite that consists of sections."""
    return {
        "format": FORMAT,
        "suite": suite,
        "command": f"python -m benchmarks {suite}" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings) | more,
        "machine": machine(settings.threads),
        "data": {"missing": [] if HAS_RAY else ["ray, of the extra scale"]},
        "sections": sections,
    }
