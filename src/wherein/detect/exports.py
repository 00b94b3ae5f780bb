"""`Exports`: the methods of `Detections` that convert them to other formats, by `wherein.formats`.

Each method imports its format when it is called, so that a search does not load them.
"""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from wherein.detect.result import Detections


class Exports:
    """Base class of `Detections`: conversions of the detections of one scene."""

    name: str
    template: str

    @property
    def _own(self) -> "Detections":
        return cast("Detections", self)  # the only subclass

    def to_coco(self, name: str | None = None) -> dict[str, Any]:
        """A COCO dataset of this scene, with a category for the whole object and one for each part.

        For several scenes in one dataset use `wherein.formats.coco.coco`.

        Arguments:
            name: of the scene's file; None: `self.name`.
        """
        from wherein.formats.coco import coco

        return coco([(self.name if name is None else name, self._own)], self._own.templates or self.template)

    def to_labelme(self, name: str | None = None) -> dict[str, Any]:
        """A labelme annotation: a polygon for each part that was found, a group for each object.

        Arguments:
            name: of the scene's file, relative to the folder of the JSON file; None: `self.name`.
        """
        from wherein.formats.labelme import labelme

        return labelme(self._own, self.name if name is None else name)

    def to_csv(self, name: str | None = None) -> str:
        """CSV text: a header, and a row for each part of each object.

        Arguments:
            name: of the scene; None: `self.name`.
        """
        from wherein.formats.csv_table import COLUMNS, csv_text, rows

        return csv_text([COLUMNS, *rows(self._own, self.name if name is None else name)])

    def to_dataframe(self, name: str | None = None) -> Any:
        """The rows of `to_csv` as a `pandas.DataFrame`.

        Raises:
            MissingError: pandas is not installed.
        """
        from wherein.formats.csv_table import dataframe

        return dataframe(self._own, self.name if name is None else name)

    def to_supervision(self) -> Any:
        """A `supervision.Detections` with masks; `class_id` 0 is the whole object, the parts follow.

        Raises:
            MissingError: supervision is not installed.
        """
        from wherein.formats.supervision import supervision

        return supervision(self._own)
