"""What `wherein detect` does with a video or a camera: a line a frame."""

import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherein.cli.places import writing
from wherein.cli.work import UnreadableError
from wherein.detect.detector import Detector
from wherein.errors import MissingError, PictureError
from wherein.video.source import Video
from wherein.video.source import camera_index as camera
from wherein.video.source import open_video as opened
from wherein.video.tracking import track_frames as watch


@dataclass
class Seen:
    """How a video went.

    Attributes:
        path: the file, or the camera.
        frames: how many there were.
        shown: in how many the object was found.
        found: how many objects there were in all frames.
        seconds: from the first frame to the last, with decoding, drawing and encoding.
    """

    path: Path
    frames: int = 0
    shown: int = 0
    found: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        rate = self.frames / max(self.seconds, 1e-9)
        return f"{self.path}: {self.frames} frames, {self.shown} with it, {rate:.1f} frames a second"


def watched(
    path: Path, detector: Callable[[], Detector], out: Path | None, say: Callable[[dict[str, Any]], None]
) -> Seen:
    """Watch all of it; a camera until Ctrl-C.

    Arguments:
        path: a file, or camera:0.
        detector: gives the detector; asked when the video could be opened.
        out: the annotated video, if one is wanted.
        say: is given the record of each frame.

    Raises:
        UnreadableError: it cannot be opened.
        UnwritableError: the annotated video cannot be written.
    """
    seen = Seen(path)
    try:
        with opened(str(path)) as video:
            _frames(video, detector(), out, say, seen)
    except (PictureError, MissingError) as error:
        raise UnreadableError("scene", path, error) from error
    except KeyboardInterrupt:
        if camera(str(path)) is None:
            raise
    return seen


def _frames(
    video: Video, detector: Detector, out: Path | None, say: Callable[[dict[str, Any]], None], seen: Seen
) -> None:
    began = time.perf_counter()
    with writing(out) if out is not None else nullcontext(), closing(watch(video, detector, out)) as frames:
        for one in frames:
            say({"scene": str(seen.path), **one.to_dict()})
            seen.frames += 1
            seen.shown += bool(len(one.frame.found))
            seen.found += len(one.frame.found)
            seen.seconds = time.perf_counter() - began
