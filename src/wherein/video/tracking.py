"""Detect a template in every frame of a video, and annotate the video."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wherein.detect.arguments import Region
from wherein.detect.detector import Detector
from wherein.detect.tracker import SEARCH_INTERVAL, Frame, Tracker
from wherein.drawing.detections import draw_frame
from wherein.images.eight_bit import to_image
from wherein.images.load import Source, load_picture
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
    region: Region | None = None,
) -> Generator[VideoFrame]:
    """Detect a template in each frame, one frame at a time.

    Objects are followed from frame to frame. Pages have nothing to do with each other, so each is searched as
    a picture of its own, and each detection has a track of its own.

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
    next_frame: Callable[[Source], Frame] = Tracker(detector, every, region)
    if video.pages:
        next_frame = _PageSearch(detector, region)
    interrupt: KeyboardInterrupt | None = None
    with ExitStack() as stack:
        add: AddFrame | None = None
        if out is not None:
            add = stack.enter_context(write_video(out, video.size, video.rate))
        try:
            for index, pixels in enumerate(video):
                frame = next_frame(pixels)
                found = frame.found
                if add is not None:
                    # The video thread draws: only the arguments are prepared here.
                    image = _image(pixels, video.size)
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


class _PageSearch:
    """Searches pages, and numbers the detections as a tracker does."""

    def __init__(self, detector: Detector, region: Region | None) -> None:
        self.detector, self.region, self._count = detector, region, 0

    def __call__(self, page: Source) -> Frame:
        found = self.detector(page, region=self.region)
        first, self._count = self._count + 1, self._count + len(found)
        return Frame(found, tuple(range(first, self._count + 1)), searched=True)


def _image(pixels: NDArray[Any], size: tuple[int, int]) -> Image.Image:
    """A frame as it is drawn: RGB of 8 bits; a smaller page is at the top left of a black picture."""
    deep = pixels.dtype != np.uint8
    image = to_image(load_picture(pixels).pixels) if deep else Image.fromarray(pixels)
    if image.size == size:
        return image
    canvas = Image.new("RGB", size)
    canvas.paste(image)
    return canvas
