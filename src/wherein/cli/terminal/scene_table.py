"""Results as a table to read: a row for each detection, printed as the scenes are done."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wherein.detect.result import Detection, Detections

_MAX_NAME = 40
"""Characters of a scene's name, of which the last are shown. A choice: half of a narrow terminal."""

_COLUMNS = f"{'score':>6}{'x':>7}{'y':>7}{'angle':>9}{'scale':>7}{'tilt':>6}"


class SceneTable:
    """Formats the rows.

    Arguments:
        names: of all scenes, by which the width of the first column is known beforehand.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._width = min(_MAX_NAME, max((len(name) for name in names), default=0))

    @property
    def header(self) -> str:
        """The names of the columns."""
        return f"{'scene':<{self._width}}{_COLUMNS}"

    def rows(self, name: str, found: "Detections", tracks: Sequence[int] = ()) -> list[str]:
        """A row for each detection in a scene, or one that says that there is none.

        Arguments:
            name: of the scene, or of a frame.
            found: what was found in it.
            tracks: the number of each detection in a video.
        """
        library = len({found.template_of(item) for item in found} | {found.template}) > 1
        rows = [
            _row(item, found.template_of(item) if library else "", f"track {track}" if track else "")
            for item, track in zip(found, tracks or [0] * len(found), strict=True)
        ]
        return self._named(name, rows or ["  nothing found"])

    def _named(self, name: str, rows: Sequence[str]) -> list[str]:
        short = name if len(name) <= self._width else f"…{name[1 - self._width :]}"
        return [f"{short if k == 0 else '':<{self._width}}{row}" for k, row in enumerate(rows)]


def _row(item: "Detection", *more: str) -> str:
    x, y = item.center
    tilt = f"{item.tilt:z.0f}°" if len(item.matrix) == 3 else "–"
    numbers = f"{item.score:>6.2f}{x:>7.0f}{y:>7.0f}{item.angle:>z8.1f}°{item.scale:>7.2f}{tilt:>6}"
    return f"{numbers}  {', '.join(filter(None, (*more, *_details(item))))}".rstrip()


def _details(item: "Detection") -> list[str]:
    """What its parts read, and which of several were not found."""
    values = {name: part.value_text for name, part in item.parts.items()}
    return [
        *(f"{name} {value}" for name, value in values.items() if value is not None),
        *([f"without {', '.join(item.missing)}"] if item.missing else []),
    ]
