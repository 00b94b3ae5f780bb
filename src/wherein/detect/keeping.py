"""Where calibrations are kept: beside the template, or in the user's cache where that cannot be written."""

import json
import stat
from pathlib import Path

from pydantic import ValidationError

from wherein.caching import cache_folder
from wherein.detect.calibrate import VERSION, Calibration, Progress, calibrate, quiet
from wherein.detect.finder import Range
from wherein.template import Template
from wherein.whole import whole

_FILE = "calibration.json"

_PACKAGE = Path(__file__).resolve().parents[1]
"""Ours, in which nothing is written: the demo's template lies there."""


def calibration_for(template: Template, ranges: Range, progress: Progress | None = None) -> Calibration:
    """The calibration of a template for a range of poses: the kept one, or a new one, which is then kept.

    Arguments:
        template: loaded from a folder or a .zip, or made in memory.
        ranges: the poses that are looked for.
        progress: is told how far a new one is.
    """
    before = kept(template, ranges)
    if before is not None:
        return before[0]
    made = calibrate(template, ranges, progress=progress or quiet)
    keep(template, made)
    return made


def kept(template: Template, ranges: Range) -> tuple[Calibration, Path] | None:
    """The calibration that is kept for a template and a range of poses, and the file; None: there is none."""
    for place in _places(template):
        for known in _read(place):
            if known.version == VERSION and known.serves(template, ranges):
                return known, place
    return None


def keep(template: Template, made: Calibration) -> Path | None:
    """Keep a calibration in place of the one for the same range; in which file, None if in none."""
    return next((place for place in _places(template) if _keep(place, made)), None)


def cached_calibrations() -> Path:
    """The folder for those that cannot lie beside their templates."""
    return cache_folder("calibrations")


def _places(template: Template) -> list[Path]:
    """Where it may lie, in the order in which to look."""
    places = [cached_calibrations() / f"{template.fingerprint}.json"]
    source = template.source
    if source is not None and not source.resolve().is_relative_to(_PACKAGE):
        beside = source / _FILE if source.is_dir() else source.with_name(f"{source.stem}.{_FILE}")
        places.insert(0, beside)
    return places


def _read(place: Path) -> list[Calibration]:
    """All that are kept there; none where there is no file, or not one of ours."""
    try:
        records = json.loads(place.read_text(encoding="utf-8"))
        return [Calibration.model_validate(record) for record in records]
    except (OSError, ValueError, TypeError, RecursionError, ValidationError):
        return []


def _keep(place: Path, made: Calibration) -> bool:
    """Add one to those that are kept there; False where that cannot be written."""
    others = [c for c in _read(place) if (c.rotation, c.scale) != (made.rotation, made.scale)]
    others = [c for c in others if c.fingerprint == made.fingerprint and c.version == VERSION]
    text = json.dumps([c.model_dump(mode="json") for c in (*others, made)], indent=1)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.parent.stat().st_mode & stat.S_IWUSR:
            return False  # marked as not to be written, which for root is a request
        with whole(place) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
    except OSError:
        return False
    return True
