"""Prepares the searches of a detector: one for each template, with its calibration and its threshold."""

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
"""Minimum threshold where the templates of a library share a search. A choice, by measurement with 100
cut-outs and patches: calibration scenes show clutter, but other objects resemble a template more than clutter
does; objects that are in the scene and were found score more."""

GivenCalibration = StoredCalibration | Mapping[str, StoredCalibration] | None
"""The `calibration` argument of a detector: that of its template, those of several by name, or None."""


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
    """The search for each template of a library, by the name of the template.

    Arguments:
        library: the templates.
        ranges: the poses to search.
        method: the search method.
        least: the minimum score of a detection, or the allowed rate of false alarms; if it has neither,
            thresholds follow from the calibrations.
        calibration: the given calibrations; others are loaded, or measured.
        threads, progress, overlap: as for `Search.prepare`.

    Raises:
        ArgumentError: a calibration was measured for something else, or the method has no rates.
        TemplateError: a template has neither texture nor an outline.
    """
    for one in library.templates:
        _check_visible(one)
    known = dict(_given(calibration, library))
    # Calibrated together, in the same scenes, which takes far less time than one by one.
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
        # Rates of different templates add up: each gets an equal share.
        _set_rate(searches, least.per_megapixel / len(library))
    elif least.score is None and len(library) > 1:
        _limit_false_alarms(searches)
    return searches


def _check_visible(template: Template) -> None:
    """Raise `TemplateError` if a template is nothing but opaque rectangles of one colour.

    Checked before the calibration, which takes a minute, so that the message comes at once.
    """
    motifs = [part.motif for part in template.parts.values() if part.motif is not None]
    if all(bool((one.mask == 1).all() and (one.pixels == one.pixels[:, :1, :1]).all()) for one in motifs):
        raise TemplateError(
            f'the template "{template.name}" has neither texture nor an outline, so nothing can be found by '
            "it: use a picture with edges in it, or one that is transparent around the object"
        )


def fast_searches(searches: Mapping[str, Search]) -> dict[str, FastSearch]:
    """The searches whose method is "fast", by the name of the template."""
    return {name: one for name, one in searches.items() if isinstance(one, FastSearch)}


def _given(calibration: GivenCalibration, library: Library) -> Mapping[str, StoredCalibration]:
    """The given calibrations, by the name of the template.

    Raises:
        ArgumentError: a name is unknown, or names are missing.
    """
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
    """A callback that reports the progress of one template's calibration as a share of all."""
    if progress is None or not library.several:
        return progress
    count, name = len(library), library.templates[number].name
    return lambda done, step: progress((number + done) / count, f"{name}: {step}")


def _limit_false_alarms(searches: Mapping[str, Search]) -> None:
    """Raise the thresholds so that all templates together have few false alarms.

    In a scene, they have at most as many as one template may have (`MOST_ALARMS`), or fewer if they share a
    search (`MOST_OF_ALL`).

    For most templates, clutter reaches the threshold in one of a million scenes or less. Plain or thin ones
    may use the rate that the others leave, which is nearly all of it.
    """
    known = [(one, one.calibration) for one in searches.values() if isinstance(one.calibration, Calibration)]
    together = len(searches) > MAX_ALONE
    if together:
        for search, _ in known:
            search.threshold = max(search.threshold, _MIN_THRESHOLD)
    # A rate is per megapixel: times the size of a scene, it is the number of false alarms per scene.
    rates = [its.false_alarms(search.threshold) * its.megapixels for search, its in known]
    # `equal_rate` is infinite if no rate has to be lowered, and `threshold_among` takes its logarithm.
    most = min(1.0, equal_rate(rates, MOST_OF_ALL if together else MOST_ALARMS))
    for search, its in known:
        least = threshold_among(its.clutter, its.present, len(known), most)
        # Raised at most to the maximum score: a higher threshold would find nothing.
        search.threshold = min(max(search.threshold, least), MAX_ZNCC)


def _set_rate(searches: Mapping[str, Search], per_megapixel: float) -> None:
    """Set the threshold of each template to the score at which it has this rate of false alarms.

    Raises:
        ArgumentError: a method has no rates.
    """
    for search in searches.values():
        known = search.calibration
        if not isinstance(known, Calibration):
            raise ArgumentError(f"threshold must be a score for the method {search.name}, which has no rate")
        search.threshold = score_with_rate(known.false_alarms, per_megapixel)


@contextmanager
def calibration_progress(name: str, progress: Progress | Literal[False] | None) -> Iterator[Progress | None]:
    """Yield the progress callback of a calibration: the caller's, or a line on a terminal or notebook."""
    if progress is not None or not is_watched():
        yield progress or None  # False becomes None
        return
    line = ProgressLine(f"Calibrating {name} (first use)")
    try:
        yield line
    finally:  # also after an error, so that its message starts on a line of its own
        line.close()
