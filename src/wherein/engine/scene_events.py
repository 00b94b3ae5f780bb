"""What the work on a scene gives, step by step; the same as JSON, for scenes that are searched elsewhere."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from wherein.detect.result import Detections
from wherein.engine.stored_detections import detections_of, detections_record
from wherein.report.rendered_scene import RenderedScene
from wherein.template.template_library import Library


@dataclass(frozen=True)
class SceneLine:
    """A picture, or a frame of a video: a line of the output.

    Attributes:
        name: of the scene, or of the frame.
        record: the line, for JSON.
        rows: the same for people, a row for each detection.
    """

    name: str
    record: dict[str, Any]
    rows: list[str]


@dataclass(frozen=True)
class PictureDone:
    """The end of a picture, whose line came before.

    Attributes:
        found: number of detections.
        best: template and score of the best candidate, if nothing was found.
        rendered: the scene for the report, if there is one.
        detections: for the export, if there is one.
    """

    found: int
    best: tuple[str, float] | None = None
    rendered: RenderedScene | None = None
    detections: Detections | None = None


@dataclass
class VideoDone:
    """The end of a video, whose lines came before; `seconds` includes decoding, drawing and encoding."""

    frames: int = 0
    frames_with_detections: int = 0
    found: int = 0
    seconds: float = 0.0

    @property
    def length(self) -> str:
        """How many frames it has, and how many of them with detections, as text."""
        return f"{self.frames} frames, {self.frames_with_detections} with detections"

    def __str__(self) -> str:
        return f"{self.length}, {self.frames / max(self.seconds, 1e-9):.1f} frames per second"


@dataclass(frozen=True)
class Unreadable:
    """The end of a scene that cannot be read."""

    reason: str


@dataclass(frozen=True)
class OutsideRegion:
    """The end of a scene that can be read, but of which the region to search has no pixel."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The end of a scene that no worker could search."""

    reason: str


SceneEvent: TypeAlias = SceneLine | PictureDone | VideoDone | Unreadable | OutsideRegion | Failed
"""A scene gives lines, none if it is not searched, and then one of the others."""


def event_record(event: SceneEvent) -> list[Any]:
    """An event for JSON: its kind, and its values."""
    values = dict(vars(event))
    if isinstance(event, PictureDone):
        values["rendered"] = None if event.rendered is None else event.rendered.to_dict()
        values["detections"] = None if event.detections is None else detections_record(event.detections)
    return [type(event).__name__, values]


def event_of(record: list[Any], library: Library) -> SceneEvent:
    """The event of `event_record`."""
    kind, values = record
    if kind != PictureDone.__name__:
        made: SceneEvent = _KINDS[kind](**values)
        return made
    best, rendered, detections = values["best"], values["rendered"], values["detections"]
    return PictureDone(
        values["found"],
        None if best is None else (best[0], best[1]),
        None if rendered is None else RenderedScene.of(rendered),
        None if detections is None else detections_of(detections, library),
    )


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (SceneLine, VideoDone, Unreadable, OutsideRegion)
}
