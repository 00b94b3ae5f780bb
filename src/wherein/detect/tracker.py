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
"""Maximum step of a track between two frames, as a fraction of the object's diagonal in the scene. A choice:
a detection further away is another object."""

SEARCH_INTERVAL = 25
"""Frames between two searches of the whole frame. A choice: about once a second in most videos. A search
takes about six times as long as following one object, so searches take a fifth of the time: 6 of 24 + 6."""


SPREAD_INTERVAL = 8
"""Frames between two measurements of the turn spread of a part (`PartFound.turn_spread`). A choice: the
measurement takes a good part of the time of a followed frame, and the spread changes slowly. A part that is
lost or fits less well than before is measured at once."""


@dataclass(frozen=True, eq=False)
class Track:
    """One object over time.

    Attributes:
        number: from 1, in the order of first detection; never used again.
        last: its last detection.
        velocity: motion of the canvas's centre in the scene between the last two frames, (dx, dy).
        rates: degrees by which each part turned between the last two frames, by name; only parts that were
            found in both.
        age: number of frames in which it was found before the last one.
    """

    number: int
    last: Detection
    velocity: NDArray[np.float64]
    rates: Mapping[str, float] = field(default_factory=dict)
    age: int = 0

    def followed(self, last: Detection, velocity: NDArray[np.float64]) -> "Track":
        """The track with the detection of the next frame.

        Arguments:
            last: the detection in the next frame.
            velocity: motion of the canvas's centre since then, (dx, dy).
        """
        before = self.last.parts
        # Differences of turns modulo 360°, in [−180°, 180°): from 179° to −179° a part turns by 2°.
        rates = {
            name: (part.turn - before[name].turn + 180.0) % 360.0 - 180.0
            for name, part in last.parts.items()
            if part.found and before[name].found
        }
        return Track(self.number, last, velocity, rates, self.age + 1)

    @property
    def seen(self) -> Seen:
        """What is known of it, for the search in the next frame."""
        # Spreads are measured in rotation, not all in the same frame, so that frames take about equally long.
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
    """Finds one or several templates in the frames of a video, and follows the objects.

    In each frame, an object is searched for where it would be at constant velocity, which takes a fraction of
    the time of a full search. The whole frame is searched if no object is known, if one was lost, and at
    regular intervals, for objects that have come into view.

    Arguments:
        detector: searches for the template or templates.
        every: number of frames between two full searches; 1 searches every frame. There are none while as
            many objects are tracked as `detector.max_instances` allows.
        region: x, y, width and height of the part of each frame that a full search covers; None: all of it.
            Known objects are also followed outside of it.

    Raises:
        ArgumentError: `every` is not positive, or `detector` is not a `Detector`.
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
        """Forget all objects, for another video."""
        self.tracks: tuple[Track, ...] = ()
        self._count = 0
        self._frames_since_search = 0

    def __call__(self, frame: Source, color: str = "rgb") -> Frame:
        """The detections in the next frame.

        Arguments:
            frame: a path, an array, a tensor or a PIL image.
            color: "rgb", or "bgr" for an array from OpenCV.
        """
        picture = load_picture(frame, color=color, role="scene")
        began = time.perf_counter()
        found = None if self._is_due else self._followed(picture)
        # Fewer detections than tracks: an object is lost. It may have left, or moved further than expected.
        searched = found is None or len(found) < len(self.tracks)
        if found is None or searched:
            found = self._searched(picture)
        self._frames_since_search = 0 if searched else self._frames_since_search + 1
        # A track without a detection ends here. If the object comes back later, it gets a new number.
        self.tracks = self._continued(found)
        # The time of the whole frame: that of following, and of a full search if an object was lost.
        found = replace(found, seconds=time.perf_counter() - began)
        return Frame(found, tuple(track.number for track in self.tracks), searched)

    def _followed(self, picture: Picture) -> Detections:
        """The detections near where each object would be at constant velocity.

        There is one start for each object, and not its last pose as well: two starts that lead to the same
        pose would both be fitted, with all limbs, and then be compared pixel by pixel, which takes twice as
        long.
        """
        names = [track.last.template for track in self.tracks]
        seen = [track.seen for track in self.tracks]
        return self.detector.follow(picture, self._expected(), templates=names, seen=seen)

    def _searched(self, picture: Picture) -> Detections:
        """The detections in the whole frame, near the last pose of each object, and near its expected one.

        Both poses, since an object may have stopped or turned round.
        """
        if not self.tracks:
            return self.detector(picture, region=self.region)
        # Up to a pixel apart, both poses lie in the same basin of attraction, and one of them is enough.
        moved = [k for k, track in enumerate(self.tracks) if np.abs(track.velocity).max() > 1.0]
        before = np.concatenate((self._last(), self._expected()[moved]))
        names = [track.last.template for track in self.tracks]
        names += [names[k] for k in moved]
        return self.detector.follow(picture, before, everywhere=True, region=self.region, templates=names)

    def _last(self) -> Poses:
        """The last pose of each object, (N, 3, 3)."""
        return np.stack([square(track.last.matrix) for track in self.tracks])

    def _expected(self) -> Poses:
        """The expected pose of each object at constant velocity, (N, 3, 3)."""
        # Only the position is extrapolated: parts have their own `rates`, and sizes change slowly.
        shift = np.repeat(np.eye(3)[None], len(self.tracks), axis=0)
        shift[:, :2, 2] = [track.velocity for track in self.tracks]
        return shift @ self._last()

    @property
    def _is_due(self) -> bool:
        """Whether it is time to search the whole frame for objects that are not known."""
        if not self.tracks:
            return True
        # While `max_instances` objects are tracked, there is no other to search for.
        limit = self.detector.max_instances
        return self._frames_since_search + 1 >= self.every and (limit is None or len(self.tracks) < limit)

    def _continued(self, found: Detections) -> tuple[Track, ...]:
        """The track of each detection: the nearest one of the same template that is still free and within
        reach, otherwise a new one.

        Greedy, in descending order of score: the surest detections choose first.
        """
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
