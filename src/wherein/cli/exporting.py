"""`wherein detect --export`: what was found in all scenes, in the format of another program."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any

from wherein.cli.options import Format
from wherein.cli.output_files import write_errors
from wherein.detect import Detections
from wherein.files import atomic_file
from wherein.formats.coco_writer import Coco
from wherein.formats.csv_table import COLUMNS, csv_text, rows
from wherein.formats.labelme_writer import labelme
from wherein.template import Template

Add = Callable[[Path, Detections], None]
"""Is given each scene after it has been looked at."""


def export(
    path: Path, kind: Format, template: Template, files: Mapping[Path, Path]
) -> AbstractContextManager[Add]:
    """An export to add scenes to. Each of its files is there whole, or not at all.

    Arguments:
        path: the file, or labelme's folder.
        kind: its format.
        template: what is looked for.
        files: of every scene its own file in that folder.
    """
    match kind:
        case Format.COCO:
            return _coco(path, template)
        case Format.CSV:
            return _csv(path)
        case Format.LABELME:
            return _labelme(files)


@contextmanager
def _coco(path: Path, template: Template) -> Iterator[Add]:
    """Annotations are written as they come, so that thousands of scenes need no more memory than one."""
    made, between = Coco(template.name, template.parts.leaves), chain([""], repeat(","))
    with atomic_file(path) as target, _opened(target) as file:
        file.write(f'{{"categories": {_text(made.categories)}, "annotations": [')

        def add(scene: Path, found: Detections) -> None:
            for annotation in made.add(str(scene), found):
                file.write(f"{next(between)}\n{_text(annotation)}")

        yield add
        file.write(f'\n], "images": {_text(made.images)}}}\n')


@contextmanager
def _csv(path: Path) -> Iterator[Add]:
    with atomic_file(path) as target, _opened(target) as file:
        file.write(csv_text([COLUMNS]))

        def add(scene: Path, found: Detections) -> None:
            file.write(csv_text(rows(found, str(scene))))

        yield add


@contextmanager
def _labelme(files: Mapping[Path, Path]) -> Iterator[Add]:
    """A file a scene, which names its picture as seen from where it lies itself."""

    def add(scene: Path, found: Detections) -> None:
        path = files[scene]
        name = Path(os.path.relpath(scene, path.parent)).as_posix()
        with write_errors(path), atomic_file(path) as target, _opened(target) as file:
            file.write(_text(labelme(found, name)) + "\n")

    yield add


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _opened(path: Path) -> IO[str]:
    """To write to; a name that is no proper text is written as JSON would escape it."""
    return path.open("w", encoding="utf-8", errors="backslashreplace", newline="")
