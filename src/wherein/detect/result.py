"""The detections in a scene, and how they are drawn and converted to JSON and other formats."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import torch
from PIL import Image

from wherein.detect.exports import Exports
from wherein.detect.placed_part import PartFound, Placed, outline_box
from wherein.errors import ArgumentError, require
from wherein.images.load import Source
from wherein.images.picture import Overview, Picture
from wherein.images.polygons import Polygon
from wherein.images.shown import Shown
from wherein.motion.homography import Matrix, mapped, rounded, shift, square
from wherein.pyramid.levels import reduce
from wherein.template.tree import Point

SCENE = "scene.png"
"""The file name of a scene that was given as an array, for formats that require a name."""


@dataclass(frozen=True, eq=False)
class Detection(Placed, Shown):
    """One instance of the template.

    Attributes:
        score: the ZNCC that all parts would need for the same total evidence, at most 0.98
            (`wherein.detect.score`); with the method "paper", the value of the
            root's occurrence map, at most 1.
        matrix: canvas pixels → scene pixels, 2×3 or 3×3.
        parts: every part below the root, by name (the root itself if it is a leaf).
        middle: the centre of the canvas, (x, y).
        template: the name of the template.
        scene: the picture in which it was found; None: unknown.
    """

    score: float
    matrix: Matrix
    parts: dict[str, PartFound]
    middle: Point = (0.0, 0.0)
    template: str = ""
    scene: Picture | None = None

    def __repr__(self) -> str:
        return f"Detection({self.template or 'object'}, score {self.score:.2f}, {self.pose_text})"

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around the outlines of all its parts, found or not: x, y, width and height."""
        # Of leaves only: the outline of a group is the hull of its leaves.
        return outline_box([ring for part in self.parts.values() if part.leaf for ring in part.rings])

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the leaves that were not found; none for a single motif: it is the whole object."""
        leaves = {name: part.found for name, part in self.parts.items() if part.leaf}
        return tuple(name for name, found in leaves.items() if not found) if len(leaves) > 1 else ()

    def draw(self) -> Image.Image:
        """Draw its scene with the outlines of its parts.

        Raises:
            ArgumentError: the scene is not known.
        """
        from wherein.drawing.detections import draw_detections

        return draw_detections(self._known_scene, [self])

    def plot(self, ax: Any = None) -> Any:
        """Plot its scene and its outlines, and return the matplotlib axes, as `Detections.plot` does."""
        from wherein.drawing.notebook import plot_detections

        # `on`: the picture may be the reduced overview of a giant scene.
        return plot_detections(self._known_scene.pixels, [self.on(self._known_scene)], ax)

    @property
    def _known_scene(self) -> Picture:
        if self.scene is None:
            raise ArgumentError("this detection was made without a scene: draw the Detections of a detector")
        return self.scene

    def _repr_png_(self) -> bytes | None:
        # None, not an error: without a scene, `_repr_html_` still shows the numbers.
        return None if self.scene is None else super()._repr_png_()

    def _repr_html_(self) -> str:
        from wherein.drawing.notebook import detections_html

        return detections_html(self._repr_png_(), [self])

    def to_candidate(self) -> dict[str, Any]:
        """Score and matrix for JSON, as printed for a candidate."""
        return {"score": round(self.score, 4), "matrix": rounded(self.matrix).tolist()}

    def moved(self, x: float, y: float) -> "Detection":
        """The detection shifted by (x, y): from pixels of a region to those of the scene."""
        return self._transformed(shift(x, y), lambda ring: ring + np.array((x, y)))

    def on(self, picture: Picture) -> "Detection":
        """The detection in pixels of a picture of its scene, which may be a reduced overview."""
        if not isinstance(picture, Overview):
            return self
        smaller = reduce(picture.reduction)
        return self._transformed(smaller, lambda ring: mapped(smaller, ring))

    def _transformed(self, moved: Matrix, move: Callable[[Polygon], Polygon]) -> "Detection":
        """The detection in other scene pixels.

        Arguments:
            moved: scene pixels → the other pixels, 3×3.
            move: the same motion, for outlines.
        """
        parts = {
            name: replace(
                part, matrix=_moved(part.matrix, moved), rings=tuple(move(ring) for ring in part.rings)
            )
            for name, part in self.parts.items()
        }
        return replace(self, matrix=_moved(self.matrix, moved), parts=parts)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON, as `wherein detect` prints them."""
        return {
            **self.to_candidate(),
            "angle": round(self.angle, 4),
            "scale": round(self.scale, 6),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }


def _moved(matrix: Matrix, moved: Matrix) -> Matrix:
    # A 2×3 matrix stays 2×3: the motion is affine, so its last row is not needed.
    return np.asarray(moved[: len(matrix)] @ square(matrix))


@dataclass(frozen=True, eq=False)
class MethodResult:
    """The detections and candidates that a search method found in a scene.

    Attributes:
        items: the detections, the highest score first.
        candidates: hypotheses below the threshold but close to it, the highest score first.
    """

    items: tuple[Detection, ...]
    candidates: tuple[Detection, ...] = ()

    def __len__(self) -> int:
        return len(self.items) + len(self.candidates)

    def moved(self, x: float, y: float) -> "MethodResult":
        """The result shifted by (x, y): from pixels of a region to those of the scene."""
        return MethodResult(
            tuple(item.moved(x, y) for item in self.items),
            tuple(item.moved(x, y) for item in self.candidates),
        )


