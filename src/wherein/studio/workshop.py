"""What a session of the studio holds, and what it works out: pictures, scenes, templates, detections."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from wherein.detect import Detections, Detector
from wherein.detect.fast.finder import Range
from wherein.detect.fast.score import not_above
from wherein.errors import require
from wherein.images.load import Picture, load_picture
from wherein.studio.calibrating import Calibrator, Ground
from wherein.studio.compiling import Sheet, compiled
from wherein.studio.draft import Draft
from wherein.studio.limits import Limits
from wherein.studio.opening import opened, sheet_of
from wherein.studio.shelf import Shelf
from wherein.template import Template


class Wish(BaseModel):
    """What to look for.

    Attributes:
        template: an id.
        rotation: ± degrees.
        scale: lowest and highest.
        threshold: the least score; None: the calibrated one.
        max_instances: the most in a scene; None: all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: str
    rotation: Annotated[FiniteFloat, Field(ge=0, le=180)] = 180.0
    scale: tuple[FiniteFloat, FiniteFloat] = (1.0, 1.0)
    threshold: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = None
    max_instances: Annotated[int, Field(ge=1, le=1000)] | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture to look in, under its label."""

    name: str
    picture: Picture

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        height, width = self.picture.pixels.shape[-2:]
        return width, height


def area(picture: Picture) -> int:
    """In pixels."""
    return picture.pixels[0].numel()


@dataclass(frozen=True, eq=False)
class Found:
    """What was found in a scene, by whom, from which score on, and on what ground."""

    detections: Detections
    detector: Detector
    threshold: float
    ground: Ground

    def to_dict(self) -> dict[str, Any]:
        """For the page: as the command prints it, with the threshold, and how rare such scores are."""
        known, missed = self.detector.calibration, self.detections.missed
        told = self.detections.to_dict()
        if self.ground is Ground.MEASURED and known is not None:
            for record, item in zip(told["detections"], self.detections, strict=True):
                record["chance"] = known.describe_false_alarms(item.score)
        return told | {
            "ground": str(self.ground),
            "threshold": round(self.threshold, 4),
            "missed": None if missed is None else not_above(missed.score),
            "calibrated": None if known is None else round(known.threshold, 4),
            "doubts": known.doubts if known is not None and self.ground is Ground.MEASURED else [],
        }


class Workshop:
    """One session.

    Arguments:
        limits: on what is held.
        calibrator: makes calibrations.

    Attributes:
        searching: held by who searches: it takes all cores, and a detector serves one wish at a time.
    """

    def __init__(self, limits: Limits, calibrator: Calibrator) -> None:
        self.limits, self.calibrator = limits, calibrator
        self.sheets = Shelf[Sheet]("picture", limits.pictures, lambda one: area(one.picture), limits.held)
        self.scenes = Shelf[Scene]("scene", weight=lambda one: area(one.picture))
        self.templates = Shelf[Template]("template", limits.templates)
        self.searching = threading.RLock()
        self._admitting = threading.Lock()
        self._detectors: dict[tuple[object, ...], Detector] = {}

    def add_sheet(self, path: Path, name: str) -> str:
        """Hold a picture to outline on; its id."""
        return self.sheets.put(Sheet(name, load_picture(path, max_pixels=self.limits.pixels)))

    def open(self, template: Template, name: str) -> tuple[str, Draft]:
        """Hold a template's canvas to go on with; its id, and the draft on it."""
        draft = opened(template, "")
        key = self.sheets.put(Sheet(name, sheet_of(template), template, draft))
        return key, draft.model_copy(update={"picture": key})

    def open_file(self, path: Path, name: str) -> tuple[str, Draft]:
        """The same, of a .zip that will not stay where it is."""
        return self.open(replace(Template.load(path, self.limits.held), source=None), name)

    def add_scene(self, picture: Picture, name: str) -> str:
        """Hold a scene; its id.

        Raises:
            ArgumentError: there are too many, or too large ones.
        """
        with self._admitting:
            require(
                len(self.scenes) < self.limits.scenes,
                f"the studio holds {self.limits.scenes} scenes at most: remove some first, "
                "or give a whole folder to `wherein detect`",
            )
            require(
                self.scenes.total + area(picture) <= self.limits.held,
                f"the studio holds {self.limits.held / 1e6:g} million pixels of scenes at most: "
                "remove some first, or give smaller ones",
            )
            return self.scenes.put(Scene(name, picture))

    def read_scene(self, path: Path, name: str) -> str:
        """Hold a scene from a file; its id."""
        return self.add_scene(load_picture(path, max_pixels=self.limits.pixels), name)

    def compile(self, draft: Draft) -> tuple[str, Template]:
        """Make a draft's template, and hold it; its id, and itself."""
        sheet = self.sheets[draft.picture]
        if sheet.drafted is not None:  # which was made before its picture had an id
            draft = draft.model_copy(update={"picture": ""})
        template = compiled(draft, sheet)
        return self.templates.put(template), template

    def find(self, wish: Wish, scene: Scene) -> Found:
        """Look for the template in a scene, by the best calibration that there is now."""
        with self.searching:
            detector, ground = self._detector(wish)
            return Found(detector(scene.picture), detector, detector.threshold, ground)

    def _detector(self, wish: Wish) -> tuple[Detector, Ground]:
        template = self.templates[wish.template]
        ranges = Range(wish.rotation, wish.scale)
        # Before any calibration, for its errors.
        require(
            0 < ranges.scale[0] <= ranges.scale[1] <= 100,
            f"scales {ranges.scale[0]:g} to {ranges.scale[1]:g}: the lowest must be above 0 "
            "and not above the highest",
        )
        calibration, ground = self.calibrator(template, ranges)
        key = (wish.template, ranges, ground, calibration.threshold)
        if key not in self._detectors:
            # Of one template and range at a time: they are large, and who turns a knob goes through many.
            self._detectors = {
                key: Detector(template, ranges.rotation, ranges.scale, calibration=calibration)
            }
        detector = self._detectors[key]
        detector.search.threshold = wish.threshold or calibration.threshold
        detector.max_instances = wish.max_instances
        return detector, ground
