"""`Tracker`: follows objects from frame to frame, and searches again for those that are lost."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.detector import Detector
from wherein.detect.fast.following import Seen
from wherein.detect.result import Detection, Detections
from wherein.errors import require
from wherein.images.load import Source, load_picture
from wherein.images.picture import Picture
from wherein.motion.homography import mapped, square
from wherein.pyramid.levels import Poses

_MAX_STEP = 0.5
"""Fraction of the object's diagonal in the scene. A choice: a detection that is further from a track's last
one is another object."""

SEARCH_INTERVAL = 25
"""Frames between two searches of the whole frame. A choice: once a second of most videos. A search takes
about six times as long as following one object, so that this is a fifth of the time."""


SPREAD_INTERVAL = 8
"""Frames between two measurements of how surely the turn of a part is known. A choice: it takes
a good part of the time of a followed frame, and changes slowly. A part that is lost or fits less well than
before is measured at once."""


@dataclass(frozen=True, eq=False)
class Track:
    """One object over time.

    Attributes:
        number: from 1, in the order of first detection; never used again.
        last: its last detection.
        velocity: motion of the canvas's centre in the scene between the last two frames, (dx, dy).
        rates: degrees by which each part turned between the last two frames, by name.
        age: number of frames before the last in which it was found.
    """

    number: int
    last: Detection
    velocity: NDArray[np.float64]
    rates: Mapping[str, float] = field(default_factory=dict)
    age: int = 0

    def followed(self, last: Detection, velocity: NDArray[np.float64]) -> "Track":
        """The same object a frame later."""
        before = self.last.parts
        rates = {
            name: (part.turn - before[name].turn + 180.0) % 360.0 - 180.0
            for name, part in last.parts.items()
            if part.found and before[name].found
        }
        return Track(self.number, last, velocity, rates, self.age + 1)

    @property
    def seen(self) -> Seen:
        """What was seen of it, for the search in the next frame."""
        # In turn, so that every frame takes about as long.
        turning = [name for name, part in self.last.parts.items() if part.turn_spread is not None]
        due = {name for k, name in enumerate(turning) if (self.age + k) % SPREAD_INTERVAL == 0}
        return Seen(self.last, self.rates, due)


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

    The search starts where each object would be at constant velocity. That takes a fraction of the time of
    a full search. The whole frame is searched if no object is known, if one was
    lost, and at regular intervals, for objects that have come into view.

    Arguments:
        detector: searches for the template or templates.
        every: number of frames between two full searches; 1 searches every frame. There are none while as
            many objects are tracked as `detector.max_instances` allows.
        region: x, y, width and height of the part of each frame that a full search covers; None: all of it.
            Known objects are followed out of it.

    Raises:
        ArgumentError: `every` is not positive, or the detector is none.
    """

    def __init__(
        self,
        detector: Detector,
        every: int = SEARCH_INTERVAL,
        region: tuple[float, float, float, float] | None = None,
    ) -> None:
        given = type(detector).__name__
        require(isinstance(detector, Detector), f"detector must be a wherein.Detector, but is a {given}")
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
        found = None if self._is_due else self._followed(picture)
        searched = found is None or len(found) < len(self.tracks)
        if found is None or searched:
            found = self._searched(picture)
        self._since = 0 if searched else self._since + 1
        self.tracks = self._continued(found)
        found = replace(found, seconds=time.perf_counter() - began)
        return Frame(found, tuple(track.number for track in self.tracks), searched)

    def _followed(self, picture: Picture) -> Detections:
        """The detections near where each object would be at constant velocity.

        From one place for each: two that lead to the same pose would both be fitted, with all limbs, and
        then be compared pixel by pixel, which takes twice as long.
        """
        names = [track.last.template for track in self.tracks]
        seen = [track.seen for track in self.tracks]
        return self.detector.follow(picture, self._expected(), templates=names, seen=seen)

    def _searched(self, picture: Picture) -> Detections:
        """The detections in the whole frame, and near where each object was and where it would be.

        Both, since an object may have stopped or turned round.
        """
        if not self.tracks:
            return self.detector(picture, region=self.region)
        # Within a pixel the two lie in one basin of attraction, and one of them is enough.
        moved = [k for k, track in enumerate(self.tracks) if np.abs(track.velocity).max() > 1.0]
        before = np.concatenate((self._last(), self._expected()[moved]))
        names = [track.last.template for track in self.tracks]
        names += [names[k] for k in moved]
        return self.detector.follow(picture, before, everywhere=True, region=self.region, templates=names)

    def _last(self) -> Poses:
        """Where each object was, (N, 3, 3)."""
        return np.stack([square(track.last.matrix) for track in self.tracks])

    def _expected(self) -> Poses:
        """Where each object would be at constant velocity, (N, 3, 3)."""
        shift = np.repeat(np.eye(3)[None], len(self.tracks), axis=0)
        shift[:, :2, 2] = [track.velocity for track in self.tracks]
        return shift @ self._last()

    @property
    def _is_due(self) -> bool:
        """Whether the whole frame has to be searched for objects that are not known."""
        if not self.tracks:
            return True
        limit = self.detector.max_instances
        return self._since + 1 >= self.every and (limit is None or len(self.tracks) < limit)

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
                tracks.append(near.followed(item, steps[near]))
            else:
                self._count += 1
                tracks.append(Track(self._count, item, np.zeros(2)))
        return tuple(tracks)
