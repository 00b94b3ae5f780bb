"""The search methods of a detector, "fast" and "paper", each with its name and its calibration."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from wherein.detect.calibration.measure import calibration_for
from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.store import CalibrationStore, Kind, Progress, StoredCalibration, no_progress
from wherein.detect.explain.convergence import fit_traces
from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.explain.occurrence_maps import Map, occurrence
from wherein.detect.fast.assemble import Assembler
from wherein.detect.fast.exclusion import OVERLAP
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.following import Seen
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.scene_search import LIKELY, SceneSearch
from wherein.detect.paper.instances import PaperDetection, PaperDetector
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.paper.tuning.measure_network import calibrate_paper, within_reach
from wherein.detect.paper.tuning.paper_model import VERSION as PAPER_VERSION
from wherein.detect.paper.tuning.paper_model import PaperCalibration
from wherein.detect.result import Detection, MethodResult
from wherein.detect.search_range import Range
from wherein.errors import ArgumentError, require
from wherein.images.picture import Picture, Samples
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template
from wherein.template.reduced import reduced_template
from wherein.threads import allowed_threads


class Search(ABC):
    """A search for one template, by one method.

    Attributes:
        name: the name of the method.
        calibration: the calibration in use.
        threshold: the minimum score of a detection.
    """

    name: ClassVar[str]
    calibration: StoredCalibration
    threshold: float

    @classmethod
    @abstractmethod
    def prepare(
        cls,
        template: Template,
        ranges: Range,
        calibration: StoredCalibration | None,
        threshold: float | None,
        threads: int | None,
        progress: Progress | None,
        overlap: float,
    ) -> "Search":
        """The search for a template.

        Arguments:
            template: the template to search for.
            ranges: the poses to search.
            calibration: a calibration; None: the stored one, or a new one, which is then stored.
            threshold: the minimum score of a detection; None: the calibrated one.
            threads: number of threads of a search; None: torch's number.
            progress: called during a new calibration.
            overlap: fraction of an object that may overlap with another before one of them is dropped.

        Raises:
            ArgumentError: the method cannot search the range, or the calibration was measured for something
                else.
        """

    @abstractmethod
    def __call__(self, scene: Samples, count: int | None) -> MethodResult:
        """The best `count` detections in a scene; None: all."""

    @abstractmethod
    def follow(
        self,
        scene: Samples,
        roots: Poses,
        count: int | None,
        everywhere: bool,
        seen: Sequence[Seen] | None = None,
    ) -> MethodResult:
        """The best `count` detections near known poses.

        Arguments:
            scene: the picture to search.
            roots: canvas → scene, (N, 3, 3), N > 0.
            count: maximum number of detections; None: all.
            everywhere: search the whole scene as well.
            seen: what is known of each from the previous frame; None: nothing.

        Raises:
            ArgumentError: the method cannot start from known poses.
        """

    @abstractmethod
    def occurrence(self, scene: Samples) -> dict[str, Map]:
        """Maps of the places where parts may be, by the name of the part."""

    @abstractmethod
    def fit_traces(self, scene: Samples, found: Sequence[Detection]) -> tuple[FitTraces, ...]:
        """How the fit of each piece of each detection converged."""


class FastSearch(SceneSearch, Search):
    """The default method; docs/detection.md follows a scene through it.

    `SceneSearch` searches a scene. This class adds what comes before and after: calibration, and maps and
    traces that explain a result.

    Arguments:
        template, ranges, threshold, threads, overlap: as for `prepare`.
        calibration: gives the weights of pieces and, unless `threshold` does, the threshold.
    """

    name = "fast"
    calibration: Calibration

    def __init__(
        self,
        template: Template,
        ranges: Range,
        calibration: Calibration,
        threshold: float | None = None,
        threads: int | None = None,
        overlap: float = OVERLAP,
    ) -> None:
        super().__init__(
            Finder(
                template,
                ranges,
                calibration.weights,
                calibration.tilt_cost,
                calibration.min_pair_evidence,
                size_power=calibration.size_power,
                crowd_from=calibration.crowd_floor,
            ),
            threshold or calibration.threshold,
            calibration.threshold,
            calibration.usual_clutter,
            threads or allowed_threads(),
            overlap,
        )
        self.calibration = calibration

    @classmethod
    def prepare(  # noqa: D102
        cls,
        template: Template,
        ranges: Range,
        calibration: StoredCalibration | None,
        threshold: float | None,
        threads: int | None,
        progress: Progress | None,
        overlap: float,
    ) -> "FastSearch":
        if calibration is None:
            known = calibration_for(template, ranges, progress or no_progress)
        else:
            known = _checked(calibration, Calibration, cls.name, template, ranges)
        return cls(template, ranges, known, threshold, threads, overlap)

    def by_template(self, levels: ScenePyramid, count: int | None) -> dict[str, Hypotheses]:
        """The hypotheses that remain after exclusion, by the name of the one template: see `TileSearch`."""
        return {self.finder.template.name: self.kept(levels, count)}

    def of(self, name: str) -> "FastSearch":
        """The search for a template: this one, since there is no other template."""
        del name
        return self

    def between(self, levels: ScenePyramid | None, found: Mapping[str, Hypotheses]) -> dict[str, Hypotheses]:
        """The hypotheses, unchanged: there is no other template to compete with for pixels."""
        del levels
        return dict(found)

    def at(self, reduction: int) -> "FastSearch":
        """The search in reduced scenes, for the template reduced by the same factor."""
        if reduction == 1:
            return self
        # The calibration is that of the full template: scene and template are reduced by the same factor.
        template = reduced_template(self.finder.template, reduction)
        return FastSearch(
            template, self.finder.ranges, self.calibration, self.threshold, self.threads, self._overlap
        )

    def occurrence(self, scene: Samples) -> dict[str, Map]:
        """The rating of the first look with the part's centre at each pixel, relative to the highest."""
        return occurrence(self.finder, self.levels(scene))

    def fit_traces(self, scene: Samples, found: Sequence[Detection]) -> tuple[FitTraces, ...]:
        """How the fit of each piece of each detection converged, from a start of the search to full size."""
        return fit_traces(self.finder, self.levels(scene), found)


