"""The work on one scene: reading, searching, drawing, and rendering for the report."""

import time
from collections.abc import Callable, Generator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wherein.detect.arguments import region_box
from wherein.detect.tiled.giant_search import giant_source
from wherein.engine.manifest import Entry
from wherein.engine.scene_events import (
    OutsideRegion,
    PictureDone,
    SceneEvent,
    SceneLine,
    Unreadable,
    VideoDone,
)
from wherein.engine.scene_rows import detection_rows
from wherein.errors import MissingError, PictureError, RegionError
from wherein.files import save, write_errors
from wherein.giant.opened import opened
from wherein.images.decode import as_picture_error, size_in_header, strict_pillow
from wherein.images.load import MAX_PIXELS, load_picture
from wherein.images.picture import Picture, dimness
from wherein.report.films.key_frames import KeyFrames
from wherein.report.rendered_scene import SceneRenderer, VideoFacts
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.video.source import Video, camera_index, open_video

if TYPE_CHECKING:
    from wherein.detect.detector import Detector

Box = tuple[int, int, int, int]
"""x, y, width and height in pixels."""


@dataclass(frozen=True)
class WorkSettings:
    """What is done with each scene besides searching it.

    Attributes:
        region: the part of each scene that is searched; None: the whole scene.
        page: number of scenes in the report; None: there is no report, and scenes are not rendered.
        maps: whether the report has occurrence maps.
        export: whether detections are exported.
        memory: maximum memory of a process in bytes; None: as much as a picture needs.
    """

    region: Box | None = None
    page: int | None = None
    maps: bool = False
    export: bool = False
    memory: int | None = None


def read_scene(path: Path, memory: int | None, region: Box | None = None) -> "Picture | Path":
    """A scene; or its path, if it is so large that it is read by region during the search.

    Arguments:
        path: the path of the scene.
        memory: maximum memory of this process in bytes; None: as much as a picture needs.
        region: the part that will be searched; None: the whole scene.

    Raises:
        PictureError: it cannot be read.
        MissingError: the package that reads it is not installed.
        RegionError: the region lies outside the scene.
    """
    source = giant_source(path, memory)
    if source is None:
        picture = load_picture(path)
        height, width = picture.samples.shape[-2:]
        region_box(region, width, height)
        return picture
    source.close()
    region_box(region, *source.size)
    return path


def is_searchable(entry: Entry, region: Box | None = None) -> bool:
    """Whether a scene has the header of a picture with pixels in the region, or is a video.

    Nothing is decoded: a picture that kills the process that decodes it must kill a worker only. So the
    search may still find that the scene cannot be read.
    """
    path = entry.scene.path
    if entry.scene.error is not None or entry.scene.is_video:
        return entry.scene.error is None
    try:
        size = _size_in_header(path)
        # Either way, since a picture may be stored lying on its side.
        region_box(region, max(size), max(size))
    except (PictureError, MissingError, RegionError):
        return False
    return True


def _size_in_header(path: Path) -> tuple[int, int]:
    source = opened(path, None)
    if source is not None:
        with source:
            return source.size
    with as_picture_error(str(path)), strict_pillow():
        return size_in_header(path, MAX_PIXELS)


class SceneWork:
    """Searches scenes, one after the other.

    Arguments:
        detector: returns the detector. It is called when a scene has been read: a calibration may take a
            minute, and a misspelled file name should be reported before that.
        settings: what else is done with each scene.
    """

    def __init__(self, detector: Callable[[], "Detector"], settings: WorkSettings) -> None:
        self.detector, self.settings = detector, settings
        self._renderer: SceneRenderer | None = None

    def __call__(self, entry: Entry) -> Generator[SceneEvent]:
        """The events of a scene, each yielded as soon as it is known.

        Raises:
            UnwritableError: its drawing cannot be written.
        """
        if entry.scene.error is not None:
            yield Unreadable(entry.scene.error)
            return
        try:
            yield from self._video(entry) if entry.scene.is_video else self._picture(entry)
        except (PictureError, MissingError) as error:
            # Lines of results begin with the path anyway.
            yield Unreadable(str(error).removeprefix(f"{entry.scene.path}: "))
        except RegionError as error:  # not an error of the run: other scenes may be larger
            yield OutsideRegion(str(error))

    def _picture(self, entry: Entry) -> Generator[SceneEvent]:
        path, stopwatch = entry.scene.path, Stopwatch()
        with stopwatch("reading"):
            scene = read_scene(path, self.settings.memory, self.settings.region)
        detector = self.detector()
        found = detector(scene, region=self.settings.region)
        stopwatch.laps[SEARCH] = found.seconds
        yield SceneLine(str(path), {"scene": str(path), **found.to_dict()}, detection_rows(found))
        if entry.drawing is not None:
            with stopwatch("drawing"):
                save(found.draw(), entry.drawing)
        rendered = None
        if self.settings.page is not None:
            renderer = self._page_renderer(self.settings.page)
            rendered = renderer(entry.number, str(path), found, detector, self.settings.maps, stopwatch)
        near = None if found or not found.candidates else found.candidates[0]
        best = None if near is None else (near.template, float(near.score))
        note = dimness(scene) if isinstance(scene, Picture) else None
        yield PictureDone(len(found), best, rendered, found if self.settings.export else None, note)

    def _page_renderer(self, scenes: int) -> SceneRenderer:
        self._renderer = self._renderer or SceneRenderer(self.detector().library, scenes)
        return self._renderer

    def _video(self, entry: Entry) -> Generator[SceneEvent]:
        counts, path, page = VideoDone(), str(entry.scene.path), self.settings.page
        key_frames = None if page is None else KeyFrames()
        try:
            with open_video(path) as video:
                yield from self._frames(path, video, entry.drawing, counts, key_frames)
        except KeyboardInterrupt:
            if camera_index(path) is None:  # Ctrl-C is the usual way to stop a camera
                raise
        if page is not None and key_frames is not None and counts.frames:
            facts = VideoFacts(
                counts.found, counts.seconds, None if entry.drawing is None else str(entry.drawing)
            )
            renderer = self._page_renderer(page)
            counts.rendered = renderer.video(entry.number, path, key_frames, self.detector(), facts)
        yield counts if counts.frames else Unreadable("no frame can be read")

    def _frames(
        self,
        path: str,
        video: Video,
        drawing: Path | None,
        counts: VideoDone,
        key_frames: KeyFrames | None,
    ) -> Generator[SceneEvent]:
        """One line for each frame.

        Frames are counted in `counts`, and the report's are kept in `key_frames`: the caller has both, also
        after Ctrl-C.
        """
        from wherein.video.tracking import track_frames  # only videos need it

        detector = self.detector()  # before the clock starts, since it may calibrate
        began = time.perf_counter()
        errors = write_errors(drawing) if drawing is not None else nullcontext()
        with errors, closing(track_frames(video, detector, drawing, region=self.settings.region)) as frames:
            for frame in frames:
                found = frame.frame.found
                counts.frames += 1
                counts.frames_with_detections += len(found) > 0
                counts.found += len(found)
                counts.seconds = time.perf_counter() - began
                if key_frames is not None:
                    key_frames.add(frame.index, frame.seconds, found)
                rows = detection_rows(found, frame.frame.tracks)
                yield SceneLine(f"{path}: {frame.index}", {"scene": path, **frame.to_dict()}, rows)
