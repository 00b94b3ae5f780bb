"""The searches of a detector: one for each template, with its calibration and its threshold."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from wherein.detect.calibration.false_alarms import MOST_ALARMS, MOST_OF_ALL, equal_rate, threshold_among
from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.store import Progress, StoredCalibration, no_progress
from wherein.detect.calibration.together import calibrations_together
from wherein.detect.fast.shared_search import MAX_ALONE
from wherein.detect.methods import FastSearch, Search
from wherein.detect.score import MAX_ZNCC, score_with_rate
from wherein.detect.search_range import Range
from wherein.errors import ArgumentError, TemplateError, require
from wherein.progress_line import ProgressLine, is_watched
from wherein.template.bundle import Template
from wherein.template.template_library import Library
from wherein.thresholds import MinScore

_MIN_THRESHOLD = 0.6
"""The lowest threshold of a template of a library that is searched for together. A choice, by measurement
with 100 cut-outs and patches: calibration scenes show clutter, and other objects resemble a template more;
what is there and was found scores more."""

GivenCalibration = StoredCalibration | Mapping[str, StoredCalibration] | None
"""A calibration as it is given to a detector: of its template, or of several by name, or none."""


def prepared_searches(
    library: Library,
    ranges: Range,
    method: type[Search],
    least: MinScore,
    calibration: GivenCalibration,
    threads: int | None,
    progress: Progress | None,
    overlap: float,
) -> dict[str, Search]:
    """The search for each template of a library, by its name.

    Arguments:
        library: the templates.
        ranges: in which poses they are searched for.
        method: of the search.
        least: the lowest score of a detection, or the rate of false alarms that is allowed; if it has
            neither, thresholds follow from the calibrations.
        calibration: what was given; the rest is loaded, or measured.
        threads, progress, overlap: as of `Search.prepare`.

    Raises:
        ArgumentError: a calibration was given for something else, or the method has no rates.
        TemplateError: there is nothing to see of a template.
    """
    for one in library.templates:
        _check_visible(one)
    known = dict(_given(calibration, library))
    if len(library) > MAX_ALONE:
        missing = [one for one in library.templates if one.name not in known]
        known |= calibrations_together(missing, ranges, progress or no_progress)
    searches = {
        one.name: method.prepare(
            one,
            ranges,
            known.get(one.name),
            least.score,
            threads,
            _share_of(progress, library, number),
            overlap,
        )
        for number, one in enumerate(library.templates)
    }
    if least.per_megapixel is not None:
        _set_rate(searches, least.per_megapixel / len(library))
    elif least.score is None and len(library) > 1:
        _limit_false_alarms(searches)
    return searches


def _check_visible(template: Template) -> None:
    """Raise `TemplateError` for a template that is one even rectangle: before a minute of calibration, and
    with its name."""
    motifs = [part.motif for part in template.parts.values() if part.motif is not None]
    if all(bool((one.mask == 1).all() and (one.pixels == one.pixels[:, :1, :1]).all()) for one in motifs):
        raise TemplateError(
            f'the template "{template.name}" has neither texture nor an outline, so nothing can be found by '
            "it: use a picture with edges in it, or one that is transparent around the object"
        )


def fast_searches(searches: Mapping[str, Search]) -> dict[str, FastSearch]:
    """Those of them whose method is "fast"."""
    return {name: one for name, one in searches.items() if isinstance(one, FastSearch)}


def _given(calibration: GivenCalibration, library: Library) -> Mapping[str, StoredCalibration]:
    """The calibrations that were given, by the name of the template."""
    if calibration is None:
        return {}
    if isinstance(calibration, Mapping):
        unknown = [name for name in calibration if name not in library.by_name]
        require(
            not unknown,
            f"calibration has {', '.join(unknown)}, but the templates are {library.listed}",
        )
        return calibration
    require(
        len(library) == 1,
        f"calibration is that of one template, but there are {len(library)}: give calibrations by "
        "the names of the templates",
    )
    return {library.templates[0].name: calibration}


def _share_of(progress: Progress | None, library: Library, number: int) -> Progress | None:
    """Progress of the calibration of one template as that of all."""
    if progress is None or not library.several:
        return progress
    count, name = len(library), library.templates[number].name
    return lambda done, step: progress((number + done) / count, f"{name}: {step}")


def _limit_false_alarms(searches: Mapping[str, Search]) -> None:
    """Raise the thresholds so that all templates together have no more false alarms than one may have.

    What is plain or thin may have whatever rate others leave: of most templates clutter reaches the threshold
    in one of a million scenes or less.
    """
    known = [(one, one.calibration) for one in searches.values() if isinstance(one.calibration, Calibration)]
    together = len(searches) > MAX_ALONE
    if together:
        for search, _ in known:
            search.threshold = max(search.threshold, _MIN_THRESHOLD)
    rates = [its.false_alarms(search.threshold) * its.megapixels for search, its in known]
    most = min(1.0, equal_rate(rates, MOST_OF_ALL if together else MOST_ALARMS))
    for search, its in known:
        least = threshold_among(its.clutter, its.present, len(known), most)
        search.threshold = min(max(search.threshold, least), MAX_ZNCC)


def _set_rate(searches: Mapping[str, Search], per_megapixel: float) -> None:
    """Set the threshold of each template by its rate of false alarms."""
    for search in searches.values():
        known = search.calibration
        if not isinstance(known, Calibration):
            raise ArgumentError(f"threshold must be a score for the method {search.name}, which has no rate")
        search.threshold = score_with_rate(known.false_alarms, per_megapixel)


@contextmanager
def calibration_progress(name: str, progress: Progress | Literal[False] | None) -> Iterator[Progress | None]:
    """What a calibration reports to: what the caller gave, or a line if someone watches."""
    if progress is not None or not is_watched():
        yield progress or None
        return
    line = ProgressLine(f"Calibrating {name} (first use)")
    try:
        yield line
    finally:
        line.close()
