"""Detector: a template and a range of poses → everything that is found in a scene."""

import math
import os
import time
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from wherein.detect.calibration.store import Progress, StoredCalibration
from wherein.detect.explain.convergence import FitTraces
from wherein.detect.explain.occurrence_maps import Map
from wherein.detect.methods import METHODS, Search, SearchResult
from wherein.detect.range import Range
from wherein.detect.result import SCENE, Detections
from wherein.errors import require
from wherein.images.load import Source, load_picture
from wherein.template.bundle import Template
from wherein.threads import one_thread

_LONGEST = 100_000
"""Pixels, of an object in a scene: no scene is larger."""


class Detector:
    """SearchResult a template in scenes: every instance, and the pose of every part.

    Arguments:
        template: a `Template`, or the folder or .zip that it is in.
        rotation: ± degrees that are searched; 180 is every rotation.
        scale: lowest and highest scale.
        max_instances: the most that are told, the surest first; None: all.
        calibration: thresholds and steps; by default the kept one, which is made on first use. For the method
            "paper" a `PaperCalibration`.
        threshold: the least score, in place of the calibration's.
        threads: for the first look at a scene; torch's number by default. The result does not depend on it.
        progress: is told how far a calibration is.
        method: "fast", or "paper" for the network as the paper has it (algorithm 1): far slower, at one scale
            only, and not for every rotation. `wherein.detect.paper.network.PaperNetwork` can be trained.

    Example:
        >>> import torch
        >>> from wherein.images.motif import Motif
        >>> motif = torch.rand(3, 40, 50, generator=torch.Generator().manual_seed(0))
        >>> detector = Detector(Template.rigid("noise", Motif.whole(motif)), rotation=0, threads=1)
        >>> scene = torch.full((3, 120, 160), 0.5)
        >>> scene[:, 30:70, 60:110] = motif
        >>> found = detector(scene)
        >>> len(found), found[0].matrix[:, 2].round(2).tolist()
        (1, [60.0, 30.0])
    """

    def __init__(
        self,
        template: Template | str | os.PathLike[str],
        rotation: float = 180.0,
        scale: tuple[float, float] = (1.0, 1.0),
        max_instances: int | None = None,
        *,
        calibration: StoredCalibration | None = None,
        threshold: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        method: str = "fast",
    ) -> None:
        self.template = template if isinstance(template, Template) else Template.load(template)
        self.ranges = checked_range(rotation, scale, self.template)
        require(
            max_instances is None or _counts(max_instances),
            f"max_instances is {max_instances!r}: give a positive whole number, or None for all",
        )
        require(
            threads is None or _counts(threads),
            f"threads is {threads!r}: give a positive whole number, or None for torch's",
        )
        require(
            threshold is None or (_is_number(threshold) and 0 < threshold < 1),
            f"threshold is {threshold!r}: give a score between 0 and 1, or None for the calibrated one",
        )
        require(method in METHODS, f"method is {method!r}: give one of {', '.join(METHODS)}")
        self.max_instances = max_instances
        with torch.no_grad():
            self.search: Search = METHODS[method].prepared(
                self.template, self.ranges, calibration, threshold, threads, progress
            )

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
        """What was measured for this template, range and method."""
        return self.search.calibration

    def __call__(self, scene: Source, color: str = "rgb") -> Detections:
        """Everything that is found in a scene.

        Arguments:
            scene: a path, an array, a tensor or a PIL image.
            color: "rgb", or "bgr" for an array that comes from OpenCV.

        Raises:
            ArgumentError: the scene is not as it must be, or "bgr" was said of a file or a PIL image.
            PictureError: a file cannot be read.
        """
        return self._found(scene, color, lambda pixels: self.search(pixels, self.max_instances))

    def follow(
        self, scene: Source, before: ArrayLike, color: str = "rgb", everywhere: bool = False
    ) -> Detections:
        """What is found near places where it was, or is expected: faster than a look at everything.

        Arguments:
            scene, color: as of a call.
            before: (N, 3, 3) or (N, 2, 3), canvas → scene: `matrix` of earlier detections, one at least.
            everywhere: look at all other places as well.

        Raises:
            ArgumentError: there is no such place, or the detector's method is not "fast".
        """
        matrices = np.asarray(before, dtype=np.float64)
        require(
            matrices.ndim == 3 and len(matrices) > 0 and matrices.shape[1:] in ((2, 3), (3, 3)),
            f"before has shape {matrices.shape}: give the matrices of earlier detections, (N, 2, 3) or (N, 3, 3) "
            "with N > 0",
        )
        roots = np.repeat(np.eye(3)[None], len(matrices), axis=0)
        roots[:, :2] = matrices[:, :2]
        return self._found(
            scene, color, lambda pixels: self.search.follow(pixels, roots, self.max_instances, everywhere)
        )

    def _found(self, scene: Source, color: str, search: Callable[[Tensor], SearchResult]) -> Detections:
        picture = load_picture(scene, color=color, role="scene")
        began = time.perf_counter()
        with torch.no_grad(), one_thread():
            found = search(picture.pixels.detach().float().cpu())
        name = os.fspath(scene) if isinstance(scene, str | os.PathLike) else SCENE
        seconds = time.perf_counter() - began
        return Detections(found.items, self.template.name, picture, seconds, name, found.best_candidate)

    def occurrence(self, scene: Source, color: str = "rgb") -> dict[str, Map]:
        """Where parts could be: of the body (or each leading limb) how well it fits with its centre at each
        pixel; of the paper's network the occurrence map of every node.

        Arguments:
            scene, color: as of a call.

        Returns:
            (H, W) arrays in the pixels of the scene, by the name of the part.
        """
        picture = load_picture(scene, color=color, role="scene")
        with torch.no_grad(), one_thread():
            return self.search.occurrence(picture.pixels.detach().float().cpu())

    def retraced(self, found: Detections) -> tuple[FitTraces, ...]:
        """How what was found came to rest: of each detection, by the name of the part that is fitted, ZNCC
        step by step from a start of the search to full size (`wherein.detect.explain.convergence`).

        The search keeps no record: this goes the ways once more, in about twice the time of the search. Parts
        that were not found have none, and neither have those that are not fitted themselves, nor the finds
        of the paper's network.

        Arguments:
            found: what this detector has found.
        """
        with torch.no_grad(), one_thread():
            return self.search.retraced(found.scene.pixels.detach().float().cpu(), found.items)


def checked_range(rotation: float, scale: tuple[float, float], template: Template) -> Range:
    """The range of poses for a template, or `ArgumentError`."""
    require(
        _is_number(rotation) and 0 <= rotation <= 180,
        f"rotation is {rotation!r}: give the degrees to search to either side, 0 to 180",
    )
    try:
        low, high = (float(s) for s in scale)
    except (TypeError, ValueError):  # not two, or not numbers
        low = high = math.nan
    require(
        not _is_text(scale) and 0 < low <= high < math.inf,
        f"scale is {scale!r}: give the lowest and the highest as (low, high), 0 < low ≤ high",
    )
    longest = max(template.size)
    require(
        low * longest >= 1 and high * longest <= _LONGEST,
        f'scale is {scale!r}, at which "{template.name}", {longest} px long, would be {low * longest:.2g} to '
        f"{high * longest:.2g} px long in a scene: give scales at which that is 1 to {_LONGEST} px",
    )
    return Range(float(rotation), (low, high))


def _counts(value: object) -> bool:
    """Whether it is a whole number above 0."""
    return isinstance(value, Integral) and int(value) > 0


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def _is_text(value: object) -> bool:
    """Of which each letter could be taken for a number."""
    return isinstance(value, str)
