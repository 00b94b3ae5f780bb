"""`Library`: several templates that are searched for together, loaded from a list or a folder."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image
from torch import Tensor

from wherein.errors import ArgumentError, TemplateError
from wherein.images.decode import PICTURES
from wherein.template.bundle import Template
from wherein.template.template_json import DESCRIPTION

TemplateSource = Template | str | os.PathLike[str]
"""A template, or the path to load it from: a folder with template.json, a .zip of one, or a picture."""

PictureInMemory = NDArray[Any] | Tensor | Image
"""A picture of a single motif. It has no name, so that it must be given alone, and not in a list."""

_LISTED = 3
"""Maximum number of template names in the name of a library; of longer lists, the number is given. A choice:
the name is one field in a line of JSON."""


@dataclass(frozen=True, eq=False)
class Library:
    """Templates that are searched for together, or a single one.

    Attributes:
        name: the name of the single template, or of the folder of several; for a list, the names in it.
        templates: at least one; no two have the same name.
        several: whether it was given as a list or a folder of templates. If so, each detection names its
            template, even if the library contains only one.

    Example:
        >>> import torch
        >>> from wherein.images.motif import Motif
        >>> cup, key = (Template.rigid(name, Motif.whole(torch.rand(3, 9, 9))) for name in ("cup", "key"))
        >>> Library.of([cup, key]).name, Library.of(cup).several
        ('cup, key', False)
    """

    name: str
    templates: tuple[Template, ...]
    several: bool = True

    def __len__(self) -> int:
        return len(self.templates)

    @staticmethod
    def of(source: "Library | TemplateSource | PictureInMemory | Iterable[TemplateSource]") -> "Library":
        """A library from a template, a path, a picture, or a list of templates and paths.

        Arguments:
            source: a single template: a `Template`, a folder with template.json, a .zip of one, or a picture,
                which may also be an array, a tensor or a PIL image. Or several: a list of these except
                pictures in memory, or a folder that contains them side by side. Other files in such a folder
                are ignored.

        Raises:
            ArgumentError: there is no template, or two have the same name.
            TemplateError: a template cannot be loaded.
        """
        if isinstance(source, Library):
            return source
        if isinstance(source, Template):
            return Library(source.name, (source,), several=False)
        if isinstance(source, str | os.PathLike):
            path = Path(source)
            inside = templates_in(path)
            if not inside:
                return Library.of(Template.load(path))
            return Library(path.resolve().name, _loaded(inside))  # resolved: the name of "." is empty
        if isinstance(source, np.ndarray | Tensor | Image):
            return Library.of(Template.of_picture(source))
        if not isinstance(source, Iterable):
            raise ArgumentError(
                "template must be a template, a folder or .zip with template.json, a picture, or a list of "
                f"these, but is of the type {type(source).__name__}"
            )
        templates = _loaded(source)
        if not templates:
            raise ArgumentError("the list of templates is empty: give at least one template")
        # A list has no name of its own, but results name the template that was searched for.
        names = [template.name for template in templates]
        name = ", ".join(names) if len(names) <= _LISTED else f"{len(names)} templates"
        return Library(name, templates)

    @cached_property
    def by_name(self) -> Mapping[str, Template]:
        """The templates by their names."""
        return {template.name: template for template in self.templates}

    @property
    def only(self) -> Template:
        """The single template.

        Raises:
            ArgumentError: there are several.
        """
        if len(self.templates) > 1:
            raise ArgumentError(
                f"this needs a single template, but {self.name} has {len(self.templates)}: "
                f"{self.listed}. Choose one of them"
            )
        return self.templates[0]

    @property
    def listed(self) -> str:
        """The first names and the number of the others, for messages."""
        names = list(self.by_name)
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        return ", ".join(names[:_LISTED]) + more


def templates_in(path: Path) -> list[Path]:
    """The templates and pictures in a folder, sorted by name; none if it is a template itself, or not a
    folder."""
    if not path.is_dir() or (path / DESCRIPTION).exists():
        return []
    # Sorted: the order of a folder's entries depends on the file system, and results must not.
    return sorted(entry for entry in path.iterdir() if not entry.name.startswith(".") and _is_one(entry))


def _is_one(path: Path) -> bool:
    """Whether a path is a template: a folder with template.json, or a file with a known extension."""
    if path.is_dir():
        return (path / DESCRIPTION).is_file()
    return path.suffix.lower() in (".zip", *PICTURES)


def _loaded(sources: Iterable[object]) -> tuple[Template, ...]:
    """The loaded templates; raises `ArgumentError` if two have the same name."""
    found: dict[str, TemplateSource] = {}
    templates = []
    for source in sources:
        if isinstance(source, np.ndarray | Tensor | Image):
            raise ArgumentError(
                "a picture in a list of templates needs a name, by which detections say what was found: use "
                "a file, or wherein.Template.of_picture(picture, name)"
            )
        if not isinstance(source, Template | str | os.PathLike):
            raise ArgumentError(
                "a list of templates must hold templates, folders, .zip files or pictures, but one is of the "
                f"type {type(source).__name__}"
            )
        template = source if isinstance(source, Template) else _load(source)
        if template.name in found:
            raise ArgumentError(
                f'two templates are named "{template.name}" ({_where(found[template.name])} and '
                f"{_where(source)}), but detections say by their names which was found: rename one, the "
                f'picture or the "name" in {DESCRIPTION}'
            )
        found[template.name] = source
        templates.append(template)
    return tuple(templates)


def _load(source: str | os.PathLike[str]) -> Template:
    if templates_in(Path(source)):
        raise TemplateError(
            f"{source} is a folder of templates, not a template: give its templates one by one, or this "
            "folder alone"
        )
    return Template.load(source)


def _where(source: TemplateSource) -> str:
    if isinstance(source, Template):
        return "one made in memory" if source.source is None else str(source.source)
    return os.fspath(source)
