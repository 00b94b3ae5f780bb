"""A session of the studio: its scenes, its templates, its searches, and the target for saving templates."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from wherein.detect.calibration.model import Calibration
from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.detect.score import rounded_down
from wherein.detect.search_range import Range
from wherein.errors import ArgumentError, WhereinError, require
from wherein.images.frames.picture_frames import count_frames
from wherein.images.picture import Picture
from wherein.studio.bounds import Bounds
from wherein.studio.calibrations import CalibrationKind, Calibrator
from wherein.studio.id_map import IdMap
from wherein.studio.scene_frames import StudioScene, frames
from wherein.template.bundle import Template


class SearchRequest(BaseModel):
    """The settings of a search.

    Attributes:
        template: the id of a template.
        rotation: the range of rotations, ± degrees.
        scale: lowest and highest scale.
        tilt: maximum tilt out of the picture plane, in degrees.
        threshold: minimum score of a detection; None: the calibrated threshold.
        max_instances: maximum number of detections per scene; None: no limit.
        overlap: the fraction of a detection that others may cover; None: the detector's default.
        polarity: "same", or "any" to find objects with inverted contrast as well.
        region: x, y, width and height of the part of the scene that is searched; None: the whole scene.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: str
    rotation: Annotated[FiniteFloat, Field(ge=0, le=180)] = 180.0
    scale: tuple[FiniteFloat, FiniteFloat] = (0.5, 2.0)
    tilt: Annotated[FiniteFloat, Field(ge=0, le=70)] = 40.0
    threshold: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = None
    max_instances: Annotated[int, Field(ge=1, le=1000)] | None = None
    overlap: Annotated[FiniteFloat, Field(ge=0, le=1)] | None = None
    polarity: Literal["same", "any"] = "same"
    region: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None = None

    def settings(self) -> dict[str, Any]:
        """The settings without the template and the scenes, as the page keeps them."""
        return self.model_dump(mode="json", include=SearchRequest.model_fields.keys() - {"template"})


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The detections in a scene, and how they were obtained.

    Attributes:
        detections: the detections in the scene.
        detector: the detector that found them.
        threshold: the threshold that was used.
        kind: the origin of the calibration.
    """

    detections: Detections
    detector: Detector
    threshold: float
    kind: CalibrationKind

    def to_dict(self) -> dict[str, Any]:
        """The record as printed by `wherein detect`, with the thresholds and the false-alarm rates."""
        known, found = self.detector.calibration, self.detections
        assert isinstance(known, Calibration), "the studio uses the default method only"
        measured = self.kind is CalibrationKind.MEASURED
        record = found.to_dict()
        for item, detection in zip(record["detections"], found, strict=True):
            item["tilt"] = round(detection.tilt, 2)
            if measured:
                item["rarity"] = known.describe_false_alarms(detection.score)
        return record | {
            "calibration_kind": str(self.kind),
            "threshold": round(self.threshold, 4),
            "calibrated_threshold": round(known.threshold, 4),
            "best_candidate": rounded_down(found.candidates[0].score) if found.candidates else None,
            "warnings": known.warnings if measured else [],
        }


@dataclass
class SaveTarget:
    """The folder or .zip in which templates are saved. Only the command line can set it, not the page.

    Attributes:
        path: the folder or .zip; None: templates can only be downloaded.
        overwrite: whether an existing template may be replaced.
        written: whether this session has written the template, and may replace it.
    """

    path: Path | None = None
    overwrite: bool = False
    written: bool = field(default=False, init=False)

    @property
    def name(self) -> str | None:
        """The last component of the path. The page does not need to know the rest."""
        return None if self.path is None else self.path.name

    def save(self, template: Template) -> None:
        """Write a template.

        Raises:
            ArgumentError: there is no path, it must not be replaced, or it cannot be written.
        """
        if self.path is None:
            raise ArgumentError("The studio was started without --save-to. Download the template instead.")
        if self.path.exists() and not (self.overwrite or self.written):
            raise ArgumentError(
                f'"{self.name}" already exists. Download the template, or start the studio with --overwrite.'
            )
        try:
            template.save(self.path, overwrite=True)
        except ArgumentError as error:
            raise ArgumentError(str(error).replace(str(self.path), f'"{self.name}"')) from error
        except OSError as error:
            reason = error.strerror or "unknown reason"
            raise ArgumentError(f'Cannot write "{self.name}": {reason}.') from error
        self.written = True


class Session:
    """The scenes and templates of one session, and searches for templates in scenes.

    Arguments:
        bounds: the limits of what is kept.
        calibrator: provides calibrations.
        target: where templates are saved.

    Attributes:
        searching: a lock for searches. Only one runs at a time, since it uses all cores and changes settings
            of a detector. It is reentrant, because an export holds it during all its searches.
        latest: the last search, in whichever browser; None: there was none yet.
    """

    def __init__(self, bounds: Bounds, calibrator: Calibrator, target: SaveTarget) -> None:
        self.bounds, self.calibrator, self.target = bounds, calibrator, target
        self.scenes = IdMap[StudioScene]("scene", size=lambda one: _area(one.picture))
        self.templates = IdMap[Template]("template", bounds.templates)
        self.searching = threading.RLock()
        self.latest: SearchRequest | None = None
        self._adding = threading.Lock()
        self._detectors: dict[tuple[object, ...], Detector] = {}

    def add_scene(self, scene: StudioScene) -> str:
        """Keep a scene; returns its id.

        Raises:
            ArgumentError: there are too many scenes, or they have too many pixels.
        """
        with self._adding:  # otherwise two uploads at a time could pass the checks, and exceed the limits
            require(
                len(self.scenes) < self.bounds.scenes,
                f"The studio holds at most {self.bounds.scenes} scenes. Remove some, "
                "or use `wherein detect` for a folder of scenes.",
            )
            require(
                self.scenes.total + _area(scene.picture) <= self.bounds.total_pixels,
                f"The studio holds at most {self.bounds.total_pixels / 1e6:g} million pixels of scenes. "
                "Remove some, or use smaller scenes.",
            )
            return self.scenes.add(scene)

    def add_scene_file(self, path: Path, name: str) -> tuple[list[str], int]:
        """Load and keep each frame of a file as a scene, as many as the limits allow.

        Returns:
            The ids of the scenes, and the number of frames in the file.

        Raises:
            PictureError: the file is damaged or too large.
            ArgumentError: there is no room for its first frame.
        """
        count, keys = count_frames(path), list[str]()
        try:
            for index, picture in enumerate(frames(path, self.bounds.pixels)):
                keys.append(self.add_scene(StudioScene(name, picture, index if count > 1 else None)))
        except ArgumentError:
            if not keys:
                raise
        except WhereinError:  # a damaged frame: a part of the file would pass for the whole
            for key in keys:
                self.scenes.remove(key)
            raise
        return keys, count

    def search(self, request: SearchRequest, scene: StudioScene) -> SearchResult:
        """Search a scene, with the best calibration that is available now."""
        with self.searching:
            detector, kind = self._detector(request)
            self.latest = request
            found = detector(scene.picture, region=request.region)
            return SearchResult(found, detector, detector.threshold, kind)

    def _detector(self, request: SearchRequest) -> tuple[Detector, CalibrationKind]:
        template = self.templates[request.template]
        ranges = Range(request.rotation, request.scale, request.tilt, request.polarity)
        # The detector checks the scale too, but after the calibration, which would fail in its thread with an
        # error that the page does not show.
        require(
            0 < ranges.scale[0] <= ranges.scale[1] <= 100,
            f"Invalid scale range {ranges.scale[0]:g} to {ranges.scale[1]:g}: use 0 < lowest ≤ "
            "highest ≤ 100.",
        )
        # May be a substitute: `kind` is part of the result.
        calibration, kind = self.calibrator(template, ranges)
        # The requested threshold and maximum number are not in the key: they are set on the detector below.
        key = (request.template, ranges, kind, calibration.threshold, request.overlap)
        if key not in self._detectors:
            overlap: dict[str, Any] = {} if request.overlap is None else {"overlap": request.overlap}
            # Only the last detector is kept: detectors are large, and a slider passes through many ranges.
            self._detectors = {
                key: Detector(
                    template,
                    ranges.rotation,
                    ranges.scale,
                    ranges.tilt,
                    polarity=ranges.polarity,
                    calibration=calibration,
                    **overlap,
                )
            }
        detector = self._detectors[key]
        detector.searches[detector.template.name].threshold = request.threshold or calibration.threshold
        detector.max_instances = request.max_instances
        return detector, kind


def _area(picture: Picture) -> int:
    """The number of pixels of a picture."""
    return picture.samples[0].numel()
