"""A file with what was measured for a template: beside it, or in the user's cache where that fails."""

import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from wherein.detect.fast.finder import Range
from wherein.files import atomic_file, cache_folder
from wherein.template import Template

_PACKAGE = Path(__file__).resolve().parents[1]
"""Ours, in which nothing is written: the demo's template lies there."""


class Record(BaseModel):
    """Something measured for a template and a range of poses.

    Attributes:
        version: of what is measured.
        fingerprint: of the template.
        rotation, scale: the range.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    version: int
    fingerprint: str
    rotation: float
    scale: tuple[float, float]

    def serves(self, template: Template, ranges: Range) -> bool:
        """Whether it was made for this template and this range of poses."""
        asked = ranges.rotation, ranges.scale
        return self.fingerprint == template.fingerprint and (self.rotation, self.scale) == asked


Kind = TypeVar("Kind", bound=Record)


def cached_calibrations() -> Path:
    """The folder for those that cannot lie beside their templates."""
    return cache_folder("calibrations")


@dataclass(frozen=True)
class Shelf(Generic[Kind]):
    """Keeps one kind of record, one for each range of poses.

    Arguments:
        kind: the model.
        version: records of others do not count.
        ending: of the files' names.
    """

    kind: type[Kind]
    version: int
    ending: str

    def kept(self, template: Template, ranges: Range) -> tuple[Kind, Path] | None:
        """What is kept for a template and a range of poses, and the file; None: there is nothing."""
        for place in self._places(template):
            for known in self._read(place):
                if known.version == self.version and known.serves(template, ranges):
                    return known, place
        return None

    def keep(self, template: Template, made: Kind) -> Path | None:
        """Keep a record in place of the one for the same range; in which file, None if in none."""
        return next((place for place in self._places(template) if self._keep(place, made)), None)

    def _places(self, template: Template) -> list[Path]:
        """Where it may lie, in the order in which to look."""
        places = [cached_calibrations() / f"{template.fingerprint}.{self.ending}"]
        source = template.source
        if source is not None and not source.resolve().is_relative_to(_PACKAGE):
            name = f"calibration.{self.ending}"
            places.insert(0, source / name if source.is_dir() else source.with_name(f"{source.stem}.{name}"))
        return places

    def _read(self, place: Path) -> list[Kind]:
        """All that are kept there; none where there is no file, or not one of ours."""
        try:
            records = json.loads(place.read_text(encoding="utf-8"))
            return [self.kind.model_validate(record) for record in records]
        except (OSError, ValueError, TypeError, RecursionError, ValidationError):
            return []

    def _keep(self, place: Path, made: Kind) -> bool:
        """Add one to those that are kept there; False where that cannot be written."""
        others = [c for c in self._read(place) if (c.rotation, c.scale) != (made.rotation, made.scale)]
        others = [c for c in others if c.fingerprint == made.fingerprint and c.version == self.version]
        text = json.dumps([c.model_dump(mode="json") for c in (*others, made)], indent=1)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.parent.stat().st_mode & stat.S_IWUSR:
                return False  # marked as not to be written, which for root is a request
            with atomic_file(place) as partial:
                partial.write_text(text + "\n", encoding="utf-8")
        except OSError:
            return False
        return True
