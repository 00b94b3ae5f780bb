"""`Detector`: finds a template in scenes, within a range of poses."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Literal, cast, overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.store import Progress, StoredCalibration
from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.explain.occurrence_maps import Map
from wherein.detect.fast.exclusion import OVERLAP
from wherein.detect.methods import METHODS, Search
from wherein.detect.result import SCENE, Detections, MethodResult
from wherein.detect.score import score_with_rate
from wherein.detect.search_range import Range
from wherein.errors import ArgumentError, require
from wherein.images.load import Source, is_many, load_picture
from wherein.motion.homography import shift, square
from wherein.progress_line import ProgressLine, is_watched
from wherein.template.bundle import Template
from wherein.threads import one_thread
from wherein.thresholds import MAX_SCALE, MIN_SCALE, MinScore

_MAX_OBJECT_SIZE = 100_000
"""Maximum length of an object in a scene, in pixels. A choice: no scene is larger."""


_MAX_TILT = 70
"""Degrees. A choice: at 70° an object is foreshortened to a third, and little of it can be told."""


POLARITIES = ("same", "any")
"""Whether light and dark are as in the template, or may be exchanged."""

Region = tuple[float, float, float, float]
"""Left, top, width and height of a part of a scene, in pixels."""


class Detector:
    """Finds every instance of a template in a scene, and the pose of every part.

    Arguments:
        template: a `Template`; the folder or .zip that holds one; or a picture file, of a single motif.
        rotation: ± degrees that are searched; 180 is every rotation.
        scale: lowest and highest scale, or one number.
        tilt: out of the picture plane, up to so many degrees, 0 to 70; 0: objects are parallel to it.
        max_instances: maximum number of detections per scene, those with the highest scores; None: all.
        overlap: fraction of an object that another may cover or share before one of them is dropped.
        polarity: "same", or "any" for objects that may be light on dark as well as dark on light.
        calibration: by default the stored one, which is measured on first use. For the method "paper" a
            `PaperCalibration`.
        threshold: the lowest score of a detection, in place of the calibrated one; or the rate of false
            alarms that is allowed, as in "0.01/MP": one in a hundred megapixels without the template.
        threads: number of threads of the first search; torch's number by default. The result does not depend
            on it.
        progress: called during a calibration with the fraction that is done, and what is being done. None:
            a line shows it, on a terminal or in a notebook; False: nothing does.
        method: "fast", or "paper" for the network of the paper (algorithm 1): far slower, at one scale
            only, and within ±30°. `wherein.detect.paper.network.PaperNetwork` can be trained.

    Raises:
        ArgumentError: an argument is out of range, or the calibration was measured for something else.
        TemplateError: the template cannot be loaded.

    Example:
        >>> import torch
        >>> from wherein.images.motif import Motif
        >>> motif = torch.rand(3, 40, 50, generator=torch.Generator().manual_seed(0))
        >>> detector = Detector(Template.rigid("noise", Motif.whole(motif)), rotation=0, scale=1, tilt=0)
        >>> scene = torch.full((3, 120, 160), 0.5)
        >>> scene[:, 30:70, 60:110] = motif
        >>> found = detector(scene)
        >>> len(found), found[0].matrix[:, 2].round(1).tolist()
        (1, [60.0, 30.0])
    """

    def __init__(
        self,
        template: Template | str | os.PathLike[str],
        rotation: float = 180.0,
        scale: tuple[float, float] | float = (0.5, 2.0),
        tilt: float = 40.0,
        threshold: float | str | MinScore | None = None,
        max_instances: int | None = None,
        overlap: float = OVERLAP,
        polarity: str = "same",
        *,
        calibration: StoredCalibration | None = None,
        threads: int | None = None,
        progress: Progress | Literal[False] | None = None,
        method: str = "fast",
    ) -> None:
        self.template = template if isinstance(template, Template) else Template.load(template)
        self.ranges = checked_range(rotation, scale, tilt, self.template, polarity)
        require(
            _is_number(overlap) and 0 <= overlap <= 1,
            f"overlap must be a fraction between 0 and 1, but is {overlap!r}",
        )
        require(
            max_instances is None or _is_count(max_instances),
            f"max_instances must be a positive integer, or None for all, but is {max_instances!r}",
        )
        require(
            threads is None or _is_count(threads),
            f"threads must be a positive integer, or None for the setting of torch, but is {threads!r}",
        )
        least = _least_score(threshold)
        require(method in METHODS, f"method must be one of {', '.join(METHODS)}, but is {method!r}")
        self.max_instances = max_instances
        with torch.no_grad(), calibration_progress(self.template.name, progress) as shown:
            self.search: Search = METHODS[method].prepare(
                self.template, self.ranges, calibration, least.score, threads, shown, overlap
            )
        if least.per_megapixel is not None:
            known = self.calibration
            if not isinstance(known, Calibration):
                raise ArgumentError(f"threshold must be a score for the method {method}, which has no rate")
            self.search.threshold = score_with_rate(known.false_alarms, least.per_megapixel)

    def __repr__(self) -> str:
        (low, high), turn = self.ranges.scale, self.ranges.rotation
        scales = f"{low:g}" if self.ranges.fixed_scale else f"{low:g} to {high:g}"
        return (
            f"Detector({self.template.name!r}, rotation ±{turn:g}°, scale {scales}, "
            f"threshold {self.threshold:.3f}, {self.search.name})"
        )

    @property
    def threshold(self) -> float:
        """The lowest score of a detection."""
        return self.search.threshold

    @property
    def calibration(self) -> StoredCalibration:
        """The calibration in use, measured for this template, range and method."""
        return self.search.calibration

    @overload
    def __call__(  # type: ignore[overload-overlap]  # an array is also iterable, but is one scene
        self, scene: Source, region: Region | None = None, color: str = "rgb"
    ) -> Detections: ...

    @overload
    def __call__(
        self, scene: Iterable[Source], region: Region | None = None, color: str = "rgb"
    ) -> Iterator[Detections]: ...

    def __call__(
        self, scene: Source | Iterable[Source], region: Region | None = None, color: str = "rgb"
    ) -> Detections | Iterator[Detections]:
        """All detections in a scene, the highest score first; or, of many scenes, those of one after another.

        Arguments:
            scene: a path, an array, a tensor or a PIL image. A list, a tuple or a generator of these gives a
                generator of results, which searches a scene when it is asked for its result.
            region: the part of the scene that is searched, (x, y, width, height) in pixels; None: all of it.
            color: "rgb", or "bgr" for an array from OpenCV.

        Raises:
            ArgumentError: the array has the wrong shape or type, the region lies outside of the scene, or
                "bgr" was given for a file or a PIL image.
            PictureError: a file cannot be read.
        """
        if is_many(scene):
            return (self._one(one, region, color) for one in cast(Iterable[Source], scene))
        return self._one(cast(Source, scene), region, color)

    def _one(self, scene: Source, region: Region | None, color: str) -> Detections:
        return self._detect(scene, color, region, lambda pixels, _: self.search(pixels, self.max_instances))

    def follow(
        self,
        scene: Source,
        before: ArrayLike,
        color: str = "rgb",
        everywhere: bool = False,
        region: Region | None = None,
    ) -> Detections:
        """Detections near known or expected places: faster than a search of the whole scene.

        Arguments:
            scene, color, region: as for a call.
            before: `matrix` of earlier detections, canvas → scene, (N, 2, 3) or (N, 3, 3), N > 0.
            everywhere: search the whole scene, or region, as well.

        Raises:
            ArgumentError: `before` has another shape, or the detector's method is not "fast".
        """
        matrices = np.asarray(before, dtype=np.float64)
        require(
            matrices.ndim == 3 and len(matrices) > 0 and matrices.shape[1:] in ((2, 3), (3, 3)),
            "before must be the matrices of earlier detections, of shape (N, 2, 3) or (N, 3, 3) with N > 0, "
            f"but has shape {matrices.shape}",
        )
        roots = square(matrices)
        return self._detect(
            scene,
            color,
            region,
            lambda pixels, corner: self.search.follow(
                pixels, shift(-corner[0], -corner[1]) @ roots, self.max_instances, everywhere
            ),
        )

    def _detect(
        self,
        scene: Source,
        color: str,
        region: Region | None,
        search: Callable[[Tensor, tuple[int, int]], MethodResult],
    ) -> Detections:
        """Load a scene, search it and measure the time of the search."""
        picture = load_picture(scene, color=color, role="scene")
        pixels = picture.pixels.detach().float().cpu()
        left, top, right, bottom = _box(region, pixels.shape[-1], pixels.shape[-2])
        began = time.perf_counter()
        with torch.no_grad(), one_thread():
            found = search(pixels[:, top:bottom, left:right].contiguous(), (left, top))
        if left or top:
            found = found.moved(left, top)
        name = os.fspath(scene) if isinstance(scene, str | os.PathLike) else SCENE
        seconds = time.perf_counter() - began
        return Detections(found.items, self.template.name, picture, seconds, name, found.candidates)

    def occurrence(self, scene: Source, color: str = "rgb") -> dict[str, Map]:
        """Maps of where parts could be.

        The default method has a map of the body (or of each leading limb): how well it fits with its centre
        at each pixel, in the first search. The paper's network has the occurrence map of every node.

        Arguments:
            scene, color: as for a call.

        Returns:
            (H, W) arrays in pixels of the scene, by the name of the part.
        """
        picture = load_picture(scene, color=color, role="scene")
        with torch.no_grad(), one_thread():
            return self.search.occurrence(picture.pixels.detach().float().cpu())

    def fit_traces(self, found: Detections) -> tuple[FitTraces, ...]:
        """How the fits of detections converged: ZNCC step by step (`wherein.detect.explain.convergence`).

        The search keeps no record, so its fits are repeated, in about twice the time of the search.

        Arguments:
            found: detections of this detector.

        Returns:
            For each detection the trace of every fitted part, by name, from a start of the search to full
            size. Parts that were not found or not fitted themselves have none, nor have detections of the
            paper's network.
        """
        with torch.no_grad(), one_thread():
            return self.search.fit_traces(found.scene.pixels.detach().float().cpu(), found.items)


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


def _box(region: Region | None, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a region in whole pixels, cut to the scene."""
    if region is None:
        return 0, 0, width, height
    try:
        x, y, across, down = map(float, region)
    except (TypeError, ValueError):
        x = y = across = down = math.nan
    left, top = max(0.0, x), max(0.0, y)
    right, bottom = min(float(width), x + across), min(float(height), y + down)
    require(
        all(map(math.isfinite, (x, y, across, down))) and right - left >= 1 and bottom - top >= 1,
        f"region must be (x, y, width, height) within the scene of {width} × {height} pixels, but is "
        f"{region!r}",
    )
    return math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)


