"""template.json ↔ Template, as a folder or a .zip of it."""

import hashlib
import json
import math
import os
import tempfile
import zipfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from torch import Tensor

from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.files import atomic_file, atomic_folder
from wherein.images.eight_bit import to_image, to_levels
from wherein.images.load import Picture, load_picture
from wherein.images.motif import Motif
from wherein.images.polygons import hull, outline
from wherein.template.archive import pack, unpack
from wherein.template.tree import DEFAULT_TURN, Part, Point, Tree

FORMAT = "wherein-template/1"
DESCRIPTION = "template.json"


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False)


class _PartSpec(_Spec):
    parent: str | None
    image: str | None = None
    at: tuple[FiniteFloat, FiniteFloat] | None = None
    pivot: tuple[FiniteFloat, FiniteFloat] | None = None
    turn: Annotated[FiniteFloat, Field(ge=0, le=180)] = DEFAULT_TURN
    static: bool = False


class _TemplateSpec(_Spec):
    format: Literal["wherein-template/1"]
    name: Annotated[str, Field(min_length=1)]
    canvas: str
    paint_order: list[str] | None = None
    parts: Annotated[dict[str, _PartSpec], Field(min_length=1)]


@dataclass(frozen=True, eq=False)
class Template:
    """An object made of a tree of parts that turn about their joints.

    Attributes:
        name: what it is called.
        canvas: the whole object as it is at rest; its alpha is its outline.
        parts: the tree, by name, parents first.
        paint_order: the leaves, the lowest layer first.
        source: the folder or .zip that it was loaded from; None where it was made in memory.

    Example:
        >>> import torch
        >>> from wherein.images.motif import Motif
        >>> logo = Template.rigid("logo", Motif.whole(torch.rand(3, 20, 30)))
        >>> logo.size, logo.parts.root, logo.parts.leaves
        ((30, 20), 'logo', ('logo',))
    """

    name: str
    canvas: Picture
    parts: Tree
    paint_order: tuple[str, ...]
    source: Path | None = None

    def __repr__(self) -> str:
        width, height = self.size
        return f"Template({self.name!r}, {width} × {height} px, parts: {', '.join(self.parts.leaves)})"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the canvas."""
        height, width = self.canvas.pixels.shape[-2:]
        return width, height

    @property
    def centre(self) -> Point:
        """Of the canvas."""
        width, height = self.size
        return (width - 1) / 2, (height - 1) / 2

    @cached_property
    def fingerprint(self) -> str:
        """The same for templates that look and move the same, whatever they are called."""
        told = hashlib.sha256()
        for name, part in self.parts.items():
            told.update(repr((name, part.parent, part.at, part.pivot, part.turn, part.static)).encode())
            if part.motif is not None:
                for plane in (part.motif.pixels, part.motif.mask):
                    told.update(repr(tuple(plane.shape)).encode())
                    told.update(to_levels(plane).numpy().tobytes())
        told.update(repr((self.size, self.paint_order)).encode())
        return told.hexdigest()[:32]

    @cached_property
    def outlines(self) -> dict[str, NDArray[np.float64]]:
        """A polygon around each part in its own pixels; around all leaves of a group, on the canvas."""
        made: dict[str, NDArray[np.float64]] = {}
        for name in self.parts.bottom_up:
            motif = self.parts[name].motif
            below = [made[child] + self.parts[child].at for child in self.parts.children(name)]
            made[name] = outline(motif.mask) if motif is not None else hull(np.concatenate(below))
        return made

    @staticmethod
    def rigid(name: str, motif: Motif) -> "Template":
        """The template of a single motif that has no parts."""
        part = Part(name, None, motif, (0.0, 0.0), motif.centre, 0.0, False)
        return Template(name, Picture(motif.pixels, motif.mask), Tree({name: part}), (name,))

    @staticmethod
    def load(source: str | os.PathLike[str], max_pixels: int = 400_000_000) -> "Template":
        """A template from its folder or .zip.

        Arguments:
            source: the folder, or the .zip.
            max_pixels: the most that its pictures may have in all, by their headers.

        Raises:
            TemplateError: it is not there or not as it must be; the message names the part.
        """
        path = Path(source)
        if path.is_dir():
            return replace(_from_folder(path, path, max_pixels), source=path)
        if path.is_file() and zipfile.is_zipfile(path):
            return _from_zip(path, max_pixels)
        kind = "is neither a folder nor a .zip" if path.exists() else "does not exist"
        raise TemplateError(f"the template {path} {kind}: give a folder with {DESCRIPTION}, or a .zip of it")

    def save(self, target: str | os.PathLike[str], overwrite: bool = False) -> Path:
        """Write the template to a folder, or to a .zip where the name ends so; whole or not at all.

        Raises:
            ArgumentError: there is something already, and `overwrite` was not given; or it is a folder of
                other things, which is never replaced.
        """
        path = Path(target)
        if path.exists() and not overwrite:
            raise ArgumentError(f"{path} exists; give another name or overwrite=True")
        if path.is_dir() and any(path.iterdir()) and not (path / DESCRIPTION).is_file():
            raise ArgumentError(f"{path} is a folder of other things, not a template: give another name")
        if path.suffix.lower() == ".zip":
            with tempfile.TemporaryDirectory(prefix="wherein-") as temporary, atomic_file(path) as made:
                self._write(Path(temporary))
                pack(Path(temporary), made)
        else:
            with atomic_folder(path) as made:
                self._write(made)
        return path

    def _write(self, folder: Path) -> None:
        names = {name: f"{number:02d}.png" for number, name in enumerate(self.parts.leaves)}
        parts = {name: _describe(part, names.get(name)) for name, part in self.parts.items()}
        spec = {
            "format": FORMAT,
            "name": self.name,
            "canvas": "canvas.png",
            "paint_order": list(self.paint_order),
            "parts": parts,
        }
        (folder / DESCRIPTION).write_text(
            json.dumps(spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        _with_alpha(self.canvas.pixels, self.canvas.mask).save(folder / "canvas.png")
        for name, file in names.items():
            motif = self.parts[name].motif
            assert motif is not None, "a leaf"
            _with_alpha(motif.pixels, motif.mask).save(folder / file)


def _describe(part: Part, image: str | None) -> dict[str, Any]:
    record: dict[str, Any] = {"parent": part.parent}
    if image is not None:
        record |= {"image": image, "at": list(part.at)}
    return record | {"pivot": list(part.pivot), "turn": part.turn, "static": part.static}


def _with_alpha(pixels: Float[Tensor, "3 H W"], mask: Float[Tensor, "H W"] | None) -> Image.Image:
    """RGBA in any case: whoever edits the file finds the mask in its place."""
    return to_image(pixels, torch.ones_like(pixels[0]) if mask is None else mask)


def _from_zip(path: Path, max_pixels: int) -> Template:
    with tempfile.TemporaryDirectory(prefix="wherein-") as temporary:
        unpack(path, Path(temporary), DESCRIPTION)
        return replace(_from_folder(Path(temporary), path, max_pixels), source=path)


def _from_folder(folder: Path, where: Path, max_pixels: int) -> Template:
    try:
        # "-sig": editors on Windows begin a file with a byte order mark.
        text = (folder / DESCRIPTION).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        words = f"{where} has no {DESCRIPTION}: give a folder that has one, or a .zip of it"
        raise TemplateError(words) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TemplateError(f"{DESCRIPTION} in {where} cannot be read: {reason}") from error
    try:
        return _assemble(_Pictures(folder, max_pixels), _TemplateSpec.model_validate(_parse(text)))
    except ValidationError as error:
        raise TemplateError(f"{where}: {_in_words(error)}") from error
    except TemplateError as error:
        raise TemplateError(f"{where}: {error}") from error


def _parse(text: str) -> dict[str, Any]:
    try:
        description = json.loads(text, object_pairs_hook=_each_once)
    except RecursionError:
        raise TemplateError(f"{DESCRIPTION} is not JSON: it is nested too deeply") from None
    except TemplateError:
        raise
    except ValueError as error:  # a number of too many digits is not a JSONDecodeError
        raise TemplateError(f"{DESCRIPTION} is not JSON: {error}") from error
    if not isinstance(description, dict):
        raise TemplateError(f"{DESCRIPTION}: it must be an object, but is a {type(description).__name__}")
    return description


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets the last of two parts of a name win, without a word."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise TemplateError(f'{DESCRIPTION} names "{key}" twice')
        found[key] = value
    return found


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    place = [str(step) for step in first["loc"]]
    of_part = place[:1] == ["parts"] and len(place) > 1
    what = f'the part "{place[1]}"' if of_part else DESCRIPTION
    field = ".".join(place[2:] if of_part else place)
    return f'{what}: "{field}": {first["msg"]}' if field else f"{what}: {first['msg']}"


def _assemble(pictures: "_Pictures", spec: _TemplateSpec) -> Template:
    canvas = pictures(spec.canvas, "the canvas")
    height, width = canvas.pixels.shape[-2:]
    parts = {name: _part(pictures, name, part, (width, height)) for name, part in spec.parts.items()}
    tree = Tree(parts)
    return Template(spec.name, canvas, tree, _order(spec.paint_order, tree))


def _order(wanted: list[str] | None, tree: Tree) -> tuple[str, ...]:
    """The paint order as given, the leaves that it leaves out on top."""
    order = list(dict.fromkeys(wanted or ()))
    for name in order:
        if name not in tree.leaves:
            raise TemplateError(f'"paint_order" names "{name}", which is not a part with a picture')
    return (*order, *(name for name in tree.leaves if name not in order))


def _part(pictures: "_Pictures", name: str, spec: _PartSpec, size: tuple[int, int]) -> Part:
    if spec.image is None:
        if spec.at is not None:
            raise TemplateError(f'the group "{name}" has an "at" but no "image": remove it or give a picture')
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        return Part(name, spec.parent, None, (0.0, 0.0), spec.pivot or middle, spec.turn, spec.static)
    picture = pictures(spec.image, f'the part "{name}"')
    mask = picture.mask if picture.mask is not None else torch.ones_like(picture.pixels[0])
    if not bool((mask > 0.5).any()):
        raise TemplateError(f'the part "{name}" has an empty mask: no pixel of {spec.image} is opaque')
    motif = Motif(picture.pixels.float(), mask.float())
    at = spec.at or (0.0, 0.0)
    _check_inside(name, motif, at, size)
    return Part(name, spec.parent, motif, at, spec.pivot or motif.centre, spec.turn, spec.static)


def _check_inside(name: str, motif: Motif, at: Point, size: tuple[int, int]) -> None:
    rows, columns = torch.nonzero(motif.mask > 0.5, as_tuple=True)
    low = at[0] + int(columns.min()), at[1] + int(rows.min())
    high = at[0] + int(columns.max()), at[1] + int(rows.max())
    if min(low) < 0 or high[0] > size[0] - 1 or high[1] > size[1] - 1:
        reach = f"({low[0]:g}, {low[1]:g}) to ({math.ceil(high[0])}, {math.ceil(high[1])})"
        raise TemplateError(
            f'the part "{name}" reaches from {reach}, outside the canvas of {size[0]} × {size[1]}: '
            'check its "at"'
        )


class _Pictures:
    """The pictures in a template's folder, and no others; of all together no more than so many pixels."""

    def __init__(self, folder: Path, max_pixels: int) -> None:
        self.folder, self.most, self.pixels = folder, max_pixels, 0

    def __call__(self, file: str, what: str) -> Picture:
        name = PurePosixPath(file)
        if name.is_absolute() or ".." in name.parts or "\\" in file:
            raise TemplateError(f"{what}: {file!r} must be a file in the template's own folder")
        path = self.folder / name
        if not path.is_file():
            raise TemplateError(f"{what}: the picture {file} is missing")
        try:
            picture = load_picture(path)
        except PictureError as error:
            raise TemplateError(f"{what}: {error}") from error
        self.pixels += picture.pixels[0].numel()
        if self.pixels > self.most:
            raise TemplateError(
                f"with {what} its pictures have {self.pixels:,} pixels or more, and {self.most:,} are taken "
                "(max_pixels): give smaller ones"
            )
        return picture
