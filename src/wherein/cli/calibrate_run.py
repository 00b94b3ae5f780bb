"""The work of `wherein calibrate`: read backgrounds, calibrate, store the calibration, describe it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wherein.cli.console import SOME_UNREADABLE, Console, UnreadableError
from wherein.cli.input_files import list_scenes, load_library, read_picture
from wherein.detect.calibration.measure import MAX_BACKGROUNDS, SCENE_SIZE, calibrate
from wherein.detect.calibration.model import STORE, Calibration
from wherein.detect.search_range import Range
from wherein.engine.processes import in_processes
from wherein.errors import ArgumentError
from wherein.template.bundle import Template
from wherein.template.template_library import Library

_SCORES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Scores for which false-alarm rates are listed. A choice."""


@dataclass(frozen=True)
class CalibrateResult:
    """A calibration, and where it is stored.

    Attributes:
        template: the calibrated template.
        calibration: the calibration.
        path: the file in which it is stored; None if it could not be written.
        new: whether it was measured now, and not loaded.
        skipped: the number of backgrounds that could not be used.
        suspects: backgrounds that may show the object.
    """

    template: Template
    calibration: Calibration
    path: Path | None
    new: bool
    skipped: int = 0
    suspects: tuple[Path, ...] = ()

    @property
    def exit_status(self) -> int:
        """0: success; 4: some backgrounds could not be used."""
        return SOME_UNREADABLE if self.skipped else 0


@dataclass(frozen=True)
class CalibrateRun:
    """Calibrates templates, one after the other or several in parallel.

    Attributes:
        library: the path from which the templates are loaded.
        ranges: the rotations, scales and tilts that will be searched, by the name of the template.
        backgrounds: a folder of pictures without the object; None: synthetic clutter.
        overwrite: whether to measure a new calibration even if one is stored.
        console: shows progress, and a message for each background that cannot or should not be used.
    """

    library: str
    ranges: Mapping[str, Range]
    backgrounds: Path | None
    overwrite: bool
    console: Console

    def __call__(self, templates: Sequence[Template], workers: int = 1) -> Iterator[CalibrateResult]:
        """Load the stored calibration of each template, or measure a new one and store it.

        Arguments:
            templates: the templates that will be searched for.
            workers: the number of templates that are measured in parallel, each in its own process.

        Raises:
            ArgumentError: a calibration is stored, so that the backgrounds would not be used.
            UnreadableError: no background can be used.
        """
        # All are checked before the first is measured: an error must not come after minutes of work.
        stored = {one.name: self._stored(one) for one in templates}
        missing = [name for name, known in stored.items() if known is None]
        pictures, skipped = list[Path](), 0
        # Backgrounds are decoded to be checked, which takes time: only if they are needed.
        if missing and self.backgrounds is not None:
            pictures, skipped = _usable(self.backgrounds, self.console)
        made: dict[str, tuple[Calibration, Path | None]] = {}
        if workers > 1 and len(missing) > 1:
            made = self._side_by_side({one.name: one for one in templates}, missing, pictures, workers)
        for one in templates:
            known = stored[one.name]
            if known is not None:
                yield CalibrateResult(one, *known, new=False)
            else:
                new, path = made[one.name] if made else self._measured(one, pictures)
                yield CalibrateResult(one, new, path, True, skipped, self._suspects(new, pictures))

    def _stored(self, template: Template) -> tuple[Calibration, Path] | None:
        stored = None if self.overwrite else STORE.load(template, self.ranges[template.name])
        if stored is not None and self.backgrounds is not None:
            raise ArgumentError(
                f"{stored[1]} already has a calibration for this rotation, scale and tilt: "
                "use --overwrite to calibrate again"
            )
        return stored

    def _measured(self, template: Template, pictures: Sequence[Path]) -> tuple[Calibration, Path | None]:
        with torch.no_grad(), self.console.progress(f"Calibrating {template.name}") as progress:
            made = calibrate(template, self.ranges[template.name], _Pictures(pictures), progress=progress)
        return made, STORE.save(template, made)

    def _side_by_side(
        self, templates: Mapping[str, Template], names: Sequence[str], pictures: Sequence[Path], workers: int
    ) -> dict[str, tuple[Calibration, Path | None]]:
        """Measure several calibrations in parallel, by the names of the templates.

        Each is stored as soon as it is measured, so that an interruption loses only those in progress.
        """
        made: dict[str, tuple[Calibration, Path | None]] = {}
        job = CalibrateJob(self.library, dict(self.ranges), tuple(pictures))
        with (
            self.console.progress(f"Calibrating {len(names)} templates") as progress,
            closing(in_processes(job, names, workers)) as done,
        ):
            for name, calibration in done:
                made[name] = calibration, STORE.save(templates[name], calibration)
                progress(len(made) / len(names), name)
        return made

    def _suspects(self, made: Calibration, pictures: Sequence[Path]) -> tuple[Path, ...]:
        suspects = tuple(pictures[index] for index in made.suspects)
        for path in suspects:
            self.console.warning(
                f"{path}: something in this background scores as high as the object. If it shows the "
                "object, remove it and calibrate again with --overwrite."
            )
        return suspects


