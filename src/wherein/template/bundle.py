"""`Template`; reading it from, and writing it to, a folder or a .zip with template.json."""

import hashlib
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from wherein.errors import ArgumentError, PictureError, TemplateError, require
from wherein.files import atomic_file, filled_folder, inside, new_folder
from wherein.images.decode import count_pixels
from wherein.images.eight_bit import to_image, to_levels
from wherein.images.frames.picture_frames import ONE_FRAME, check_one_frame
from wherein.images.load import MAX_PIXELS, Source, load_picture
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon, hull
from wherein.motion.canvas_plane import canvas_plane
from wherein.template.archive import pack, unpack
from wherein.template.part_limits import check_name
from wherein.template.reading import Reading
from wherein.template.shown_template import ShownTemplate
from wherein.template.template_json import (
    DESCRIPTION,
    FORMAT,
    PartSpec,
    TemplateSpec,
    owned_pictures,
    parse_description,
    part_record,
    picture_names,
    read_description,
)
from wherein.template.tree import Part, Point, Tree, check_inside
from wherein.threads import one_thread


@dataclass(frozen=True, eq=False)
class Template(ShownTemplate):
    """An object made of a tree of parts that turn about their joints.

    Attributes:
        name: the name of the object.
        canvas: a picture of the whole object at rest; its alpha is its outline.
        parts: the tree of parts by name, parents first.
        paint_order: the names of the leaves, the lowest layer first.
        source: the folder or .zip that it was loaded from; None if it was made in memory.

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

    def __post_init__(self) -> None:
        check_name(self.name, "the template")

    def __repr__(self) -> str:
        width, height = self.size
        return f"Template({self.name!r}, {width} × {height} px, parts: {', '.join(self.parts.leaves)})"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the canvas."""
        height, width = self.canvas.samples.shape[-2:]
        return width, height

    @property
    def centre(self) -> Point:
        """The centre of the canvas, (x, y)."""
        width, height = self.size
        return (width - 1) / 2, (height - 1) / 2

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the parts, their pictures and their joints; stored calibrations are found by it.

        The name of the template and the readings of its parts do not count: they do not change a search.
        """
        digest = hashlib.sha256()
        for name, part in self.parts.items():
            digest.update(repr((name, part.parent, part.at, part.pivot, part.turn, part.static)).encode())
            if part.motif is not None:
                # Pixels are hashed in the 256 levels of a file, so that saving does not change the hash.
                for plane in (part.motif.pixels, part.motif.mask):
                    digest.update(repr(tuple(plane.shape)).encode())
                    digest.update(to_levels(plane).numpy().tobytes())
        digest.update(repr((self.size, self.paint_order)).encode())
        if self.parts.plane is not None:
            digest.update(repr(self.parts.plane.tolist()).encode())
        return digest.hexdigest()[:32]  # 128 bits: enough that no two templates share a hash by chance

    @cached_property
    def outlines(self) -> dict[str, Polygon]:
        """The outline of each part as one polygon: of a leaf, that of its largest component, in its own
        pixels; of a group, the convex hull of its leaves, on the canvas."""
        made: dict[str, Polygon] = {}
        for name in self.parts.bottom_up:
            motif = self.parts[name].motif
            below = [made[child] + self.parts[child].at for child in self.parts.children(name)]
            made[name] = motif.rings[0] if motif is not None else hull(np.concatenate(below))
        return made

    @staticmethod
    def rigid(name: str, motif: Motif) -> "Template":
        """A template of a single motif, without moving parts."""
        part = Part(name, None, motif, (0.0, 0.0), motif.centre, 0.0, False)
        return Template(name, Picture(motif.pixels, motif.mask), Tree({name: part}), (name,))

    @staticmethod
    @one_thread()
    def of_picture(picture: Source, name: str = "motif", color: str = "rgb") -> "Template":
        """A template of a single motif from an array, a tensor, a PIL image or a file; its alpha is the mask.

        Arguments:
            picture: the picture of the object.
            name: the name of the template, which detections contain.
            color: the channel order of an array or tensor: "rgb", or "bgr" as in OpenCV.

        Raises:
            WhereinError: it is not a picture, cannot be read, or is transparent everywhere.
        """
        check_name(name, "the template")
        return _of_loaded(load_picture(picture, color=color), name, f'"{name}"')

    @staticmethod
    @one_thread()
    def load(source: str | os.PathLike[str], max_pixels: int = 400_000_000) -> "Template":
        """Load a template from a folder or a .zip, or make one of a picture.

        Arguments:
            source: the folder or the .zip; or a picture, which becomes a single motif without moving parts.
                Its mask is the alpha channel of the picture, or the whole picture if it has none.
            max_pixels: maximum number of pixels of all pictures of the template together.

        Raises:
            TemplateError: it does not exist or is invalid; the message names the part.
        """
        kind = type(source).__name__
        require(isinstance(source, str | os.PathLike), f"source must be a path, but is a {kind}")
        path = Path(source)
        if path.is_dir():
            return replace(_from_folder(path, path, max_pixels), source=path)
        if path.is_file() and zipfile.is_zipfile(path):
            return _from_zip(path, max_pixels)
        if path.is_file() and path.name == DESCRIPTION:
            raise TemplateError(f"the template {path} is a file of one: use its folder, {path.parent}")
        if path.is_file():
            return _from_picture(path, max_pixels)
        kind = "is neither a file nor a folder" if path.exists() else "does not exist"
        raise TemplateError(
            f"the template {path} {kind}: use a folder with {DESCRIPTION}, a .zip of one, or a picture"
        )

    def save(self, target: str | os.PathLike[str], overwrite: bool = False) -> Path:
        """Write the template to a folder, or to a .zip if the name ends in .zip; returns the path.

        The write is atomic: after an error nothing has changed. In an existing folder, `overwrite` replaces
        template.json and the pictures that it named; other files remain.

        Raises:
            ArgumentError: the path exists and `overwrite` is False; or it is a folder that has files but is
                not a template.
        """
        path = Path(target)
        if path.exists() and not overwrite:
            raise ArgumentError(f"{path} already exists: choose another name, or use overwrite=True")
        filled = path.is_dir() and any(path.iterdir())
        # Even with `overwrite`: a mistyped path must not put a template into a folder of other files.
        if filled and not (path / DESCRIPTION).is_file():
            raise ArgumentError(f"{path} is a folder with other files, not a template: choose another name")
        if path.suffix.lower() == ".zip":
            with tempfile.TemporaryDirectory(prefix="wherein-") as temporary, atomic_file(path) as made:
                self._write(Path(temporary))
                pack(Path(temporary), made)
        elif filled:
            self._replace_in(path)
            # The names of what was there are free now, and a person reads them.
            canvas, names = picture_names(self.parts.leaves)
            if not any(os.path.lexists(path / name) for name in (canvas, *names.values())):
                with suppress(OSError):  # the template has been saved
                    self._replace_in(path)
        else:
            with new_folder(path) as made:
                self._write(made)
        return path

    def _replace_in(self, path: Path) -> None:
        """Write all files to a folder with a template, and then delete the files of that."""
        # Pictures get new names and the old ones are deleted last: until template.json is replaced, the
        # old template is complete, and afterwards the new one is.
        outdated = owned_pictures(path)
        with filled_folder(path, last=DESCRIPTION) as made:
            self._write(made, beside=path)
        for picture in outdated:
            picture.unlink(missing_ok=True)

    def _write(self, folder: Path, beside: Path | None = None) -> None:
        """Write all files to `folder`; their names are not used in `beside`, where they are moved later."""
        canvas, names = picture_names(self.parts.leaves, beside)
        parts = {name: part_record(part, names.get(name)) for name, part in self.parts.items()}
        spec = {
            "format": FORMAT,
            "name": self.name,
            "canvas": canvas,
            "paint_order": list(self.paint_order),
            "parts": parts,
        }
        if self.parts.plane is not None:
            spec["plane"] = self.parts.plane.tolist()
        (folder / DESCRIPTION).write_text(
            json.dumps(spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        _with_alpha(self.canvas.pixels, self.canvas.mask).save(folder / canvas)
        for name, file in names.items():
            motif = self.parts[name].motif
            assert motif is not None, "a leaf"
            _with_alpha(motif.pixels, motif.mask).save(folder / file)


def _with_alpha(pixels: Float[Tensor, "3 H W"], mask: Float[Tensor, "H W"] | None) -> Image.Image:
    """The picture as RGBA, even if it is opaque, so that any image editor can edit the mask."""
    return to_image(pixels, torch.ones_like(pixels[0]) if mask is None else mask)


def _from_picture(path: Path, max_pixels: int) -> Template:
    """A template of a single motif."""
    try:
        check_one_frame(path, ONE_FRAME)
        picture = load_picture(path, max_pixels=max_pixels)
    except PictureError as error:
        raise TemplateError(
            f"the template {error}. A template is a folder with {DESCRIPTION}, a .zip of one, or a picture"
        ) from error
    # On Linux a file name is any bytes. Those that are not UTF-8 become "?", so that names can be written.
    return _of_loaded(picture, path.stem.encode(errors="replace").decode(), str(path))


def _of_loaded(picture: Picture, name: str, where: str) -> Template:
    mask = torch.ones_like(picture.pixels[0]) if picture.mask is None else picture.mask
    if not bool((mask > 0).any()):
        advice = "use a picture that shows the object"
        raise TemplateError(f"the template {where} is transparent everywhere: {advice}")
    return Template.rigid(name, Motif(picture.pixels, mask))


def _from_zip(path: Path, max_pixels: int) -> Template:
    with tempfile.TemporaryDirectory(prefix="wherein-") as temporary:
        unpack(path, Path(temporary), DESCRIPTION)
        return replace(_from_folder(Path(temporary), path, max_pixels), source=path)


def _from_folder(folder: Path, where: Path, max_pixels: int) -> Template:
    text = read_description(folder, where)
    try:
        return _assemble(_Pictures(folder, max_pixels), parse_description(text))
    except TemplateError as error:
        raise TemplateError(f"{where}: {error}") from error


def _assemble(pictures: "_Pictures", spec: TemplateSpec) -> Template:
    """The template that a valid template.json describes."""
    canvas = pictures(spec.canvas, "the canvas")
    height, width = canvas.samples.shape[-2:]
    parts = {name: _part(pictures, name, part, (width, height)) for name, part in spec.parts.items()}
    plane = None if spec.plane is None else np.array(spec.plane)
    if plane is not None:
        canvas_plane(plane, (width, height))  # checked, but kept as it is
    tree = Tree(parts, plane)
    return Template(spec.name, canvas, tree, _paint_order(spec.paint_order, tree))


def _paint_order(given: list[str] | None, tree: Tree) -> tuple[str, ...]:
    """The given paint order, completed: leaves that it does not name are painted last."""
    order = list(dict.fromkeys(given or ()))
    for name in order:
        if name not in tree.leaves:
            raise TemplateError(f'"paint_order" names "{name}", which is not a part with an "image"')
    return (*order, *(name for name in tree.leaves if name not in order))


def _part(pictures: "_Pictures", name: str, spec: PartSpec, size: tuple[int, int]) -> Part:
    """A part from its entry in template.json; `size` is the width and height of the canvas."""
    reading = None if spec.reading is None else Reading.of(spec.reading, f'the part "{name}"')
    if spec.image is None:
        if spec.at is not None:
            raise TemplateError(f'the group "{name}" has an "at" but no "image": remove "at", or add "image"')
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        pivot = spec.pivot or middle
        return Part(name, spec.parent, None, (0.0, 0.0), pivot, spec.turn, spec.static, reading)
    picture = pictures(spec.image, f'the part "{name}"')
    mask = picture.mask if picture.mask is not None else torch.ones_like(picture.pixels[0])
    if not bool((mask > 0.5).any()):
        raise TemplateError(f'the part "{name}" has an empty mask: no pixel of {spec.image} is opaque')
    motif = Motif(picture.pixels.float(), mask.float())
    at = spec.at or (0.0, 0.0)
    check_inside(name, motif, at, size)
    pivot = spec.pivot or motif.centre
    return Part(name, spec.parent, motif, at, pivot, spec.turn, spec.static, reading)


class _Pictures:
    """Loads the pictures of a template: only files in its folder, and at most `max_pixels` pixels in all."""

    def __init__(self, folder: Path, max_pixels: int) -> None:
        self.folder, self.max_pixels, self.pixels = folder, max_pixels, 0

    def __call__(self, file: str, what: str) -> Picture:
        # Templates may come from untrusted sources: they must not read other files of this computer.
        path = inside(self.folder, file)
        if path is None:
            raise TemplateError(f"{what}: {file!r} must be a file inside the template's folder")
        if not path.is_file():
            raise TemplateError(f"{what}: the picture {file} does not exist")
        try:
            self._count(path, what)
            return load_picture(path)
        except PictureError as error:
            raise TemplateError(f"{what}: {error}") from error

    def _count(self, path: Path, what: str) -> None:
        """Count the pixels of a picture from its header, before they are decoded."""
        pixels = count_pixels(path, MAX_PIXELS)
        self.pixels += pixels
        if self.pixels > self.max_pixels:
            raise TemplateError(
                f"{what}: its picture has {pixels:,} pixels, and all pictures so far have {self.pixels:,}, "
                f"more than the maximum of {self.max_pixels:,} (max_pixels): use smaller pictures"
            )