# A file of its own, since a template may have calibrations for both methods.
_PAPER_STORE = CalibrationStore(PaperCalibration, PAPER_VERSION, "paper.json")


class PaperSearch(Search):
    """The network of the paper (algorithm 1): one scale, and rotations within ±30°.

    Arguments:
        network: the network of the template.
        ranges, threshold: as for `prepare`; detections rotated beyond the range are dropped.
    """

    name = "paper"
    calibration: PaperCalibration

    def __init__(self, network: PaperNetwork, ranges: Range, threshold: float) -> None:
        self.template, self.ranges, self.threshold = network.template, ranges, threshold
        self.detector, self._assembler = PaperDetector(network), Assembler(network.template)

    @classmethod
    def prepare(  # noqa: D102
        cls,
        template: Template,
        ranges: Range,
        calibration: StoredCalibration | None,
        threshold: float | None,
        threads: int | None,
        progress: Progress | None,
        overlap: float,
    ) -> "PaperSearch":
        del threads, overlap
        require(
            ranges.scale == (1.0, 1.0),
            f'scale is {ranges.scale}, but method="paper" searches one scale only: use scale=(1, 1)',
        )
        require(
            ranges.tilt == 0,
            f'tilt is {ranges.tilt:g}, but method="paper" knows no perspective: use tilt=0',
        )
        require(
            not ranges.any_polarity,
            'polarity is "any", but method="paper" compares colours: use polarity="same"',
        )
        # Wider ranges share one calibration: the network finds nothing beyond its reach anyway.
        within = within_reach(ranges)
        if calibration is None:
            known = paper_calibration_for(template, within, progress or no_progress)
        else:
            known = _checked(calibration, PaperCalibration, cls.name, template, within)
        made = cls(known.network(template), ranges, threshold or known.threshold)
        made.calibration = known
        return made

    def __call__(self, scene: Samples, count: int | None) -> MethodResult:  # noqa: D102
        pixels = Picture(scene, None).pixels
        # Peaks down to the score of candidates; `count` limits detections only.
        found = [self._detection(one) for one in self.detector(pixels, LIKELY * self.threshold)]
        # The network does not limit rotations: a stride may end outside of the range.
        turned = [one for one in found if abs(one.angle) <= self.ranges.rotation]
        items = tuple(one for one in turned if one.score >= self.threshold)[:count]
        return MethodResult(items, tuple(one for one in turned if one.score < self.threshold))

    def follow(  # noqa: D102
        self,
        scene: Samples,
        roots: Poses,
        count: int | None,
        everywhere: bool,
        seen: Sequence[Seen] | None = None,
    ) -> MethodResult:
        raise ArgumentError(
            'method="paper" cannot start from a known pose: use method="fast" to follow objects'
        )

    def occurrence(self, scene: Samples) -> dict[str, Map]:
        """The occurrence map ω of every node of the network."""
        nodes = self.detector.network(Picture(scene, None).pixels).nodes
        return {name: node.map.float().numpy() for name, node in nodes.items()}

    def fit_traces(self, scene: Samples, found: Sequence[Detection]) -> tuple[FitTraces, ...]:
        """No traces: a map is made of thousands of descents, and none of them belongs to one detection."""
        return tuple({} for _ in found)

    def _detection(self, found: PaperDetection) -> Detection:
        tree = self.template.parts
        # A frame maps canvas to scene: the matrix of a part, without its rest position on the canvas.
        frames = {name: part.matrix @ np.linalg.inv(tree[name].rest) for name, part in found.parts.items()}
        leaves = {name: (found.parts[name].score, found.parts[name].found) for name in tree.leaves}
        return self._assembler({tree.root: found.matrix, **frames}, leaves, found.score)


METHODS: dict[str, type[Search]] = {method.name: method for method in (FastSearch, PaperSearch)}
"""The methods by name. To add one, write a subclass of `Search` and list it here."""


def paper_calibration_for(
    template: Template, ranges: Range, progress: Progress = no_progress
) -> PaperCalibration:
    """The stored calibration of the paper's network for a template, or a new one, which is then stored."""
    within = within_reach(ranges)
    return _PAPER_STORE.load_or_measure(
        template, within, lambda: calibrate_paper(template, within, progress=progress)
    )


def _checked(
    given: StoredCalibration, kind: type[Kind], method: str, template: Template, ranges: Range
) -> Kind:
    """The given calibration, after a check of what it was measured for.

    Raises:
        ArgumentError: it is of another method, range or template.
    """
    remedy = "Calibrate again, or omit the calibration."
    if not isinstance(given, kind):
        raise ArgumentError(
            f'calibration is a {type(given).__name__}, but method="{method}" needs a {kind.__name__}. '
            f"{remedy}"
        )
    require(
        given.range == ranges,
        f"the calibration was measured for {given.range}, but {ranges} is requested. {remedy}",
    )
    require(
        given.serves(template, ranges),
        f'the calibration was measured for another template than "{template.name}", or the template has '
        f"changed. {remedy}",
    )
    return given