@dataclass(frozen=True)
class CalibrateJob:
    """The data with which a process calibrates templates of a library; attributes as in `CalibrateRun`."""

    library: str
    ranges: dict[str, Range]
    pictures: tuple[Path, ...]

    def __call__(self) -> Callable[[str], tuple[str, Calibration]]:
        """In a worker: returns a function that measures the calibration of a template, given its name."""
        return partial(self._measure, load_library(self.library))

    def _measure(self, library: Library, name: str) -> tuple[str, Calibration]:
        with torch.no_grad():
            return name, calibrate(library.by_name[name], self.ranges[name], _Pictures(self.pictures))


def to_record(result: CalibrateResult) -> dict[str, Any]:
    """The calibration as a dictionary for JSON."""
    known, limits = result.calibration, result.calibration.limits
    return {
        "template": result.template.name,
        "rotation": known.rotation,
        "scale": list(known.scale),
        "tilt": known.tilt,
        "threshold": known.threshold,
        "separates": known.separates,
        "false_alarms_per_megapixel": {
            f"{score:g}": known.false_alarms(score) for score in sorted({*_SCORES, round(known.threshold, 4)})
        },
        "clutter": [known.clutter[0], known.clutter[-1]],
        "present": [known.present[0], known.present[-1]],
        "found_within": {"rotation": limits.rotation, "scale": list(limits.scale)},
        "confused": [{"parts": [a, b], "zncc": zncc} for a, b, zncc in known.confused],
        "suspects": [str(path) for path in result.suspects],
        "kept": None if result.path is None else str(result.path),
        "new": result.new,
    }


def describe(result: CalibrateResult) -> Iterator[str]:
    """The calibration as lines of text."""
    known, limits = result.calibration, result.calibration.limits
    low, high = known.scale
    scales = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    tilt = f"tilt up to {known.tilt:g}°" if known.tilt else "no tilt"
    yield f"{result.template.name}: calibrated for rotation ±{known.rotation:g}°, scale {scales}, {tilt}"
    yield f"threshold: {known.threshold:.3f}"
    yield f"scores without the object: up to {known.clutter[-1]:.3f} ({len(known.clutter)} test scenes)"
    yield f"scores with the object: {known.present[0]:.3f} or more ({len(known.present)} test scenes)"
    yield from _false_alarms(known)
    low, high = limits.scale
    yield f"detection limits, joints at rest: rotation ±{limits.rotation:g}°, scale {low:.2f} to {high:.2f}"
    yield from (f"warning: {text}" for text in known.warnings)
    if len(result.template.parts.leaves) > 1 and not known.confused:
        yield "no two parts look alike"
    if result.path is not None:
        yield f"stored in {result.path}" + ("" if result.new else "; use --overwrite to calibrate again")


def _false_alarms(known: Calibration) -> Iterator[str]:
    rates: dict[str, float] = {}  # the lowest score of each text, since all very low rates have the same text
    for score in (known.threshold, *(score for score in _SCORES if score > known.threshold)):
        # Scores are ascending: the first score of each text is the lowest.
        rates.setdefault(known.describe_false_alarms(score), score)
    yield from (f"false alarms at score {score:.2f}: {rate}" for rate, score in rates.items())


class _Pictures(Sequence[Tensor]):
    """A sequence of pictures that are read on access, because together they may not fit into memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        return read_picture(self.paths[index], "background").pixels


def _usable(folder: Path, console: Console) -> tuple[list[Path], int]:
    """The first usable backgrounds of a folder, and the number of unusable ones among them."""
    usable: list[Path] = []
    skipped = 0
    for scene in list_scenes([str(folder)]).scenes:
        if len(usable) == MAX_BACKGROUNDS:
            console.warning(
                f"{folder} has more than {MAX_BACKGROUNDS} pictures: only the first {MAX_BACKGROUNDS} are "
                "used"
            )
            break
        try:
            # Decoded now: a damaged picture must not end the calibration after minutes.
            _check_background(scene.path, scene.error)
            usable.append(scene.path)
        except UnreadableError as error:
            skipped += 1
            console.warning(str(error))
    if not usable:
        raise UnreadableError("background", folder, f"no picture in {folder} can be used as a background")
    return usable, skipped


def _check_background(path: Path, error: str | None) -> None:
    """Raise `UnreadableError` unless a path is a picture that is large enough for a test scene."""
    if error is not None:
        raise UnreadableError("background", path, f"{path}: {error}")
    height, width = read_picture(path, "background").samples.shape[-2:]
    min_width, min_height = SCENE_SIZE
    if width < min_width or height < min_height:
        message = (
            f"{path} is {width} × {height} pixels: a background must be at least {min_width} × {min_height}"
        )
        raise UnreadableError("background", path, message)
