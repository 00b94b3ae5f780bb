"""`Tracker`: follows objects from frame to frame, and searches again for those that are lost."""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.detector import Detector
from wherein.detect.result import Detection, Detections
from wherein.errors import require
from wherein.images.load import Source, load_picture
from wherein.motion.homography import mapped, square
from wherein.pyramid.levels import Poses

_MAX_STEP = 0.5
"""Fraction of the object's diagonal in the scene. A choice: a detection that is further from a track's last
one is another object."""


@dataclass(frozen=True, eq=False)
class Track:
    """One object over time.

    Attributes:
        number: from 1, in the order of first detection; never used again.
        last: its last detection.
        velocity: motion of the canvas's centre in the scene between the last two frames, (dx, dy).
    """

    number: int
    last: Detection
    velocity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """The detections in one frame of a video.

    Attributes:
        found: the detections.
        tracks: the number of each detection's track.
        searched: whether the whole frame was searched.
    """

    found: Detections
    tracks: tuple[int, ...]
    searched: bool


class Tracker:
    """Finds a template, or several, in one frame after the other.

    The search starts where each object was, and where it would be at constant velocity. That takes a
    fraction of the time of a full search. The whole frame is searched if no object is known, if one was
    lost, and at regular intervals, for objects that have come into view.

    Arguments:
        detector: searches for the template or templates.
        every: number of frames between two full searches; 1 searches every frame. There are none while as
            many objects are tracked as `detector.max_instances` allows.
        region: x, y, width and height of the part of each frame that a full search covers; None: all of it.
            Known objects are followed out of it.

    Raises:
        ArgumentError: `every` is not positive.
    """

    def __init__(
        self,
        detector: Detector,
        every: int = 10,
        region: tuple[float, float, float, float] | None = None,
    ) -> None:
        require(
            every >= 1,
            f"every, the number of frames between full searches, must be 1 or more, but is {every}",
        )
        self.detector, self.every, self.region = detector, every, region
        self.reset()

    def reset(self) -> None:
        """Forget all objects, as before another video."""
        self.tracks: tuple[Track, ...] = ()
        self._count = 0
        self._since = 0

    def __call__(self, frame: Source, color: str = "rgb") -> Frame:
        """The detections in the next frame.

        Arguments:
            frame: a path, an array, a tensor or a PIL image.
            color: "rgb", or "bgr" for an array from OpenCV.
        """
        picture = load_picture(frame, color=color, role="scene")
        began = time.perf_counter()
        expected, names = self._expected() if self.tracks else (np.zeros((0, 3, 3)), ())
        found = self.detector.follow(picture, expected, templates=names) if self.tracks else None
        searched = found is None or self._due(found)
        if not self.tracks:
            found = self.detector(picture, region=self.region)
        elif searched:
            found = self.detector.follow(
                picture, expected, everywhere=True, region=self.region, templates=names
            )
        assert found is not None
        self._since = 0 if searched else self._since + 1
        self.tracks = self._continued(found)
        found = replace(found, seconds=time.perf_counter() - began)
        return Frame(found, tuple(track.number for track in self.tracks), searched)

    def _expected(self) -> tuple[Poses, tuple[str, ...]]:
        """Where each object was, and where it would be at constant velocity, (N, 3, 3), and its template."""
        last = np.stack([square(track.last.matrix) for track in self.tracks])
        velocity = np.stack([track.velocity for track in self.tracks])
        shift = np.repeat(np.eye(3)[None], len(last), axis=0)
        shift[:, :2, 2] = velocity
        # Within a pixel the two lie in one basin of attraction, and one of them is enough.
        moved = np.abs(velocity).max(1) > 1.0
        names = [track.last.template for track in self.tracks]
        names += [name for name, far in zip(names, moved, strict=True) if far]
        return np.concatenate((last, (shift @ last)[moved])), tuple(names)

    def _due(self, found: Detections) -> bool:
        """Whether the whole frame has to be searched, given the detections near known places."""
        if len(found) < len(self.tracks):
            return True
        limit = self.detector.max_instances
        return self._since + 1 >= self.every and (limit is None or len(found) < limit)

    def _continued(self, found: Detections) -> tuple[Track, ...]:
        """The track of each detection: the nearest known one of the same template if it is near enough, each
        once, else a new one."""
        known = self.detector.library.by_name
        free = {track: mapped(track.last.matrix, track.last.middle) for track in self.tracks}
        tracks = []
        for item in found:
            here, template = mapped(item.matrix, item.middle), known[item.template]
            reach = _MAX_STEP * item.scale * float(np.hypot(*template.size))
            steps = {t: here - before for t, before in free.items() if t.last.template == item.template}
            near = min(steps, key=lambda track: float(np.linalg.norm(steps[track])), default=None)
            if near is not None and np.linalg.norm(steps[near]) <= reach:
                del free[near]
                tracks.append(Track(near.number, item, steps[near]))
            else:
                self._count += 1
                tracks.append(Track(self._count, item, np.zeros(2)))
        return tuple(tracks)
