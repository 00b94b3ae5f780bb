"""Build wherein as others get it, and use it as they do: alone, in a fresh environment, far from its sources.

`make wheel` runs it. It stops at the first thing that is wrong.
"""

import json
import os
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

BEGAN = time.perf_counter()
CHECKOUT = Path(__file__).resolve().parents[1]
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
NEEDED = (
    "py.typed",
    "demo/robot/template.json",
    "demo/robot/torso.png",
    "native/align.c",
    "report/templates/page.css",
    "report/templates/page.html",
    "studio/page/index.html",
    "studio/page/main.js",
)
"""At least these, beside the modules: what a build that takes only *.py would leave out."""

EXTRAS: dict[str, tuple[int, *tuple[str, ...]]] = {
    "studio": (2, "studio", "--no-open"),
    "plots": (2, "reproduce", "fig4", "--quick"),
    "video": (3, "detect", "thing", "walk.mp4"),
}
"""What needs each of them on the command line, and how it ends without."""


def main() -> None:
    """All steps, in a folder that is gone afterwards."""
    with TemporaryDirectory(prefix="wherein-wheel-") as temporary:
        folder = Path(temporary)
        wheel = built(folder / "dist")
        Installed(wheel, folder).check()
    print(f"{wheel.name}: complete, and it works alone")


def built(folder: Path) -> Path:
    """The wheel, made from the source archive, both with what they should have and nothing else."""
    announce("building")
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(CHECKOUT)], CHECKOUT)
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    kept = set(run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], CHECKOUT).splitlines())
    kept = {name for name in kept if (CHECKOUT / name).is_file()}  # not those that were deleted just now
    with tarfile.open(archive) as files:
        same({name.partition("/")[2] for name in files.getnames()}, kept | {"PKG-INFO"}, archive)
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    about = f"{'-'.join(wheel.stem.split('-')[:2])}.dist-info"
    facts = {
        f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    same(names, {name.removeprefix("src/") for name in kept if name.startswith("src/")} | facts, wheel)
    same({f"wherein/{name}" for name in NEEDED} - names, set(), wheel)
    pictures = {name for name in names if name.lower().endswith(PICTURES)}
    same({name for name in pictures if not name.startswith("wherein/demo/robot/")}, set(), wheel)
    return wheel


class Installed:
    """The wheel in an environment of its own, with no extras."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.version = wheel.stem.split("-")[1]
        self.bin, self.here = folder / "environment" / "bin", folder / "here"
        self.cache = str(folder / "cache")  # so that it knows nothing from before
        self.here.mkdir()
        announce("installing")
        run([sys.executable, "-m", "venv", str(self.bin.parent)], self.here)
        # torch first and pinned, as `make setup` has it.
        for wanted in ("torch", str(wheel)):
            pip = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            run([*pip, "-c", str(CHECKOUT / "constraints.txt"), wanted], self.here)

    def wherein(self, *arguments: str, status: int = 0) -> str:
        """Both outputs of a command."""
        announce(f"wherein {' '.join(arguments)}")
        return run([str(self.bin / "wherein"), *arguments], self.here, status, XDG_CACHE_HOME=self.cache)

    def check(self) -> None:
        """As someone does who has just installed it."""
        same(self.wherein("--version").split(), ["wherein", self.version], "--version")
        told = json.loads(self.wherein("info", "--json"))
        same([name for name, extra in told["extras"].items() if extra["installed"]], [], "the extras here")
        self.check_demo()
        self.check_own_template()
        self.check_extras()
        same(listed(self.here), {"demo", "thing"}, "what was written")

    def check_demo(self) -> None:
        """It runs without photographs too, and says how to get them."""
        told = self.wherein("demo", "--out", "demo")
        has(told, "3 of 3 robots found")
        has(told, "pip install 'wherein[photos]'")
        same(listed(self.here / "demo"), {"scene.png", "robot.png", "report.html"}, "demo")

    def check_own_template(self) -> None:
        """One that is cut out of a picture is found where it was."""
        self.wherein("template", "new", "demo/scene.png", "--box", "20", "30", "150", "140", "--out", "thing")
        found = json.loads(self.wherein("detect", "thing", "demo/scene.png", "--rotation", "0", "--quiet"))
        places = [[round(row[2]) for row in item["matrix"]] for item in found["detections"]]
        same(places, [[20, 30]], "where the thing is")

    def check_extras(self) -> None:
        """Who lacks one is told which."""
        for extra, (status, *arguments) in EXTRAS.items():
            has(self.wherein(*arguments, status=status), f"pip install 'wherein[{extra}]'")


def run(command: Sequence[str], folder: Path, status: int = 0, **environment: str) -> str:
    """What a command says, where Python finds nothing of ours; the end where its status is another."""
    away = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**away, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != status:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}, not {status}:\n{done.stdout}")
    return done.stdout


def same(found: object, expected: object, of: object) -> None:
    """The end where they are not."""
    if found == expected:
        return
    if isinstance(found, set) and isinstance(expected, set):
        sys.exit(f"{of}: too much: {sorted(found - expected)}; missing: {sorted(expected - found)}")
    sys.exit(f"{of}: {found} where {expected} was expected")


def has(text: str, words: str) -> None:
    """The end where it has not."""
    if words not in text:
        sys.exit(f"this does not say {words!r}:\n{text}")


def listed(folder: Path) -> set[str]:
    """The names of what a folder has."""
    return {path.name for path in folder.iterdir()}


def announce(step: str) -> None:
    """With the seconds since the start."""
    print(f"{time.perf_counter() - BEGAN:5.0f} s  {step}", flush=True)


if __name__ == "__main__":
    main()
