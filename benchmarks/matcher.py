"""The suite "matcher": a comparison with Fastest_Image_Pattern_Matching (FIPM), the fastest open matcher.

FIPM correlates grey pictures over rotations, with a pyramid and SSE. It does not support scales, tilt or
masks. Therefore wherein searches with `scale=1, tilt=0`. The environment variable FIPM is the path of FIPM's
program (../shared/peers explains how to build it). Without it, only wherein is measured.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

from benchmarks import photographs
from benchmarks.geometry import Array, Spline, apply, linear, pixels, rotation, shift
from benchmarks.measure import machine, set_threads, zncc
from benchmarks.real.common import OURS, MissingDataError, Picture, Plan, folder, interleaved, rgb, rigid
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.workload import aim, section

Pose = tuple[float, float, float]
"""FIPM's pose of an object: its rotation in degrees, and x and y of its centre."""

PEER = "FIPM"
MIN_SCORE, MIN_AREA = 0.8, 256  # parameters of FIPM: minimum NCC, and pixels of its coarsest template
REPEATS = 5
COLUMNS = (
    ("case", "case", "text"),
    ("wherein ms", "seconds", "ms"),
    ("found", "found", "number"),
    ("FIPM ms", "peer", "ms"),
    ("found ", "peer_found", "number"),
    ("ratio", "ratio", "number"),
    ("wherein ZNCC", "zncc", "number"),
    ("FIPM ZNCC", "peer_zncc", "number"),
    ("aim", "bound", "number"),
)
ABOUT = (
    "Both methods alternately on the same pictures; medians. FIPM: NCC ≥ 0.8, the same maximum number of "
    "objects as wherein. In the empty scenes, a patch of a photograph is searched for among the coils. ZNCC: "
    "between the grey template and the scene sampled at the found pose, at full size; the mean over objects "
    "wholly inside the picture."
)


@dataclass(frozen=True)
class Case:
    """A picture and a template in ../shared/real/industrial, and the parameters of both methods.

    Attributes:
        name: the name of the case.
        scene: the picture.
        template: a file, or the width and height of a patch of a photograph that is not in the picture.
        targets: maximum number of objects.
        rotation: the searched rotations, ± degrees.
        overlap: maximum overlap of two objects for FIPM.
        bound: the aim for the ratio of the times.
    """

    name: str
    scene: str
    template: str | tuple[int, int]
    targets: int
    rotation: float = 180.0
    overlap: float = 0.0
    bound: float = 1.0


CASES = (
    Case("LEDs, 2 Mpx", "scene3.png", "template3.png", 38),
    Case("LEDs, upright only", "scene3.png", "template3.png", 38, rotation=0.0, bound=3.0),
    Case("clips", "scene8.png", "template8.png", 5, overlap=0.8),
    Case("coils, 12 Mpx", "scene6.jpg", "template6.png", 15),
    Case("empty, 12 Mpx, large template", "scene6.jpg", (848, 446), 15, bound=3.0),
    Case("empty, 12 Mpx, small template", "scene6.jpg", (140, 102), 15, bound=0.5),
)


def run(settings: Settings, step: Step = silent, cases: Sequence[Case] = CASES) -> dict[str, Any]:
    """Measure all cases; `step` is called with the progress."""
    set_threads(settings.threads)
    at, program = machine(settings.threads), os.environ.get(PEER)
    missing = [] if program else [f"{PEER}: the environment variable {PEER} has no path of its program"]
    cases, rows = cases[:1] if settings.quick else cases, []
    try:
        pictures = folder("industrial")
    except MissingDataError as reason:
        missing, cases = [*missing, str(reason)], ()
    for done, case in enumerate(cases):
        step(f"matcher: {case.name}", done / len(cases))
        rows.append(measured(case, pictures, program, Plan.of(settings)))
    made = section("matcher", ABOUT, COLUMNS, rows=rows, targets=_aims(rows), losses=_losses(rows))
    return {
        "format": FORMAT,
        "suite": "matcher",
        "command": "python -m benchmarks matcher" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings),
        "machine": at,
        "data": {"missing": missing},
        "sections": [made],
    }


