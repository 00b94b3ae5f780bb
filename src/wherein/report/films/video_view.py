"""A video in the report: the scores of its frames over time, and a few of its frames."""

from dataclasses import dataclass
from itertools import pairwise

from wherein.detect.score import rounded_down
from wherein.report.films.key_frames import KeyFrames
from wherein.report.scene_card import Card, Kind

_COLUMNS = 240
"""Maximum number of columns of a timeline. A choice: with more, a column is less than a pixel on a phone."""


@dataclass(frozen=True)
class Timeline:
    """The scores over time, as an SVG of `columns` × 100 units.

    Attributes:
        columns: the number of columns, each of one frame or more.
        bars: a bar for each column with detections: its height is the best score, as an SVG path.
        gaps: the columns without detections, as an SVG path.
        threshold: y of the threshold; None if there are several templates, each with its own.
        seconds: the time of the last frame.
    """

    columns: int
    bars: str
    gaps: str
    threshold: float | None
    seconds: float


def timeline(frames: KeyFrames, threshold: float | None) -> Timeline:
    """The timeline of a video of at least one frame."""
    assert frames.last is not None
    count = len(frames.scores)
    columns = min(count, _COLUMNS)
    edges = [k * count // columns for k in range(columns + 1)]
    best = [max(frames.scores[low:high]) for low, high in pairwise(edges)]
    bars = "".join(f"M{k + 0.5:g} 100V{100 - 100 * score:.0f}" for k, score in enumerate(best) if score >= 0)
    gaps = "".join(f"M{k} 100h1" for k, score in enumerate(best) if score < 0)
    line = None if threshold is None else 100 - 100 * threshold
    return Timeline(columns, bars, gaps, line, frames.last.seconds)


def video_card(anchor: str, name: str, frames: KeyFrames, found: int, seconds: float) -> Card:
    """The card of a video in which `found` objects were detected, all frames together."""
    assert frames.best is not None
    hits, best = sum(score >= 0 for score in frames.scores), frames.best
    kind = Kind.FOUND if hits else Kind.NEAR if best.score else Kind.NOTHING
    facts = {
        Kind.FOUND: f"{hits} of {len(frames.scores)} frames, best {best.score:.2f}",
        Kind.NEAR: f"near miss {rounded_down(best.score):.3f}",
        Kind.NOTHING: "nothing found",
    }
    return Card(name, anchor, kind, f"video · {facts[kind]}", found, best.score, seconds, frames=hits)
