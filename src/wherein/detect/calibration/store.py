"""Calibrations on disk: beside the template, or in the user's cache where that cannot be written."""

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wherein.detect.search_range import Range
from wherein.files import atomic_file, cache_folder
from wherein.template.bundle import Template

_PACKAGE = Path(__file__).resolve().parents[2]
"""Nothing is written inside the installed package, where the template of the demo is."""


MAX_BYTES = 16 * 2**20
"""Maximum size of a file of calibrations. A choice: one for a range of poses takes 10 KB."""


Rotation = Annotated[float, Field(ge=0, le=180)]
"""± degrees."""

Scale = Annotated[float, Field(ge=1e-3, le=1e3)]
"""A factor; further than a detector accepts, and than what is tried beyond its range."""

MAX_VALUES = 100_000
"""Maximum number of values of a kind in a calibration. A choice: a few dozen scenes are measured, and 500
parts could be compared with each other in pairs."""


class _ForeignFileError(Exception):
    """A file is not one of calibrations: it is not read, and not replaced."""


class StoredCalibration(BaseModel):
    """What was measured for a template and a range of poses.

    Attributes:
        version: of the measurement.
        fingerprint: of the template.
        rotation, scale, tilt, polarity: the range.
        threshold: the lowest score of a detection.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    version: int
    fingerprint: str
    rotation: Rotation
    scale: tuple[Scale, Scale]
    tilt: Annotated[float, Field(ge=0, le=90)] = 0.0
    polarity: str = "same"
    threshold: float

    def serves(self, template: Template, ranges: Range) -> bool:
        """Whether it was measured for this template and this range of poses."""
        return self.fingerprint == template.fingerprint and self.range == ranges

    @property
    def range(self) -> Range:
        """The poses that it was measured for."""
        return Range(self.rotation, self.scale, self.tilt, self.polarity)


Kind = TypeVar("Kind", bound=StoredCalibration)

Progress = Callable[[float, str], None]
"""Called during a measurement with the fraction that is done, and what is being done."""


def no_progress(fraction: float, step: str) -> None:
    """A `Progress` that shows nothing."""


def cached_calibrations() -> Path | None:
    """The folder for calibrations that cannot be written beside their templates; None without a home."""
    try:
        return cache_folder("calibrations")
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class CalibrationStore(Generic[Kind]):
    """Stores one kind of calibration, one for each range of poses.

    Arguments:
        kind: the model.
        version: calibrations of other versions are ignored.
        extension: of the files' names.
    """

    kind: type[Kind]
    version: int
    extension: str

    def load(self, template: Template, ranges: Range) -> tuple[Kind, Path] | None:
        """The stored calibration for a template and a range of poses, and its file; None if there is none."""
        for path in self._paths(template):
            for known in self._read(path):
                if known.version == self.version and known.serves(template, ranges):
                    return known, path
        return None

    def save(self, template: Template, made: Kind) -> Path | None:
        """Store a calibration, in place of one for the same range.

        Returns:
            The file; None if none can be written.
        """
        return next((path for path in self._paths(template) if self._write(path, made)), None)

    def load_or_measure(self, template: Template, ranges: Range, measure: Callable[[], Kind]) -> Kind:
        """The stored calibration, or a new one, which is then stored."""
        stored = self.load(template, ranges)
        if stored is not None:
            return stored[0]
        made = measure()
        self.save(template, made)
        return made

    def _paths(self, template: Template) -> list[Path]:
        """The files in which it may be stored, in order of preference."""
        paths = []
        source = template.source
        if source is not None and not source.resolve().is_relative_to(_PACKAGE):
            name = f"calibration.{self.extension}"
            paths.append(source / name if source.is_dir() else source.with_name(f"{source.stem}.{name}"))
        cache = cached_calibrations()
        if cache is not None:
            # By fingerprint in the cache, so that two templates of one name do not share a file.
            paths.append(cache / f"{template.fingerprint}.{self.extension}")
        return paths

    def _read(self, path: Path) -> list[Kind]:
        """All calibrations in a file; none if there is no file, it is not ours, or one of them is invalid."""
        try:
            return [self.kind.model_validate(record) for record in self._records(path)]
        except (_ForeignFileError, ValidationError):
            return []  # a calibration can always be measured again

    def _records(self, path: Path) -> list[dict[str, Any]]:
        """What a file of ours holds: nothing, if there is none or it is empty.

        Raises:
            _ForeignFileError: it belongs to another program, such as the calibration of a camera.
        """
        try:
            if not os.path.lexists(path):
                return []
            if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
                raise _ForeignFileError
            records = json.loads(path.read_text(encoding="utf-8") or "[]")
        except (OSError, ValueError, RecursionError) as error:
            raise _ForeignFileError from error
        ours = self.kind.model_fields["format"].default
        if not isinstance(records, list) or not all(
            isinstance(record, dict) and record.get("format") == ours for record in records
        ):
            raise _ForeignFileError
        return records

    def _write(self, path: Path, made: Kind) -> bool:
        """Add a calibration to a file; False if that cannot be written, or belongs to another program."""
        try:
            self._records(path)
        except _ForeignFileError:
            return False
        # One file holds a calibration for each range of poses. Outdated ones are dropped on the way.
        others = [c for c in self._read(path) if c.range != made.range]
        others = [c for c in others if c.fingerprint == made.fingerprint and c.version == self.version]
        text = json.dumps([c.model_dump(mode="json") for c in (*others, made)], indent=1)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.stat().st_mode & stat.S_IWUSR:
                return False  # marked as read-only, which root could ignore but should respect
            with atomic_file(path) as partial:
                partial.write_text(text + "\n", encoding="utf-8")
        except OSError:
            return False
        return True
