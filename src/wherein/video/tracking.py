"""Detect a template in every frame of a video, and annotate the video."""

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from wherein.detect.detector import Detector
from wherein.detect.tracker import SEARCH_INTERVAL, Frame, Tracker
from wherein.drawing.detections import draw_frame
from wherein.video.source import Video
from wherein.video.video_writer import AddFrame, write_video


@dataclass(frozen=True)
class VideoFrame:
    """The detections in one frame of a video.

    Attributes:
        index: frame number, from 0.
        seconds: time since the first frame.
        frame: the detections and their tracks.
    """

    index: int
    seconds: float
    frame: Frame

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON: that of a scene, with the frame's number and time, and track numbers."""
        record = self.frame.found.to_dict()
        for item, track in zip(record["detections"], self.frame.tracks, strict=True):
            item["track"] = track
        return {"frame": self.index, "time": round(self.seconds, 4), **record}


def track_frames(
    video: Video,
    detector: Detector,
    out: Path | None = None,
    every: int = SEARCH_INTERVAL,
    region: tuple[float, float, float, float] | None = None,
) -> Generator[VideoFrame]:
    """Detect a template in each frame, one frame at a time.

    Arguments:
        video: an open video.
        detector: the detector, with its template and search range.
        out: .webm or .mp4 file for the annotated video; None: none is written. The file appears after the
            last frame, or when the generator is closed or interrupted.
        every: the interval, in frames, between two searches of the whole frame.
        region: x, y, width and height of the part of each frame that is searched; None: the whole frame.

    Raises:
        OSError: the annotated video cannot be written.
    """
    # The tracker keeps state between frames, so frames are processed in order in this thread.
    tracker, interrupt = Tracker(detector, every, region), None
    with ExitStack() as stack:
        add: AddFrame | None = None
        if out is not None:
            add = stack.enter_context(write_video(out, video.size, video.rate))
        try:
            for index, pixels in enumerate(video):
                frame = tracker(pixels)
                found = frame.found
                if add is not None:
                    # The video thread draws: only the arguments are prepared here.
                    image = Image.fromarray(pixels)
                    add(partial(draw_frame, image, found, frame.tracks, named=bool(found.templates)))
                yield VideoFrame(index, index / video.rate, frame)
        # An exception would make `write_video` discard its file. A user who stops early wants the frames so
        # far. Therefore the block ends normally, and the interrupt is raised after it.
        except GeneratorExit:
            return
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
