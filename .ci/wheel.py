"""Build the wheel and use it as a user does: installed in a fresh environment, away from its sources.

`make wheel` runs it. It stops at the first check that fails.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

STARTED = time.perf_counter()
CHECKOUT = Path(__file__).resolve().parents[1]
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
PICTURE_FOLDERS = (
    "wherein/demo/robot/",
    "wherein/demo/gauge/",
    "wherein/detect/calibration/photographs/",
)
"""The only folders with pictures in the wheel."""
NEEDED = (
    "py.typed",
    "demo/robot/template.json",
    "demo/robot/torso.png",
    "demo/gauge/template.json",
    "demo/gauge/dial.png",
    "detect/calibration/photographs/brick.jpg",
    "native/align.c",
    "native/abi.h",
    "report/templates/page.css",
    "report/templates/page.html",
    "studio/page/index.html",
    "studio/page/main.js",
)
"""At least these, beside the modules: a build that takes only *.py would leave them out."""

EXTRAS: dict[str, tuple[int, *tuple[str, ...]]] = {
    "studio": (2, "studio", "--no-open"),
    "plots": (2, "reproduce", "fig4", "--quick"),
    "video": (3, "detect", "thing", "walk.mp4"),
}
"""For each extra a command that needs it, and the exit status of that command without it."""

sys.path.insert(0, str(CHECKOUT / "src"))  # these sources, whatever is installed

from wherein.native.compiler import CompilerError, find_compiler  # noqa: E402
from wherein.native.shipped import variants  # noqa: E402


def main() -> None:
    """All checks, in a folder that is removed afterwards."""
    with TemporaryDirectory(prefix="wherein-wheel-") as temporary:
        folder = Path(temporary)
        check_pure_wheel(folder / "pure")
        wheel = build(folder / "dist")
        check_archive(next((folder / "dist").glob("*.tar.gz")))
        check_wheel(wheel)
        Installation(wheel, folder).check()
    print(f"{wheel.name}: complete, and works on its own")


def build(folder: Path, *options: str, **environment: str) -> Path:
    """Build into a folder; without options the source archive, and the wheel from that."""
    log(f"building {' '.join((*options, *environment.values()))}")
    run(
        [sys.executable, "-m", "build", *options, "--outdir", str(folder), str(CHECKOUT)],
        CHECKOUT,
        **environment,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_pure_wheel(folder: Path) -> None:
    """Without a compiler the build gives a wheel for every platform, with no kernel."""
    wheel = build(folder, "--wheel", CC="no-such-compiler")
    check_equal(tag_of(wheel), "py3-none-any", wheel)
    check_equal({name for name in names_in(wheel) if name.endswith(".so")}, set(), wheel)


def check_archive(archive: Path) -> None:
    """The source archive has every file of the repository and nothing else."""
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    check_equal(names, repository_files() | {"PKG-INFO"}, archive)


def check_wheel(wheel: Path) -> None:
    """The wheel has every file of the package, the kernels of its platform, and nothing else."""
    about = f"{'-'.join(wheel.stem.split('-')[:2])}.dist-info"
    facts = {
        f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    package = {name.removeprefix("src/") for name in repository_files() if name.startswith("src/")}
    names = names_in(wheel)
    check_equal(names, package | facts | {f"wherein/native/{name}" for name in kernels()}, wheel)
    check_equal({f"wherein/{name}" for name in NEEDED} - names, set(), wheel)
    pictures = {name for name in names if name.lower().endswith(PICTURES)}
    check_equal({name for name in pictures if not name.startswith(PICTURE_FOLDERS)}, set(), wheel)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    check_equal(tag_of(wheel), f"py3-none-{platform if kernels() else 'any'}", wheel)


def kernels() -> list[str]:
    """The files of the kernel that a wheel that is built here should have."""
    try:
        find_compiler()
    except CompilerError:
        return []
    return [variant.name for variant in variants()] if sys.platform == "linux" else []


def repository_files() -> set[str]:
    """Tracked files, and new ones that are not ignored."""
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], CHECKOUT).splitlines()
    return {name for name in listed if (CHECKOUT / name).is_file()}  # not those that were just deleted


def names_in(wheel: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def tag_of(wheel: Path) -> str:
    """The tag in the metadata of a wheel, which that in its name has to equal."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/WHEEL"))
        lines = packed.read(name).decode().splitlines()
    (tag,) = (line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: "))
    check_equal("-".join(wheel.stem.split("-")[2:]), tag, wheel)
    return tag


class Installation:
    """The wheel in an environment of its own, without extras."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.version = wheel.stem.split("-")[1]
        self.bin, self.here = folder / "environment" / "bin", folder / "here"
        self.cache, self.no_programs = str(folder / "cache"), folder / "no-programs"
        self.here.mkdir()
        self.no_programs.mkdir()
        log("installing")
        run([sys.executable, "-m", "venv", str(self.bin.parent)], self.here)
        # torch first and pinned, as in `make setup`.
        for wanted in ("torch", str(wheel)):
            pip = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            run([*pip, "-c", str(CHECKOUT / "constraints.txt"), wanted], self.here)

    def wherein(self, *arguments: str, status: int = 0, compiler: bool = True) -> str:
        """Both outputs of a command; without a compiler, its PATH has no program at all."""
        log(f"wherein {' '.join(arguments)}{'' if compiler else ' (no compiler)'}")
        environment = {"XDG_CACHE_HOME": self.cache}
        if not compiler:
            environment |= {"PATH": str(self.no_programs), "CC": ""}
        return run([str(self.bin / "wherein"), *arguments], self.here, status, **environment)

    def check(self) -> None:
        """What a user does first."""
        check_equal(self.wherein("--version").split(), ["wherein", self.version], "--version")
        self.check_kernel()
        self.check_demo()
        self.check_own_template()
        self.check_extras()
        check_equal({path.name for path in self.here.iterdir()}, {"demo", "thing", "walk.mp4"}, "files")

    def check_kernel(self) -> None:
        """The shipped kernel is used where there is no compiler, and only there."""
        facts = json.loads(self.wherein("info", "--json", compiler=False))
        installed = [name for name, extra in facts["extras"].items() if extra["installed"]]
        check_equal(installed, [], "extras that are installed")
        check_equal(facts["kernel"]["source"], "shipped" if kernels() else None, "kernel without a compiler")
        if kernels():
            check_equal(
                Path(facts["kernel"]["file"]).name in kernels(), True, "the file of the kernel is shipped"
            )
            facts = json.loads(self.wherein("info", "--json"))
            check_equal(facts["kernel"]["source"], "compiled", "kernel with a compiler")

    def check_demo(self) -> None:
        """The demo runs without a compiler, and without photographs, which it says how to get."""
        output = self.wherein("demo", "--out", "demo", compiler=False)
        check_contains(output, "3 of 3 robots found")
        check_contains(output, "gauge: 5.4")
        check_contains(output, "pip install 'wherein[photos]'")
        written = {path.name for path in (self.here / "demo").iterdir()}
        robots, gauge = (
            {"scene.png", "robot.png", "report.html"},
            {"gauge_scene.png", "gauge.png", "gauge.html"},
        )
        check_equal(written, robots | gauge, "demo")

    def check_own_template(self) -> None:
        """A template that is cut out of a picture is found where it was, by either kernel."""
        self.wherein("template", "new", "demo/scene.png", "--box", "20", "30", "150", "140", "--out", "thing")
        for compiler in (True, False):
            command = ("detect", "thing", "demo/scene.png", "--rotation", "0", "--quiet")
            found = json.loads(self.wherein(*command, compiler=compiler))
            places = [[round(row[2]) for row in item["matrix"][:2]] for item in found["detections"]]
            check_equal(places, [[20, 30]], "where the thing is")

    def check_extras(self) -> None:
        """A command that needs an extra says which."""
        (self.here / "walk.mp4").touch()  # a file that is not there is refused before anything is imported
        for extra, (status, *arguments) in EXTRAS.items():
            check_contains(self.wherein(*arguments, status=status), f"pip install 'wherein[{extra}]'")


def run(command: Sequence[str], folder: Path, status: int = 0, **environment: str) -> str:
    """The outputs of a command, which finds none of these sources; exits if its status is another."""
    without = ("PYTHONPATH", "PYTHONHOME", "WHEREIN_NATIVE")
    away = {name: value for name, value in os.environ.items() if name not in without}
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
        sys.exit(f"{' '.join(command)} exited with {done.returncode}, not {status}:\n{done.stdout}")
    return done.stdout


def check_equal(found: object, expected: object, of: object) -> None:
    """Exit if they are not equal."""
    if found == expected:
        return
    if isinstance(found, set) and isinstance(expected, set):
        sys.exit(f"{of}: too much: {sorted(found - expected)}; missing: {sorted(expected - found)}")
    sys.exit(f"{of}: {found}, but {expected} was expected")


def check_contains(text: str, words: str) -> None:
    """Exit if the words are not in the text."""
    if words not in text:
        sys.exit(f"{words!r} is missing in:\n{text}")


def log(step: str) -> None:
    """With the seconds since the start."""
    print(f"{time.perf_counter() - STARTED:5.0f} s  {step}", flush=True)


if __name__ == "__main__":
    main()
