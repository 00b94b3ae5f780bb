"""Counts over scenes and frames: the summary of `wherein detect`, and its exit status."""

from dataclasses import dataclass

from wherein.cli.console import NONE_FOUND, SOME_UNREADABLE, UNREADABLE


@dataclass
class Totals:
    """Counts over all scenes, which the exit status depends on."""

    read: int = 0
    unreadable: int = 0
    found: int = 0
    with_detections: int = 0

    def count(self, found: int) -> None:
        """Count a scene in which so many were found."""
        self.read += 1
        self.found += found
        self.with_detections += found > 0

    def summary(self, skipped: str) -> str:
        """What was found in how many scenes, and what could not be searched.

        Arguments:
            skipped: what was skipped; empty: nothing.
        """
        scenes = self.read + self.unreadable
        where = f"{self.with_detections} of {_scenes(scenes)}" if self.found else _scenes(scenes)
        found = f"{self.found or 'Nothing'} found in {where}"
        left_out = [f"{self.unreadable} unreadable"] if self.unreadable else []
        left_out += [skipped] if skipped else []
        return "; ".join((found, ", ".join(left_out))) if left_out else found

    def exit_status(self, fail_if_none: bool) -> int:
        """Return 0 done, 1 nothing found (where that is a failure), 3 all scenes unreadable, 4 some."""
        if self.unreadable:
            return SOME_UNREADABLE if self.read else UNREADABLE
        return NONE_FOUND if fail_if_none and not self.found else 0


@dataclass
class FrameTotals:
    """Counts over the frames of one video; `seconds` includes decoding, drawing and encoding."""

    frames: int = 0
    frames_with_detections: int = 0
    found: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        rate = self.frames / max(self.seconds, 1e-9)
        found = f"{self.frames_with_detections} with detections"
        return f"{self.frames} frames, {found}, {rate:.1f} frames per second"


def _scenes(count: int) -> str:
    return f"{count} {'scene' if count == 1 else 'scenes'}"