def best_first(found: Sequence[Detection]) -> tuple[Detection, ...]:
    """The detections in descending order of score."""
    # Stable, so that the order of equal scores, which are common at the cap, is always the same.
    order = np.argsort([-one.score for one in found], kind="stable")
    return tuple(found[index] for index in order)


def scene_name(scene: Source) -> str:
    """The name of a scene in results: its path as it was given."""
    return os.fspath(scene) if isinstance(scene, str | os.PathLike) else SCENE


def unread() -> Picture:
    """The scene of detections whose scene cannot be read: a picture without pixels."""
    return Picture(torch.zeros((3, 0, 0), dtype=torch.uint8), None)


@dataclass(frozen=True, eq=False)
class Detections(Exports, Shown, Sequence[Detection]):
    """All detections in a scene, the highest score first.

    All matrices have the same shape: 2×3, or 3×3 if the search allowed perspective.

    Attributes:
        items: the detections.
        template: the template's name; for several templates, the name of their folder, or their names.
        scene: the picture that was searched; for a scene that was searched in tiles, a reduced `Overview`.
        seconds: duration of the search; for a search in tiles, including the time to read them.
        name: the file name of the scene as given; for exports.
        candidates: hypotheses below the threshold but close to it, the highest score first, also if there
            are detections. They lack the last fit, which makes the poses of detections more exact.
        templates: the names of all templates that were searched for if there were several, otherwise empty.
        error: why the scene, one of many, could not be searched, as a sentence: then nothing was found, and
            the scene has no pixels. None: it was searched.
    """

    items: tuple[Detection, ...]
    template: str
    scene: Picture
    seconds: float
    name: str = SCENE
    candidates: tuple[Detection, ...] = ()
    templates: tuple[str, ...] = ()
    error: str | None = None

    def __post_init__(self) -> None:
        # Each item gets the scene, so that it can draw itself. `object.__setattr__`: the class is frozen.
        for field in ("items", "candidates"):
            known = tuple(replace(item, scene=self.scene) for item in getattr(self, field))
            object.__setattr__(self, field, known)

    @overload
    def __getitem__(self, index: int) -> Detection: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Detection, ...]: ...

    def __getitem__(self, index: int | slice) -> Detection | tuple[Detection, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Detection]:
        return iter(self.items)

    def __repr__(self) -> str:
        if self.error is not None:
            return f"Detections(unreadable: {self._failure})"
        scores = ", ".join(f"{item.score:.2f}" for item in self.items)
        return f"Detections({len(self)} × {self.template}{f': {scores}' if scores else ''})"

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the scene."""
        return self.scene.size

    def template_of(self, item: Detection) -> str:
        """The name of the template of a detection; in a search for a library, each has its own."""
        return item.template or self.template

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON, as `wherein detect` prints them, without the scene's name;
        `error` alone if the scene could not be searched."""
        if self.error is not None:
            return {"error": self.error}
        width, height = self.size
        return {
            "width": width,
            "height": height,
            "template": self.template,
            "seconds": round(self.seconds, 4),
            "detections": [self._named(item) | item.to_dict() for item in self.items],
            "candidates": [self._named(item) | item.to_candidate() for item in self.candidates],
        }

    def _named(self, item: Detection) -> dict[str, Any]:
        """The entry "template" of a detection; empty if there is one template only."""
        name = self.template_of(item)
        return {"template": name} if self.templates or name != self.template else {}

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    def draw(self, legend: bool = False) -> Image.Image:
        """Draw the scene at its full size with the outline of every part; a scene that was searched in tiles,
        as a reduced overview.

        Arguments:
            legend: whether to add the names of parts and a line for each detection below.

        Raises:
            ArgumentError: the scene could not be searched; so do `show` and `plot`.
        """
        from wherein.drawing.detections import draw_detections

        self.check_searched()
        return draw_detections(self.scene, self.items, legend, named=bool(self.templates))

    def plot(self, ax: Any = None) -> Any:
        """Plot the scene and the outlines, and return the matplotlib axes; None creates new ones.

        Raises:
            MissingError: matplotlib is not installed.
        """
        from wherein.drawing.notebook import plot_detections

        self.check_searched()
        return plot_detections(self.scene.pixels, [item.on(self.scene) for item in self.items], ax)

    def _repr_html_(self) -> str:
        from wherein.drawing.notebook import detections_html, failure_html

        if self.error is not None:
            return failure_html(self._failure)
        return detections_html(self._repr_png_(), self.items)

    def _repr_png_(self) -> bytes | None:
        return None if self.error is not None else super()._repr_png_()

    @property
    def _failure(self) -> str:
        """Which scene could not be searched, and why."""
        return f"{self.error}" if self.name == SCENE else f"{self.name}: {self.error}"

    def check_searched(self) -> None:
        """Raise `ArgumentError` if the scene could not be searched: there is nothing to draw."""
        require(
            self.error is None,
            f"there is no picture, as the scene could not be searched ({self._failure}): look at error first",
        )
