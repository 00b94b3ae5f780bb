"""The registry of formats that `wherein detect --export` writes and `wherein template new` reads.

A new format is one module in this package and one line in `FORMATS`. The module defines

    export(target, library)
        A context manager; the entry may give it another name. It yields a function that is called with each
        scene and its detections when they are ready. Files must be written atomically: use
        `export_target.text_file`.

    parse(record, path, image, object_id)
        Only for a format with `keys`: returns the outlines of one object, from the JSON of an annotation
        file. See `annotation.read` for the arguments.

The command line derives its options, file extensions and checks from the registry.
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
    """A format to which detections are exported.

    Attributes:
        name: the name for `--format`.
        extension: the extension of its files.
        module: the name of the module in this package that writes and reads it. It is imported on first use,
            so that `--help`, which needs the registry, does not wait for the import of torch.
        file_per_scene: whether an export is a folder with one file per scene, or one file for all scenes.
        function: the function in the module that exports.
        more_files: names of further files that an export writes into its folder.
        keys: the top-level JSON keys that identify an annotation file of this format; none: the format cannot
            be read.
    """

    name: str
    extension: str
    module: str
    file_per_scene: bool = False
    function: str = "export"
    more_files: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def export(self, target: ExportTarget, library: "Library") -> AbstractContextManager[AddScene]:
        """An export to which scenes are added; its files are complete when the block ends.

        Arguments:
            target: the files to write.
            library: the templates that are searched for.
        """
        function = getattr(self._load(), self.function)
        exported: AbstractContextManager[AddScene] = function(target, library)
        return exported

    def parse(
        self, record: Mapping[str, Any], path: "AnyPath", image: str | None, object_id: str | None
    ) -> "Annotation":
        """One object of an annotation file; `record` is the JSON in `path`. See `annotation.read`."""
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
"""All formats by name, in the order of the help text."""

BY_EXTENSION: Mapping[str, Format] = {
    entry.extension: entry for entry in reversed(tuple(FORMATS.values())) if not entry.file_per_scene
}
"""The format of a file by its extension; of several formats, the first. Formats with a folder are missing,
since a folder has no extension: they need `--format`."""
