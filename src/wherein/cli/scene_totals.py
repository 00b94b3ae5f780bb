"""Counts over scenes: the summary of `wherein detect`, and its exit status."""

from dataclasses import dataclass

from wherein.cli.console import NONE_FOUND, SOME_UNREADABLE, UNREADABLE


@dataclass
class Totals:
    """Counts over all scenes, which the exit status depends on."""

    read: int = 0
    missing: int = 0
    unreadable: int = 0
    failed: int = 0
    outside: int = 0
    found: int = 0
    with_detections: int = 0
    in_videos: int = 0
    frames: int = 0

    def count(self, found: int) -> None:
        """Count a scene in which so many were found."""
        self.read += 1
        self.found += found
        self.with_detections += found > 0

    def count_video(self, found: int, frames: int) -> None:
        """Count a video with so many detections in so many frames: one object in ten frames is ten."""
        self.count(found)
        self.in_videos += found
        self.frames += frames

    @property
    def _not_searched(self) -> int:
        return self.missing + self.unreadable + self.failed + self.outside

    def summary(self, skipped: str) -> str:
        """What was found in how many scenes, and what could not be searched.

        Arguments:
            skipped: what was skipped; empty: nothing.
        """
        scenes = self.read + self._not_searched
        where = f"{self.with_detections} of {_scenes(scenes)}" if self.found else _scenes(scenes)
        found = f"{self.found or 'Nothing'} found in {where}" if self.read else "No scene could be searched"
        if self.in_videos:
            frames = f"{self.frames} {'frame' if self.frames == 1 else 'frames'} of video"
            found += (
                f", in {frames}"
                if self.in_videos == self.found
                else f", {self.in_videos} of them in {frames}"
            )
        left_out = [f"{self.missing} not found"] if self.missing else []
        left_out += [f"{self.unreadable} unreadable"] if self.unreadable else []
        left_out += [f"{self.failed} failed"] if self.failed else []
        left_out += [f"{self.outside} outside of the region"] if self.outside else []
        left_out += [skipped] if skipped else []
        return "; ".join((found, ", ".join(left_out))) if left_out else found

    def exit_status(self, fail_if_none: bool) -> int:
        """Return 0 done, 1 nothing found (where that is a failure), 3 no scene could be searched, 4 some not.

        Besides missing and unreadable scenes these are those that no worker could search, or outside of the
        region.
        """
        if self._not_searched:
            return SOME_UNREADABLE if self.read else UNREADABLE
        return NONE_FOUND if fail_if_none and not self.found else 0


def _scenes(count: int) -> str:
    return f"{count} {'scene' if count == 1 else 'scenes'}"
