"""Calibrations are made once and kept: beside the template, or in the user's cache."""

from pathlib import Path

from wherein.detect.calibration.measure import Progress, calibrate, quiet
from wherein.detect.calibration.model import VERSION, Calibration
from wherein.detect.calibration.store import Shelf
from wherein.detect.fast.finder import Range
from wherein.detect.paper.tuning.measure_network import calibrate_paper, within_reach
from wherein.detect.paper.tuning.paper_model import VERSION as PAPER_VERSION
from wherein.detect.paper.tuning.paper_model import PaperCalibration
from wherein.template.bundle import Template

_SHELF = Shelf(Calibration, VERSION, "json")
_PAPER = Shelf(PaperCalibration, PAPER_VERSION, "paper.json")


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
    return _SHELF.kept(template, ranges)


def keep(template: Template, made: Calibration) -> Path | None:
    """Keep a calibration in place of the one for the same range; in which file, None if in none."""
    return _SHELF.keep(template, made)


def paper_calibration_for(
    template: Template, ranges: Range, progress: Progress | None = None
) -> PaperCalibration:
    """The same for the paper's network, as far as that reaches."""
    within = within_reach(ranges)
    before = _PAPER.kept(template, within)
    if before is not None:
        return before[0]
    made = calibrate_paper(template, within, progress=progress or quiet)
    _PAPER.keep(template, made)
    return made
