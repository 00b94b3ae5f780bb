"""Objects from frame to frame: the last pose begins the next search, and who is lost is searched anew."""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.detector import Detector
from wherein.detect.result import Detection, Detections
from wherein.errors import require
from wherein.images.load import Source, load_picture
from wherein.pyramid.levels import Poses

_STRIDE = 0.5
"""Of the canvas's diagonal in the scene: who has moved further between two frames is someone else."""


@dataclass(frozen=True, eq=False)
class Track:
    """One object over time.

    Attributes:
        number: from 1, in the order in which they came; never given twice.
        now: its last detection.
        pace: how its root moved between the last two frames, (dx, dy) of the canvas's centre in the scene.
    """

    number: int
    now: Detection
    pace: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """What is found in one frame.

    Attributes:
        found: the detections.
        tracks: the number of each one's track.
        searched: whether the whole frame was looked at.
    """

    found: Detections
    tracks: tuple[int, ...]
    searched: bool


class Tracker:
    """SearchResult a template in one frame after the other.

    Where an object was, and where it would be if it went on as it did, the search begins; that takes a part
    of the time of a look at everything. Everything is looked at where nothing is known, where someone was
    lost, and every so many frames, for those who have come in since.

    Arguments:
        detector: what to look for, in which poses.
        every: frames between two looks at everything; 1 is every frame. With as many tracks as
            `detector.max_instances` there is nobody to look for.
    """

    def __init__(self, detector: Detector, every: int = 10) -> None:
        require(
            every >= 1, f"every is {every}: give the number of frames between two full searches, 1 or more"
        )
        self.detector, self.every = detector, every
        self.reset()

    def reset(self) -> None:
        """Forget everyone, as for another video."""
        self.tracks: tuple[Track, ...] = ()
        self._count = 0
        self._since = 0

    def __call__(self, frame: Source, color: str = "rgb") -> Frame:
        """What is found in the next frame.

        Arguments:
            frame: a path, an array, a tensor or a PIL image.
            color: "rgb", or "bgr" for arrays that come from OpenCV.
        """
        picture = load_picture(frame, color=color, role="scene")
        began = time.perf_counter()
        found = self.detector.follow(picture, self._expected()) if self.tracks else None
        searched = found is None or self._due(found)
        if not self.tracks:
            found = self.detector(picture)
        elif searched:
            found = self.detector.follow(picture, self._expected(), everywhere=True)
        assert found is not None
        self._since = 0 if searched else self._since + 1
        self.tracks = self._continued(found)
        found = replace(found, seconds=time.perf_counter() - began)
        return Frame(found, tuple(track.number for track in self.tracks), searched)

    def _expected(self) -> Poses:
        """Where everyone was, and where they would be if they went on."""
        there = np.stack([track.now.matrix for track in self.tracks])
        further = there.copy()
        further[:, :, 2] += np.stack([track.pace for track in self.tracks])
        moved = np.abs(further - there).max((1, 2)) > 1.0
        return np.concatenate((there, further[moved]))

    def _due(self, found: Detections) -> bool:
        """Whether the whole frame is to be looked at."""
        if len(found) < len(self.tracks):
            return True
        most = self.detector.max_instances
        return self._since + 1 >= self.every and (most is None or len(found) < most)

    def _continued(self, found: Detections) -> tuple[Track, ...]:
        """A track a detection: the nearest of those before, each once, else a new one."""
        centre = np.array((*self.detector.template.centre, 1.0))
        free = list(self.tracks)
        tracks = []
        for item in found:
            here = item.matrix @ centre
            reach = _STRIDE * item.scale * float(np.hypot(*self.detector.template.size))
            near = min(free, key=lambda t: float(np.linalg.norm(t.now.matrix @ centre - here)), default=None)
            if near is not None and np.linalg.norm(near.now.matrix @ centre - here) <= reach:
                free.remove(near)
                tracks.append(Track(near.number, item, here - near.now.matrix @ centre))
            else:
                self._count += 1
                tracks.append(Track(self._count, item, np.zeros(2)))
        return tuple(tracks)
