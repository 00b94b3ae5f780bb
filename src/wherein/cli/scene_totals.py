"""Counts over scenes: the summary of `wherein detect`, and its exit status."""

from dataclasses import dataclass

from wherein.cli.console import NONE_FOUND, SOME_UNREADABLE, UNREADABLE


@dataclass
class Totals:
    """Counts over all scenes.

    Attributes:
        read: scenes that were searched, videos included.
        unreadable: scenes that could not be read.
        failed: scenes that no worker could search.
        outside: scenes without pixels in the region to search.
        found: detections, of all frames of videos.
        with_detections: scenes with detections.
        in_videos: the detections in videos.
        frames: frames of videos with detections.
    """

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
        """Count a scene with a number of detections."""
        self.read += 1
        self.found += found
        self.with_detections += found > 0

    def count_video(self, found: int, frames: int) -> None:
        """Count a video: its detections (one object in ten frames is ten), and its frames with detections."""
        self.count(found)
        self.in_videos += found
        self.frames += frames

    @property
    def _not_searched(self) -> int:
        return self.missing + self.unreadable + self.failed + self.outside

    def summary(self, skipped: str) -> str:
        """The summary: the number of detections, and the scenes that could not be searched.

        Arguments:
            skipped: a text about skipped files; empty: none were skipped.
        """
        scenes = self.read + self._not_searched
        # Without any scene it is an empty portion: there are more portions than scenes.
        found = "No scene could be searched" if scenes else "No scene in this part of the scenes"
        if self.read:
            # Imported here: it loads torch, and without a readable scene the command ends before that.
            from wherein.report.scene_card import found_text

            found = found_text(self.found, scenes, self.with_detections, self.in_videos, self.frames)
        left_out = [f"{self.missing} not found"] if self.missing else []
        left_out += [f"{self.unreadable} unreadable"] if self.unreadable else []
        left_out += [f"{self.failed} failed"] if self.failed else []
        left_out += [f"{self.outside} without pixels in the region"] if self.outside else []
        left_out += [skipped] if skipped else []
        return "; ".join((found, ", ".join(left_out))) if left_out else found

    def exit_status(self, fail_if_none: bool) -> int:
        """The exit status.

        0: success; 1: nothing found, if `fail_if_none`; 3: no scene could be searched; 4: some scenes could
        not be searched, because they are missing or unreadable, outside of the
        region, or no worker could search them.
        """
        if self._not_searched:
            return SOME_UNREADABLE if self.read else UNREADABLE
        return NONE_FOUND if fail_if_none and not self.found else 0
