"""The frames of a video that the report shows, collected while the video is searched."""

from array import array
from dataclasses import dataclass, field

from wherein.detect.result import Detections


@dataclass(frozen=True, eq=False)
class KeyFrame:
    """A frame.

    Attributes:
        index: its number, from 0.
        seconds: its time since the first frame.
        found: its detections.
    """

    index: int
    seconds: float
    found: Detections

    @property
    def score(self) -> float:
        """The score of its best detection, or else of its best near miss, or else 0."""
        return next((item.score for item in (*self.found, *self.found.candidates)), 0.0)


@dataclass
class KeyFrames:
    """Keeps the key frames of a video and the scores of all frames; at most seven frames are in memory.

    Attributes:
        scores: the score of the best detection of each frame; −1 where nothing was found.
        best: the frame with the best detection, or else with the best near miss, or else the first.
        last: the last frame so far.
        first_found, last_found: the first and the last frame with detections; None if there is none.
        lost: the first frame of the longest gap between detections; None if there is no gap.
    """

    scores: "array[float]" = field(default_factory=lambda: array("f"))
    best: KeyFrame | None = None
    last: KeyFrame | None = None
    first_found: KeyFrame | None = None
    last_found: KeyFrame | None = None
    lost: KeyFrame | None = None
    _gap: KeyFrame | None = None
    _longest: int = 0

    def add(self, index: int, seconds: float, found: Detections) -> None:
        """Consider a frame; frames are given in order."""
        self.last = frame = KeyFrame(index, seconds, found)
        self.scores.append(found[0].score if found else -1)
        # Every detection is better than every near miss.
        if self.best is None or (bool(found), frame.score) > (bool(self.best.found), self.best.score):
            self.best = frame
        if not found:
            self._gap = self._gap or (frame if self.first_found else None)
            return
        if self._gap is not None and index - self._gap.index > self._longest:
            self.lost, self._longest = self._gap, index - self._gap.index
        self.first_found, self.last_found, self._gap = self.first_found or frame, frame, None

    def shown(self) -> list[tuple[KeyFrame, str]]:
        """The key frames in their order, each once, and what each of them is."""
        # If the object is not found again, it was lost after the last detection.
        lost = self._gap if self._gap is not None and self._beyond_longest() else self.lost
        best = "best" if self.first_found else "best near miss" if self.best and self.best.score else "first"
        named = (
            (self.first_found, "first found"),
            (self.best, best),
            (lost, "lost"),
            (self.last_found, "last found"),
        )
        frames = {frame.index: frame for frame, _ in named if frame is not None}
        return [
            (frames[index], ", ".join(text for frame, text in named if frame is frames[index]))
            for index in sorted(frames)
        ]

    def _beyond_longest(self) -> bool:
        assert self._gap is not None and self.last is not None
        return self.last.index + 1 - self._gap.index > self._longest
