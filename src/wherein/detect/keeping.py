"""Where calibrations are kept: beside the template, or in the user's cache where that cannot be written."""

import json
import os
import stat
import tempfile
from pathlib import Path

from pydantic import ValidationError

from wherein.detect.calibrate import VERSION, Calibration, Progress, calibrate, quiet
from wherein.detect.finder import Range
from wherein.template import Template

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
    places = _places(template)
    for place in places:
        for kept in _read(place):
            if _fits(kept, template, ranges):
                return kept
    made = calibrate(template, ranges, progress=progress or quiet)
    for place in places:
        if _keep(place, made):
            break
    return made


def _fits(kept: Calibration, template: Template, ranges: Range) -> bool:
    return (
        kept.version == VERSION
        and kept.fingerprint == template.fingerprint
        and (kept.rotation, kept.scale) == (ranges.rotation, ranges.scale)
    )


def _places(template: Template) -> list[Path]:
    """Where it may lie, in the order in which to look."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()
    places = [cache / "wherein" / "calibrations" / f"{template.fingerprint}.json"]
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
    except (OSError, ValueError, TypeError, ValidationError):
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
        handle, partial = tempfile.mkstemp(dir=place.parent, prefix=".calibration-", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        Path(partial).chmod(0o644)
        Path(partial).replace(place)
    except OSError:
        return False
    return True
