"""What `wherein calibrate` does, between its arguments and what it says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wherein.cli.output import SOME_UNREADABLE
from wherein.cli.scenes import given
from wherein.cli.work import UnreadableError, read
from wherein.detect import Calibration, calibrate
from wherein.detect.calibration.keeping import keep, kept
from wherein.detect.calibration.measure import MOST, SIZE, Progress
from wherein.detect.fast.finder import Range
from wherein.errors import ArgumentError
from wherein.template import Template

_SCORES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Of which it is told how often they come by chance."""


@dataclass(frozen=True)
class Calibrated:
    """A calibration and what became of it.

    Attributes:
        template: whose it is.
        known: what was measured.
        place: the file that it is kept in; None where it could not be written.
        new: whether it was made just now.
        skipped: how many backgrounds could not be used.
    """

    template: Template
    known: Calibration
    place: Path | None
    new: bool
    skipped: int = 0
    suspects: tuple[Path, ...] = ()

    @property
    def status(self) -> int:
        """0 done, 4 some backgrounds could not be used."""
        return SOME_UNREADABLE if self.skipped else 0


def calibrated(
    template: Template,
    ranges: Range,
    backgrounds: Path | None,
    overwrite: bool,
    progress: Progress,
    warn: Callable[[str], None],
) -> Calibrated:
    """The calibration that is kept, or a new one, which is then kept.

    Arguments:
        template: what is to be found.
        ranges: the poses in which it is to be found.
        backgrounds: a folder of pictures without it; clutter made by rule where there is none.
        overwrite: make a new one even if one is kept.
        progress: is told how far a new one is.
        warn: is told of each background that cannot be used, or should not be.

    Raises:
        ArgumentError: one is kept, so that backgrounds would be of no use.
        UnreadableError: no background can be used.
    """
    before = kept(template, ranges)
    if before is not None and not overwrite:
        if backgrounds is not None:
            raise ArgumentError(f"a calibration is kept in {before[1]}; --overwrite makes it anew")
        return Calibrated(template, *before, new=False)
    pictures, skipped = _usable(backgrounds, warn) if backgrounds is not None else ([], 0)
    with torch.no_grad():
        made = calibrate(template, ranges, _Pictures(pictures), progress=progress)
    suspects = tuple(pictures[index] for index in made.suspects)
    for path in suspects:
        warn(
            f"{path}: something in it scores as the template itself does; if it shows the object, "
            "leave it out and calibrate anew with --overwrite"
        )
    return Calibrated(template, made, keep(template, made), True, skipped, suspects)


def record(of: Calibrated) -> dict[str, Any]:
    """What was found, for JSON."""
    known, limits = of.known, of.known.limits
    return {
        "template": of.template.name,
        "rotation": known.rotation,
        "scale": list(known.scale),
        "threshold": known.threshold,
        "separates": known.separates,
        "false_alarms_per_megapixel": {
            f"{score:g}": known.false_alarms(score) for score in sorted({*_SCORES, round(known.threshold, 4)})
        },
        "clutter": [known.clutter[0], known.clutter[-1]],
        "present": [known.present[0], known.present[-1]],
        "found_within": {"rotation": limits.rotation, "scale": list(limits.scale)},
        "confused": [{"parts": [a, b], "zncc": zncc} for a, b, zncc in known.confused],
        "suspects": [str(path) for path in of.suspects],
        "kept": None if of.place is None else str(of.place),
        "new": of.new,
    }


def in_words(of: Calibrated) -> Iterator[str]:
    """The same, a line at a time."""
    known, limits = of.known, of.known.limits
    low, high = known.scale
    scales = f"scale {low:g}" if low == high else f"scales {low:g} to {high:g}"
    yield f"{of.template.name}: calibrated for rotations within ±{known.rotation:g}°, {scales}"
    yield f"least score of a detection: {known.threshold:.3f}"
    yield (
        f"scores without it: up to {known.clutter[-1]:.3f} in {len(known.clutter)} scenes; "
        f"with it: from {known.present[0]:.3f} in {len(known.present)}"
    )
    chances: dict[str, float] = {}  # each once: beyond a rarity all are told alike
    for score in (known.threshold, *(score for score in _SCORES if score > known.threshold)):
        chances.setdefault(known.describe_false_alarms(score), score)
    yield from (f"a score of {score:.2f} comes by chance {chance}" for chance, score in chances.items())
    yield (
        f"at rest it is still found within ±{limits.rotation:g}° and at scales "
        f"{limits.scale[0]:.2f} to {limits.scale[1]:.2f}"
    )
    yield from (f"mind that {doubt}" for doubt in known.doubts)
    if len(of.template.parts.leaves) > 1 and not known.confused:
        yield "no two of its parts look alike"
    if of.place is not None:
        yield f"kept in {of.place}" + ("" if of.new else " since before; --overwrite makes it anew")


class _Pictures(Sequence[Tensor]):
    """Pictures that are read when they are asked for: together they may be larger than the memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        return read(self.paths[index], "background").pixels


def _usable(folder: Path, warn: Callable[[str], None]) -> tuple[list[Path], int]:
    """The first pictures in a folder that can be read and are large enough, and how many before were not."""
    usable: list[Path] = []
    skipped = 0
    for scene in given([str(folder)]):
        if len(usable) == MOST:
            warn(f"{folder} has more pictures than the {MOST} that are used")
            break
        try:
            usable.append(_large(scene.path, scene.error))
        except UnreadableError as error:
            skipped += 1
            warn(str(error))
    if not usable:
        raise UnreadableError("background", folder, f"{folder} has no picture that can be a background")
    return usable, skipped


def _large(path: Path, error: str | None) -> Path:
    """The path, if there is a picture in which a template can be looked for."""
    if error is not None:
        raise UnreadableError("background", path, f"{path}: {error}")
    height, width = read(path, "background").pixels.shape[-2:]
    if width < SIZE[0] or height < SIZE[1]:
        words = f"{path} is {width} × {height}: a background must have {SIZE[0]} × {SIZE[1]} pixels or more"
        raise UnreadableError("background", path, words)
    return path
