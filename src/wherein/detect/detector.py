"""`Detector`: finds one or several templates in scenes, within a range of poses."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, cast, overload

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from wherein.detect.arguments import (
    Region,
    by_template,
    check_one_picture,
    checked_range,
    earlier_poses,
    earlier_templates,
    is_count,
    is_number,
    least_score,
    region_box,
)
from wherein.detect.calibration.store import Progress, StoredCalibration
from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.explain.occurrence_maps import Map
from wherein.detect.fast.exclusion import OVERLAP
from wherein.detect.fast.following import Seen
from wherein.detect.library_search import LibrarySearch
from wherein.detect.methods import METHODS, FastSearch, Search
from wherein.detect.preparation import (
    GivenCalibration,
    calibration_progress,
    fast_searches,
    prepared_searches,
)
from wherein.detect.result import Detections, MethodResult, scene_name, unread
from wherein.detect.tiled.giant_search import GiantSearch, giant_source
from wherein.errors import MissingError, PictureError, RegionError, require
from wherein.giant.region_source import RegionSource
from wherein.images.load import Source, is_many, load_picture, load_scene
from wherein.images.picture import Picture, Samples, is_reduced
from wherein.memory import bytes_of
from wherein.motion.homography import shift
from wherein.pyramid.levels import Poses
from wherein.template.bundle import Template
from wherein.template.template_library import Library, PictureInMemory, TemplateSource
from wherein.threads import plain_torch
from wherein.thresholds import MinScore


class Detector:
    """Finds every instance of one or several templates in a scene, and the pose of every part.

    Arguments:
        template: a `Template`; the folder or .zip that holds one; or a picture of a single motif: a file, an
            array, a tensor or a PIL image. For several templates, a list of these or a folder of them;
            `Detection.template` then is the name of the template. (`Template.of_picture` gives a picture in
            memory a name.)
        rotation: maximum rotation to either side in degrees; 180 is every rotation.
        scale: lowest and highest scale, or one number.
        tilt: maximum tilt out of the picture plane in degrees, 0 to 70; 0: objects are parallel to it.
        max_instances: maximum number of detections per scene, those with the highest scores; None: all.
        overlap: fraction of an object that may overlap with another before one of them is dropped.
        polarity: "same", or "any" for objects that may be light on dark as well as dark on light.
        calibration: by default the stored one, which is measured on first use. For the method "paper" a
            `PaperCalibration`. For several templates, calibrations by the name of the template.
        threshold: the minimum score of a detection, in place of the calibrated one; or the allowed rate of
            false alarms, as in "0.01/MP": one in a hundred megapixels without the template. Several
            templates have this rate together.
        threads: number of threads of a search; torch's number by default. The result does not depend on it.
        progress: called during a calibration with the fraction done and a description of the step. None: a
            progress line on a terminal or in a notebook; False: no progress.
        method: "fast", or "paper" for the network of the paper (algorithm 1): far slower, at one scale
            only, and within ±30°. `wherein.detect.paper.network.PaperNetwork` can be trained.
        memory: bytes that this process may use, or a text such as "4GB". A scene that would need more is
            searched in overlapping tiles, which gives the same detections; TIFF and OME-Zarr are then read by
            region, so that they may be larger than memory. None: OME-Zarr, and TIFF of more than 200 million
            pixels, are searched in tiles, with 4 GB; all other scenes in one piece.

    Raises:
        ArgumentError: an argument is out of range, or the calibration was measured for something else.
        TemplateError: the template cannot be loaded.

    Example:
        >>> import torch
        >>> from wherein import Detector
        >>> motif = torch.rand(3, 40, 50, generator=torch.Generator().manual_seed(0))
        >>> detector = Detector(motif, rotation=0, scale=1, tilt=0)
        >>> scene = torch.full((3, 120, 160), 0.5)
        >>> scene[:, 30:70, 60:110] = motif
        >>> found = detector(scene)
        >>> len(found), found[0].matrix[:, 2].round(1).tolist()
        (1, [60.0, 30.0])
    """

    def __init__(
        self,
        template: Library | TemplateSource | PictureInMemory | Iterable[TemplateSource],
        rotation: float = 180.0,
        scale: tuple[float, float] | float = (0.5, 2.0),
        tilt: float = 40.0,
        threshold: float | str | MinScore | None = None,
        max_instances: int | None = None,
        overlap: float = OVERLAP,
        polarity: str = "same",
        *,
        calibration: GivenCalibration = None,
        threads: int | None = None,
        progress: Progress | Literal[False] | None = None,
        method: str = "fast",
        memory: float | str | None = None,
    ) -> None:
        self._memory = None if memory is None else bytes_of(memory)
        self.library = Library.of(template)
        for one in self.library.templates:
            # Checked by the size of each template; the range itself is the same for all.
            self.ranges = checked_range(rotation, scale, tilt, one, polarity)
        require(
            is_number(overlap) and 0 <= overlap <= 1,
            f"overlap must be a fraction between 0 and 1, but is {overlap!r}",
        )
        require(
            max_instances is None or is_count(max_instances),
            f"max_instances must be a positive integer, or None for all, but is {max_instances!r}",
        )
        require(
            threads is None or is_count(threads),
            f"threads must be a positive integer, or None for the setting of torch, but is {threads!r}",
        )
        least = least_score(threshold)
        require(method in METHODS, f"method must be one of {', '.join(METHODS)}, but is {method!r}")
        require(
            method == FastSearch.name or not self.library.several,
            f'method="{method}" searches for one template only: use method="{FastSearch.name}" for several',
        )
        self.max_instances = max_instances
        with plain_torch(), calibration_progress(self.library.name, progress) as shown:
            self.searches = prepared_searches(
                self.library, self.ranges, METHODS[method], least, calibration, threads, shown, overlap
            )
        self.search: Search | LibrarySearch = next(iter(self.searches.values()))
        if self.library.several:  # then templates compete for pixels
            self.search = LibrarySearch(fast_searches(self.searches), overlap)

    def __repr__(self) -> str:
        (low, high), turn = self.ranges.scale, self.ranges.rotation
        scales = f"{low:g}" if self.ranges.fixed_scale else f"{low:g} to {high:g}"
        lowest, highest = min(self.thresholds.values()), max(self.thresholds.values())
        least = f"{lowest:.3f}" if lowest == highest else f"{lowest:.3f} to {highest:.3f}"
        return (
            f"Detector({self.library.name!r}, rotation ±{turn:g}°, scale {scales}, "
            f"tilt {self.ranges.tilt:g}°, threshold {least}, {self.search.name})"
        )

    @property
    def template(self) -> Template:
        """The template; `ArgumentError` if there are several (see `library`)."""
        return self.library.only

    @property
    def threshold(self) -> float:
        """The minimum score of a detection; `ArgumentError` if there are several templates."""
        return self.thresholds[self.library.only.name]

    @property
    def thresholds(self) -> dict[str, float]:
        """The minimum score of a detection, by the name of the template."""
        return {name: search.threshold for name, search in self.searches.items()}

    @property
    def calibration(self) -> StoredCalibration:
        """The calibration for this template, range and method; `ArgumentError` if there are several
        templates."""
        return self.calibrations[self.library.only.name]

    @property
    def calibrations(self) -> dict[str, StoredCalibration]:
        """The calibrations, by the name of the template."""
        return {name: search.calibration for name, search in self.searches.items()}

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
        """All detections in a scene, the highest score first; for several scenes, a generator of these.

        Arguments:
            scene: a path, an array, a tensor or a PIL image; also the path of an OME-Zarr. For a list, a
                tuple or a generator of these, the results are generated lazily: each scene is searched when
                its result is requested. One that cannot be searched has a result too, with `error`.
            region: the part of the scene that is searched, (x, y, width, height) in pixels; None: all of it.
            color: "rgb", or "bgr" for an array from OpenCV.

        Raises:
            ArgumentError: the array has the wrong shape or type, the region lies outside of the scene, or
                "bgr" was given for a file or a PIL image.
            PictureError: a file cannot be read; for several scenes, see `scene`.
        """
        # With `yield` instead, the result for one scene would be a generator, too.
        if is_many(scene):
            return (self._one_of_many(one, region, color) for one in cast(Iterable[Source], scene))
        return self._one(cast(Source, scene), region, color)

    def _one_of_many(self, scene: Source, region: Region | None, color: str) -> Detections:
        try:  # one bad picture must not end a batch
            return self._one(scene, region, color)
        except (PictureError, MissingError, RegionError) as error:
            reason = str(error).removeprefix("scene: ").removeprefix(f"{scene_name(scene)}: ")
            return self._results(MethodResult(()), unread(), 0.0, scene_name(scene), reason)

    def _one(self, scene: Source, region: Region | None, color: str) -> Detections:
        source = giant_source(scene, self._memory, color)
        if source is not None:
            with source:
                return self._in_tiles(source, region)
        return self._detect(scene, color, region, lambda samples, _: self.search(samples, self.max_instances))

    def follow(
        self,
        scene: Source,
        before: ArrayLike,
        color: str = "rgb",
        everywhere: bool = False,
        region: Region | None = None,
        templates: Sequence[str] | None = None,
        seen: Sequence[Seen] | None = None,
    ) -> Detections:
        """The detections near known or expected poses, faster than a search of the whole scene.

        Arguments:
            scene, color, region: as for a call.
            before: `matrix` of earlier detections, canvas → scene, (N, 2, 3) or (N, 3, 3), N > 0.
            everywhere: search the whole scene, or region, as well.
            templates: the `template` of each of these detections; not needed if there is only one template.
            seen: what is known of each of them from the previous frame (`Track.seen`). Parts are then
                searched for at their expected poses first, which is faster.

        Raises:
            ArgumentError: `before` has another shape, the templates are not those of this detector, `seen`
                has another length, or its method is not "fast".
        """
        roots = earlier_poses(before)
        names = earlier_templates(templates, len(roots), self.library)
        require(
            seen is None or len(seen) == len(roots),
            f"seen must have one item for each of {len(roots)} matrices, but has {len(seen or ())}",
        )

        def search(samples: Tensor, corner: tuple[int, int]) -> MethodResult:
            # The search sees only the region: poses are relative to its corner.
            here = shift(-corner[0], -corner[1]) @ roots
            if isinstance(self.search, LibrarySearch):
                near: dict[str, Poses] = {name: here[[name == one for one in names]] for name in names}
                own = None if seen is None else by_template(names, seen)
                return self.search.follow(samples, near, self.max_instances, everywhere, own)
            return self.search.follow(samples, here, self.max_instances, everywhere, seen)

        return self._detect(scene, color, region, search)

    def _detect(
        self,
        scene: Source,
        color: str,
        region: Region | None,
        search: Callable[[Tensor, tuple[int, int]], MethodResult],
    ) -> Detections:
        """Load a scene, search its region, and measure the time of the search without loading."""
        check_one_picture(scene)
        with plain_torch():
            picture = load_scene(scene, color=color)
            samples = searched(picture)
            left, top, right, bottom = region_box(region, samples.shape[-1], samples.shape[-2])
            began = time.perf_counter()
            found = search(samples[:, top:bottom, left:right].contiguous(), (left, top))
        if left or top:
            found = found.moved(left, top)
        return self._results(found, picture, time.perf_counter() - began, scene_name(scene))

    def _in_tiles(self, source: RegionSource, region: Region | None) -> Detections:
        """Search a scene that is too large for memory, and is read by region."""
        require(
            isinstance(self.search, FastSearch | LibrarySearch),
            f'{source.name} is searched in tiles, which method="{self.search.name}" cannot do: use '
            f'method="{FastSearch.name}"',
        )
        box, began = region_box(region, *source.size), time.perf_counter()
        with plain_torch():
            found, overview = self._giant(source, box, self.max_instances, self._memory)
        return self._results(found, overview, time.perf_counter() - began, source.name)

    @cached_property
    def _giant(self) -> GiantSearch:
        """The search in tiles, made for the first scene that needs it."""
        return GiantSearch(cast(FastSearch | LibrarySearch, self.search), fast_searches(self.searches))

    def _results(
        self, found: MethodResult, scene: Picture, seconds: float, name: str, error: str | None = None
    ) -> Detections:
        several, own = tuple(self.searches) if self.library.several else (), self.library.name
        return Detections(found.items, own, scene, seconds, name, found.candidates, several, error)

    def occurrence(self, scene: Source, color: str = "rgb") -> dict[str, Map]:
        """Maps of the places where parts may be.

        The default method has a map of the body (or of each leading limb): how well it fits in the first look
        with its centre at each pixel. The paper's network has the occurrence map of every node.

        Arguments:
            scene, color: as for a call.

        Returns:
            (H, W) arrays in pixels of the scene, by the name of the part.
        """
        with plain_torch():
            picture = load_picture(scene, color=color, role="scene")
            return self.search.occurrence(searched(picture))

    def fit_traces(self, found: Detections) -> tuple[FitTraces, ...]:
        """How the fits of detections converged: ZNCC round by round (`wherein.detect.explain.convergence`).

        The search keeps no record, so fits are repeated, in about twice the time of the search.

        Arguments:
            found: detections of this detector.

        Returns:
            For each detection, the trace of every fitted part by its name, from a start of the search to full
            size. There is none for parts that were not found or not fitted themselves, for detections of the
            paper's network, and for scenes that were searched in tiles, of which only an overview is kept.
        """
        if not found or is_reduced(found.scene):
            return tuple({} for _ in found)
        with plain_torch():
            return self.search.fit_traces(searched(found.scene), found.items)


def searched(picture: Picture) -> Samples:
    """The samples of a scene in the form that searches accept: uint8 or float32, on the CPU."""
    samples = picture.samples.detach().cpu()
    return samples if samples.dtype == torch.uint8 else samples.float()
