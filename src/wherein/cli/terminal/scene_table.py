"""Results as a table for people: one row for each detection, printed when a scene is done."""

from collections.abc import Iterable, Sequence

_MAX_NAME = 40
"""Maximum length of a scene's name in the table; the end of a longer name is shown. A choice: half of a
narrow terminal."""

_COLUMNS = f"{'score':>6}{'x':>7}{'y':>7}{'angle':>9}{'scale':>7}{'tilt':>6}"


class SceneTable:
    """Formats the rows of the table.

    Arguments:
        names: the names of all scenes, which determine the width of the first column.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._width = min(_MAX_NAME, max((len(name) for name in names), default=0))

    @property
    def header(self) -> str:
        """The names of the columns."""
        return f"{'scene':<{self._width}}{_COLUMNS}"

    def rows(self, name: str, rows: Sequence[str]) -> list[str]:
        """One row for each detection in a scene, or a row "nothing found".

        Arguments:
            name: the name of the scene or frame.
            rows: the `detection_rows` of its detections.
        """
        short = name if len(name) <= self._width else f"…{name[1 - self._width :]}"
        shown = rows or ["  nothing found"]
        return [f"{short if k == 0 else '':<{self._width}}{row}" for k, row in enumerate(shown)]
