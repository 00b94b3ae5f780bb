"""Stores calibrations as files beside their templates, or in the user's cache if that is not writable."""

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
"""The installed package, which contains the template of the demo. Nothing is written inside of it."""


MAX_BYTES = 16 * 2**20
"""Maximum size of a file of calibrations. A choice: the calibration for one range of poses takes 10 KB."""


Rotation = Annotated[float, Field(ge=0, le=180)]
"""± degrees."""

Scale = Annotated[float, Field(ge=1e-3, le=1e3)]
"""A scale; the bounds are wider than those of a detector, and than the scales tried beyond its range."""

MAX_VALUES = 100_000
"""Maximum number of values of one kind in a calibration. A choice: a few dozen scenes are measured, but a
template may have 500 parts, of which each pair may be listed as similar."""


class _ForeignFileError(Exception):
    """A file does not contain calibrations, so it is neither read nor replaced."""


class StoredCalibration(BaseModel):
    """What was measured for a template and a range of poses.

    Attributes:
        version: of the measurement.
        fingerprint: of the template.
        rotation, scale, tilt, polarity: the range.
        threshold: the minimum score of a detection.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    version: int
    fingerprint: str
    rotation: Rotation
    scale: tuple[Scale, Scale]
    tilt: Annotated[float, Field(ge=0, le=90)] = 0.0
    polarity: str = "same"
    threshold: float

    def __repr__(self) -> str:
        """Without the measured scores, which would fill a page; `model_dump` has them."""
        return f"{type(self).__name__}(threshold {self.threshold:.3f}, {self.range})"

    __str__ = __repr__

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
    """The folder for calibrations that cannot be written beside their templates; None if the user has no home
    folder."""
    try:
        return cache_folder("calibrations")
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class CalibrationStore(Generic[Kind]):
    """Stores calibrations of one kind; of each template, one for each range of poses.

    Arguments:
        kind: the class of the calibrations.
        version: of the measurement; calibrations of other versions are ignored.
        extension: of the file names.
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
            The file; None if no file can be written.
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
        """The files in which a template's calibration may be stored, in order of preference."""
        paths = []
        source = template.source
        # Beside the template first, so that the calibration is copied along with it.
        if source is not None and not source.resolve().is_relative_to(_PACKAGE):
            name = f"calibration.{self.extension}"
            paths.append(source / name if source.is_dir() else source.with_name(f"{source.stem}.{name}"))
        cache = cached_calibrations()
        if cache is not None:
            # Named by the fingerprint, so that two templates with the same name do not share a file.
            paths.append(cache / f"{template.fingerprint}.{self.extension}")
        return paths

    def _read(self, path: Path) -> list[Kind]:
        """All calibrations in a file; none if there is no file, it is foreign, or one of them is invalid."""
        try:
            return [self.kind.model_validate(record) for record in self._records(path)]
        except (_ForeignFileError, ValidationError):
            # Ignored instead of an error: a calibration can always be measured again.
            return []

    def _records(self, path: Path) -> list[dict[str, Any]]:
        """The unvalidated records of a file of calibrations; none if the file does not exist or is empty.

        Raises:
            _ForeignFileError: the file belongs to another program, such as the calibration of a camera.
        """
        try:
            # `lexists`, not `exists`: a dangling link is not a missing file but, as any link, a foreign one.
            if not os.path.lexists(path):
                return []
            # The size is checked before reading, so that a huge file cannot fill the memory.
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
        """Add a calibration to a file; False if the file cannot be written or belongs to another program."""
        try:
            self._records(path)
        except _ForeignFileError:
            return False
        # One file holds a calibration for each range of poses. Those of another version of the template or of
        # the measurement are dropped here.
        others = [c for c in self._read(path) if c.range != made.range]
        others = [c for c in others if c.fingerprint == made.fingerprint and c.version == self.version]
        text = json.dumps([c.model_dump(mode="json") for c in (*others, made)], indent=1)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.stat().st_mode & stat.S_IWUSR:
                return False  # read-only: root could write anyway, but should respect the mark
            # Atomic, because another process may read the file at the same time.
            with atomic_file(path) as partial:
                partial.write_text(text + "\n", encoding="utf-8")
        except OSError:
            return False
        return True
