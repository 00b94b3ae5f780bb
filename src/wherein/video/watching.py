"""A template, frame by frame."""

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherein.detect.detector import Detector
from wherein.detect.tracker import Frame, Tracker
from wherein.drawing.detections import draw_frame
from wherein.video.reading import Video
from wherein.video.writing import Add, written


@dataclass(frozen=True)
class Watched:
    """One frame of a video, and what was found in it.

    Attributes:
        index: from 0.
        seconds: since the first frame.
        frame: what was found.
    """

    index: int
    seconds: float
    frame: Frame

    def to_dict(self) -> dict[str, Any]:
        """As for a picture, with the frame's number and time, and the number of each object's track."""
        told = self.frame.found.to_dict()
        for item, track in zip(told["detections"], self.frame.tracks, strict=True):
            item["track"] = track
        return {"frame": self.index, "time": round(self.seconds, 4), **told}


def watch(video: Video, detector: Detector, out: Path | None = None, every: int = 10) -> Generator[Watched]:
    """Every frame with what was found in it, as they come.

    Arguments:
        video: an open one.
        detector: what to look for.
        out: an .mp4 for the annotated video, if one is wanted; it is there when all frames were seen, or
            when the iterator is closed or interrupted before.
        every: frames between two looks at everything.

    Raises:
        OSError: the annotated video cannot be written.
    """
    tracker, stopped = Tracker(detector, every), None
    with ExitStack() as stack:
        add: Add | None = None
        if out is not None:
            add = stack.enter_context(written(out, video.size, video.rate))
        try:
            for index, pixels in enumerate(video):
                frame = tracker(pixels)
                if add is not None:
                    add(draw_frame(frame.found.scene, frame.found, frame.tracks))
                yield Watched(index, index / video.rate, frame)
        # Who has seen enough still gets the video of what was seen, so the way out is the usual one.
        except GeneratorExit:
            return
        except KeyboardInterrupt as error:
            stopped = error
    if stopped is not None:
        raise stopped
