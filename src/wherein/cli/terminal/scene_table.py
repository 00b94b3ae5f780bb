"""Results as a table to read: a row for each detection, printed as the scenes are done."""

from collections.abc import Iterable, Sequence

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

    def rows(self, name: str, rows: Sequence[str]) -> list[str]:
        """A row for each detection in a scene, or one that says that there is none.

        Arguments:
            name: of the scene, or of a frame.
            rows: `detection_rows` of what was found in it.
        """
        short = name if len(name) <= self._width else f"…{name[1 - self._width :]}"
        shown = rows or ["  nothing found"]
        return [f"{short if k == 0 else '':<{self._width}}{row}" for k, row in enumerate(shown)]
