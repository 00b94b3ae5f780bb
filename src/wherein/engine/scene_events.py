"""The events of the work on a scene, and their conversion from and to JSON, in which workers store them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from wherein.detect.result import Detections
from wherein.engine.stored_detections import detections_of, detections_record
from wherein.report.rendered_scene import RenderedScene
from wherein.template.template_library import Library


@dataclass(frozen=True)
class SceneLine:
    """The detections in a picture or in a frame of a video: one line of the output.

    Attributes:
        name: the name of the scene or the frame.
        record: the line as a dictionary for JSON.
        rows: the same as rows of the table on a terminal, one for each detection.
    """

    name: str
    record: dict[str, Any]
    rows: list[str]


@dataclass(frozen=True)
class PictureDone:
    """The end of a picture, after its line.

    Attributes:
        found: number of detections.
        best: template and score of the best candidate, if nothing was found.
        rendered: the scene for the report, if a report is made.
        detections: the detections for the export, if there is an export.
        note: what is wrong with the picture; None: nothing.
    """

    found: int
    best: tuple[str, float] | None = None
    rendered: RenderedScene | None = None
    detections: Detections | None = None
    note: str | None = None


@dataclass
class VideoDone:
    """The end of a video, after its lines.

    Attributes:
        frames: number of frames.
        frames_with_detections: number of frames with detections.
        found: number of detections in all frames.
        seconds: the time of the search, including decoding, drawing and encoding.
        rendered: the video for the report, if a report is made.
    """

    frames: int = 0
    frames_with_detections: int = 0
    found: int = 0
    seconds: float = 0.0
    rendered: RenderedScene | None = None

    def __str__(self) -> str:
        length = f"{self.frames} frames, {self.frames_with_detections} with detections"
        return f"{length}, {self.frames / max(self.seconds, 1e-9):.1f} frames per second"


@dataclass(frozen=True)
class Unreadable:
    """The end of a scene that cannot be read."""

    reason: str


@dataclass(frozen=True)
class OutsideRegion:
    """The end of a scene that can be read, but has no pixel in the region to search."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The end of a scene that no worker could search."""

    reason: str


SceneEvent: TypeAlias = SceneLine | PictureDone | VideoDone | Unreadable | OutsideRegion | Failed
"""The events of a scene are its lines (none if it is not searched), followed by one of the others."""


def event_record(event: SceneEvent) -> list[Any]:
    """An event as a JSON list: its kind and its values."""
    # Not `asdict`, which would copy the detections with all their arrays.
    values = dict(vars(event))
    if isinstance(event, PictureDone | VideoDone):
        values["rendered"] = None if event.rendered is None else event.rendered.to_dict()
    if isinstance(event, PictureDone):
        values["detections"] = None if event.detections is None else detections_record(event.detections)
    return [type(event).__name__, values]


def event_of(record: list[Any], library: Library) -> SceneEvent:
    """The event from a record that `event_record` made."""
    kind, values = record
    if values.get("rendered") is not None:
        values = {**values, "rendered": RenderedScene.of(values["rendered"])}
    if kind != PictureDone.__name__:
        made: SceneEvent = _KINDS[kind](**values)
        return made
    best, rendered, detections = values["best"], values["rendered"], values["detections"]
    return PictureDone(
        values["found"],
        None if best is None else (best[0], best[1]),
        rendered,
        None if detections is None else detections_of(detections, library),
        values.get("note"),
    )


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (SceneLine, VideoDone, Unreadable, OutsideRegion)
}
"""The events that are made from their values alone. `Failed` is missing: it is never stored."""