def measured(case: Case, pictures: Path, program: str | None, plan: Plan) -> dict[str, Any]:
    """The row of one case."""
    scene = rgb(pictures / case.scene)
    with TemporaryDirectory() as made:
        template = _template(case, pictures, Path(made))
        detector = plan.detector(
            rigid("part", template), rotation=case.rotation, scale=1, tilt=0, max_instances=case.targets
        )
        detector(scene)  # not timed: the first search makes data that later searches reuse
        with _matcher(program, pictures / case.scene, template, case) as match:
            calls: dict[str, Callable[[], Any]] = {OURS: partial(detector, scene)}
            if match is not None:
                calls[PEER] = match
            answers = interleaved(calls, 1 if plan.settings.quick else REPEATS)
        agreement = partial(_agreement, _grey(rgb(template)), _grey(scene))
        size = rgb(template).shape[1::-1]
    found = answers[OURS]
    row = {"case": case.name, "seconds": found.seconds, "found": len(found.value)}
    row["zncc"] = agreement([one.matrix for one in found.value])
    if PEER in answers:
        peer = answers[PEER]
        row |= {"peer": peer.seconds, "peer_found": len(peer.value), "ratio": row["seconds"] / peer.seconds}
        row["peer_zncc"] = agreement([_matrix(pose, size) for pose in peer.value])
    return row | {"bound": case.bound}


def _grey(picture: Picture) -> Array:
    """A picture (H, W, 3) in grey, (H, W, 1), from 0 to 1."""
    return np.asarray(Image.fromarray(picture).convert("L"), dtype=np.float64)[..., None] / 255


def _agreement(template: Array, scene: Array, matrices: Sequence[Array]) -> float | None:
    """The mean ZNCC of a template with the scene, over the poses at which it is wholly inside the scene."""
    height, width = template.shape[:2]
    points, sampled, found = pixels(width, height), Spline(scene, order=3), []
    for matrix in matrices:
        places = apply(matrix, points)
        if bool(np.all((places >= 0) & (places <= np.array(sampled.size) - 1))):
            found.append(zncc(template.reshape(-1, 1), sampled(places)))
    return float(np.mean(found)) if found else None


def _matrix(pose: Pose, size: tuple[int, int]) -> Array:
    """The matrix of a pose of FIPM, whose angles have the opposite sign, and whose centres are shifted by
    half a pixel."""
    degrees, x, y = pose
    middle = (size[0] - 1) / 2, (size[1] - 1) / 2
    return shift(x - 0.5, y - 0.5) @ linear(rotation(-degrees)) @ shift(-middle[0], -middle[1])


def _template(case: Case, pictures: Path, made: Path) -> Path:
    """The file of the template; a patch of a photograph is written first."""
    if isinstance(case.template, str):
        return pictures / case.template
    picture: Picture = photographs.load("chelsea")
    patch = Image.fromarray(picture[40:260, 60:440]).resize(case.template, Image.Resampling.LANCZOS)
    patch.convert("L").save(made / "patch.png")
    return made / "patch.png"


@contextmanager
def _matcher(
    program: str | None, scene: Path, template: Path, case: Case
) -> Iterator[Callable[[], list[Pose]] | None]:
    """A function that has FIPM match once and returns the found poses; None without the program."""
    if program is None:
        yield None
        return
    numbers = (case.targets, MIN_SCORE, case.rotation, case.overlap, MIN_AREA)
    with subprocess.Popen(
        [program, str(scene), str(template), *map(str, numbers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None, "both are pipes"
        process.stdout.readline()  # FIPM prints a line when it has read the pictures and learned the template

        def match() -> list[Pose]:
            process.stdin.write("\n")
            process.stdin.flush()
            count = found_in(process.stdout.readline())
            lines = [process.stdout.readline().split() for _ in range(count)]
            return [(float(degrees), float(x), float(y)) for _, degrees, x, y in lines]

        match()
        yield match
        process.stdin.close()


def found_in(line: str) -> int:
    """The number of objects that FIPM found, from its line "ms T cpu T n N"."""
    words = line.split()
    return int(words[words.index("n") + 1])


def _aims(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [aim(f"{row['case']}: times FIPM", "<=", row["bound"], row.get("ratio")) for row in rows]


def _losses(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A sentence for each case in which FIPM is faster, finds more or agrees better."""
    slower = [
        f"matcher: {row['case']}: {row['ratio']:.2f} times the time of FIPM"
        for row in rows
        if row.get("ratio", 0) > 1
    ]
    fewer = [
        f"matcher: {row['case']}: {row['found']} found, FIPM {row['peer_found']}"
        for row in rows
        if row.get("peer_found", 0) > row["found"]
    ]
    worse = [
        f"matcher: {row['case']}: ZNCC {row['zncc']:.3f}, FIPM {row['peer_zncc']:.3f}"
        for row in rows
        if (row.get("peer_zncc") or -1) > (row.get("zncc") or -1)
    ]
    return slower + fewer + worse
