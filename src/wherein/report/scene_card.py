"""The card of a scene in the grid, and the sentence about all scenes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from wherein.detect.result import Detection, Detections
from wherein.detect.score import rounded_down


class Kind(StrEnum):
    """The kinds of results by which the page can be filtered; the values are also CSS classes."""

    FOUND = "found"
    NEAR = "near"
    NOTHING = "nothing"
    ERROR = "error"


LABELS = {
    Kind.FOUND: "Found",
    Kind.NEAR: "Near miss",
    Kind.NOTHING: "Nothing",
    Kind.ERROR: "Error",
}
"""The labels of the filters."""


@dataclass(frozen=True)
class Card:
    """A scene in the grid.

    Attributes:
        name: the name of its file.
        anchor: its anchor in the page.
        kind: the kind of its result.
        text: the text below the name.
        count: the number of detections.
        score: the score of the best detection, or else of the best near miss, or else 0; for sorting.
        seconds: the time of the search.
        frames: of a video, the number of frames with detections.
    """

    name: str
    anchor: str
    kind: Kind
    text: str
    count: int = 0
    score: float = 0.0
    seconds: float = 0.0
    frames: int = 0

    @property
    def file(self) -> str:
        """The name without its folder."""
        return PurePath(self.name).name or self.name

    @property
    def folder(self) -> str:
        """The part of the name before `file`."""
        # Not `parent`, which would change a path such as ./a//b.png: the name is shown as it was given.
        return self.name.removesuffix(self.file)


@dataclass(frozen=True)
class Filter:
    """A filter of scenes: its CSS class, its label, and its number of scenes."""

    kind: str
    label: str
    count: int


def scene_card(anchor: str, name: str, found: Detections) -> Card:
    """The card of a scene that was searched."""
    # Both are sorted by score, and every detection is better than every candidate.
    best = next(iter((*found, *found.candidates)), None)
    kind = Kind.FOUND if found else Kind.NEAR if best is not None else Kind.NOTHING
    score = best.score if best is not None else 0.0
    return Card(name, anchor, kind, _text(found, score), len(found), score, found.seconds)


def filters(cards: Sequence[Card]) -> list[Filter]:
    """The filter for all scenes, and those for each kind."""
    counts = {kind: sum(card.kind == kind for card in cards) for kind in Kind}
    return [Filter("all", "All", len(cards)), *(Filter(kind, LABELS[kind], n) for kind, n in counts.items())]


def common_folder(cards: Sequence[Card]) -> str | None:
    """The folder that contains all scenes, which cards do not repeat; None if there are several folders."""
    folders = {card.folder for card in cards}
    return folders.pop() if len(folders) == 1 else None


def found_text(found: int, scenes: int, with_detections: int, in_videos: int = 0, frames: int = 0) -> str:
    """What was found in all scenes, the same in the report and in the summary of `wherein detect`.

    Arguments:
        found: the number of detections, of all frames of videos.
        scenes: the number of scenes, including those that could not be searched.
        with_detections: the number of scenes with detections.
        in_videos: the detections in videos (one object in ten frames is ten).
        frames: the frames of videos with detections.

    Example:
        >>> found_text(0, 3, 0), found_text(5, 3, 2, in_videos=4, frames=4)
        ('Nothing found in 3 scenes', '5 found in 2 of 3 scenes, 4 of them in 4 frames of video')
    """
    all_scenes = _counted(scenes, "scene")
    text = (
        f"{found} found in {with_detections} of {all_scenes}" if found else f"Nothing found in {all_scenes}"
    )
    if not in_videos:
        return text
    share = "" if in_videos == found else f"{in_videos} of them "
    return f"{text}, {share}in {_counted(frames, 'frame')} of video"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else noun + 's'}"


def _text(found: Detections, score: float) -> str:
    if len(found) > 1:
        return f"{len(found)} found, best {score:.2f}"
    if found:
        return " · ".join(_facts(found[0], named=bool(found.templates)))
    return f"near miss {rounded_down(score):.3f}" if found.candidates else "nothing found"


def _facts(item: Detection, named: bool) -> list[str]:
    """The most important facts about the only detection of a scene."""
    leaves = sum(part.leaf for part in item.parts.values())
    return [
        *([item.template] if named else []),
        f"score {item.score:.2f}",
        *([f"{leaves - len(item.missing)} of {leaves} parts"] if item.missing else []),
        *(part.value_text for part in item.parts.values() if part.value_text is not None),
    ]
