"""The registry of formats that `wherein detect --export` writes and `wherein template new` reads.

A new format is one module in this package and one line in `FORMATS`. The module defines

    export(target, library)
        (or another function that the entry names) a context manager. It gives a function that is called with
        each scene and its detections, as they come. What it writes must be atomic: use
        `export_target.text_file`.

    parse(record, path, image, object_id)
        only for a format with `keys`: the outlines of one object, from the JSON of an annotation file. See
        `annotation.read` for the arguments.

Options, file extensions and checks of the command line follow from the registry.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wherein.formats.export_target import AddScene, ExportTarget

if TYPE_CHECKING:
    from wherein.formats.annotation import Annotation, AnyPath
    from wherein.template.template_library import Library


@dataclass(frozen=True)
class Format:
    """A format that detections are exported to.

    Attributes:
        name: as `--format` takes it.
        extension: of its files.
        module: that writes and reads it, by its name in this package. It is imported when it is first used:
            the command line is made from the registry, and `--help` does not wait for torch.
        file_per_scene: an export is a folder with a file for each scene; else it is one file for all scenes.
        function: of the module, that exports.
        more_files: names of files that an export writes into its folder besides those of scenes.
        keys: that every annotation file of this format has at the top of its JSON, and that tell it from
            others; none: the format is not read.
    """

    name: str
    extension: str
    module: str
    file_per_scene: bool = False
    function: str = "export"
    more_files: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def export(self, target: ExportTarget, library: "Library") -> AbstractContextManager[AddScene]:
        """An export to add scenes to; its files are complete when the block ends.

        Arguments:
            target: where it goes.
            library: the templates that are searched for.
        """
        function = getattr(self._load(), self.function)
        exported: AbstractContextManager[AddScene] = function(target, library)
        return exported

    def parse(
        self, record: Mapping[str, Any], path: "AnyPath", image: str | None, object_id: str | None
    ) -> "Annotation":
        """One object of an annotation file: `annotation.read`, after `record` was read from `path`."""
        annotation: Annotation = self._load().parse(record, path, image, object_id)
        return annotation

    def _load(self) -> Any:
        return import_module(f"wherein.formats.{self.module}")


_YOLO_FILES = ("data.yaml",)

FORMATS: Mapping[str, Format] = {
    entry.name: entry
    for entry in (
        Format("coco", ".json", "coco", keys=("images", "annotations")),
        Format("csv", ".csv", "csv_table"),
        Format("labelme", ".json", "labelme", file_per_scene=True, keys=("shapes",)),
        Format("yolo", ".txt", "yolo", True, "export_boxes", _YOLO_FILES),
        Format("yolo-segment", ".txt", "yolo", True, "export_segments", _YOLO_FILES),
        Format("yolo-obb", ".txt", "yolo", True, "export_oriented_boxes", _YOLO_FILES),
        Format("yolo-pose", ".txt", "yolo", True, "export_poses", _YOLO_FILES),
        Format("voc", ".xml", "pascal_voc", file_per_scene=True),
        Format("label-studio", ".json", "label_studio"),
    )
}
"""By name, in the order in which the help lists them."""

BY_EXTENSION: Mapping[str, Format] = {
    entry.extension: entry for entry in reversed(tuple(FORMATS.values())) if not entry.file_per_scene
}
"""Which format a file has by its extension, the first of several; a folder has none, so `--format` must name
its format."""