def checked_range(
    rotation: float,
    scale: tuple[float, float] | float,
    tilt: float,
    template: Template,
    polarity: str = "same",
) -> Range:
    """The range of poses for a template.

    Raises:
        ArgumentError: the rotation, the scale or the tilt is out of range.
    """
    require(
        _is_number(rotation) and 0 <= rotation <= 180,
        f"rotation must be 0 to 180 degrees, searched to either side, but is {rotation!r}",
    )
    require(
        _is_number(tilt) and 0 <= tilt <= _MAX_TILT, f"tilt must be 0 to {_MAX_TILT} degrees, but is {tilt!r}"
    )
    try:
        low, high = map(float, (scale, scale) if isinstance(scale, Real) else scale)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # not two, or not numbers
        low = high = math.nan
    # "12" is text that would pass as the scales 1 and 2.
    require(
        not _is_text(scale) and 0 < low <= high < math.inf,
        f"scale must be a number above 0, or (low, high) with 0 < low ≤ high, but is {scale!r}",
    )
    require(
        low >= MIN_SCALE and high <= MAX_SCALE,
        f"scale must be a factor from {MIN_SCALE:g} to {MAX_SCALE:g}, as in (0.8, 1.25), but is {scale!r}",
    )
    longest = max(template.size)
    require(
        low * longest >= 1 and high * longest <= _MAX_OBJECT_SIZE,
        f'with scale={scale!r} the template "{template.name}" ({longest} px) would be '
        f"{low * longest:.2g} to {high * longest:.2g} px large in the scene: use scales at which it is 1 to "
        f"{_MAX_OBJECT_SIZE} px large",
    )
    require(polarity in POLARITIES, f"polarity must be one of {', '.join(POLARITIES)}, but is {polarity!r}")
    return Range(float(rotation), (low, high), float(tilt), polarity)


def _is_count(value: object) -> bool:
    """Whether a value is a whole number above 0."""
    return isinstance(value, Integral) and int(value) > 0


def _least_score(threshold: float | str | MinScore | None) -> MinScore:
    """The threshold that a user gave; a text is a score or a rate."""
    if isinstance(threshold, MinScore):
        return threshold
    if isinstance(threshold, str):
        try:
            return MinScore.of(threshold)
        except ArgumentError as error:
            raise ArgumentError(f"threshold: {error}") from error
    require(
        threshold is None or (_is_number(threshold) and 0 < threshold < 1),
        'threshold must be between 0 and 1, a rate of false alarms such as "0.01/MP", or None for the '
        f"calibrated one, but is {threshold!r}",
    )
    return MinScore(score=threshold)


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
