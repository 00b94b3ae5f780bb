"""Synthetic scenes with a template at known poses: on photographs, with light, noise, hidden parts.

Each scene has its own random generator, so that scene 17 of a kind does not depend on the number of scenes.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from benchmarks import photographs
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

SIZE = (512, 384)  # width, height

Array = NDArray[np.float64]
Picture = NDArray[np.float32]


@dataclass(frozen=True)
class Instance:
    """One object: its matrix canvas → scene, and the matrices of all painted leaves."""

    root: Array
    parts: dict[str, Array]
    covered: frozenset[str] = frozenset()
    """Leaves whose position cannot be known: covered, mostly outside of the scene, or not painted."""


@dataclass(frozen=True)
class Scene:
    """A scene (H, W, 3) in [0, 1], with the true poses of its objects."""

    name: str
    picture: Picture
    instances: tuple[Instance, ...] = ()


@dataclass(frozen=True)
class Range:
    """The range of random poses: rotations in ± degrees, scales, joint angles in ± degrees."""

    rotation: float = 180.0
    scale: tuple[float, float] = (1.0, 1.0)
    turn: float = 15.0


EVERYWHERE = Range()


@dataclass
class _Draft:
    """A scene in progress: objects are added to the picture, and recorded."""

    rng: np.random.Generator
    template: Template
    ranges: Range
    picture: torch.Tensor
    instances: list[Instance] = field(default_factory=list)

    def add(self, hidden: frozenset[str] = frozenset(), inside: float = 1.0) -> None:
        root, moved = self._pose(inside)
        self.picture = render(self.picture, self.template, moved, hidden)
        leaves = {name: moved[name] for name in self.template.parts.leaves if name not in hidden}
        # A leaf that is less than 70 % inside the scene is not counted: a choice.
        outside = {name for name in leaves if self._share_inside({name: moved[name]}) < 0.7}
        self.instances.append(Instance(root, leaves, hidden | outside))

    def _pose(self, inside: float) -> tuple[Array, dict[str, Array]]:
        """A random pose, drawn until enough of the object is inside the scene and away from other objects.

        inside: the minimum visible fraction; 1: the object is wholly inside.
        """
        tree, rng = self.template.parts, self.rng
        width, height = SIZE
        for _ in range(2000):
            scale = float(np.exp(rng.uniform(*np.log(self.ranges.scale))))
            angle = float(rng.uniform(-self.ranges.rotation, self.ranges.rotation))
            reach = 0.0 if inside == 1 else 0.2
            at = (rng.uniform(-reach, 1 + reach) * width, rng.uniform(-reach, 1 + reach) * height)
            root = placed(angle, scale, at, self.template.centre)
            turns = {
                name: float(rng.uniform(-1, 1) * min(self.ranges.turn, part.turn))
                for name, part in tree.items()
                if part.moves and (part.motif is not None or part.pivot != self.template.centre)
            }
            moved = matrices(tree, root, turns)
            share = self._share_inside(moved)
            if (share == 1 if inside == 1 else inside <= share < 0.9) and self._clear(root):
                return root, moved
        raise ValueError(f"{self.template.name} does not fit into a scene of {width} × {height}")

    def _share_inside(self, moved: dict[str, Array]) -> float:
        within = total = 0
        for name in moved.keys() & set(self.template.parts.leaves):
            rows, columns = np.nonzero(self.template.parts[name].motif.mask.numpy() > 0.5)
            x, y, _ = moved[name] @ np.stack((columns, rows, np.ones_like(rows)))
            within += ((x >= 0) & (y >= 0) & (x <= SIZE[0] - 1) & (y <= SIZE[1] - 1)).sum()
            total += len(rows)
        return within / total

    def _clear(self, root: Array) -> bool:
        centre = np.array((*self.template.centre, 1.0))
        apart = 0.6 * max(self.template.size)
        return all(np.linalg.norm((root - other.root) @ centre) > apart for other in self.instances)


def _plain(draft: _Draft) -> None:
    draft.add()


def _two(draft: _Draft) -> None:
    """Add two objects; the second may cover parts of the first."""
    draft.add()
    draft.add()
    first, second = draft.instances
    covered = {name for name in first.parts if _share_under(draft.template, first, name, second) > 0.3}
    draft.instances[0] = Instance(first.root, first.parts, first.covered | covered)


def _share_under(template: Template, lower: Instance, name: str, upper: Instance) -> float:
    """The fraction of a leaf that is covered by the leaves of an instance painted later."""
    points = lower.parts[name] @ _mask_points(template, name)
    under = np.zeros(points.shape[1], dtype=bool)
    for other, matrix in upper.parts.items():
        mask = template.parts[other].motif.mask.numpy() > 0.5
        columns, rows, _ = np.rint(np.linalg.inv(matrix) @ points).astype(int)
        inside = (columns >= 0) & (rows >= 0) & (columns < mask.shape[1]) & (rows < mask.shape[0])
        under[inside] |= mask[rows[inside], columns[inside]]
    return float(under.mean())


def _mask_points(template: Template, name: str) -> Array:
    """The pixels of a leaf in homogeneous coordinates, (3, N)."""
    rows, columns = np.nonzero(template.parts[name].motif.mask.numpy() > 0.5)
    return np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)


def _empty(draft: _Draft) -> None:
    pass


def _half_outside(draft: _Draft) -> None:
    draft.add(inside=0.6)


def _missing(draft: _Draft) -> None:
    """Add an object without one or two of its moving parts."""
    loose = [name for name in draft.template.parts.leaves if draft.template.parts[name].moves]
    count = int(draft.rng.integers(1, 3)) if len(loose) > 2 else 1
    draft.add(hidden=frozenset(draft.rng.choice(loose, min(count, len(loose)), replace=False).tolist()))


def _covered(draft: _Draft) -> None:
    """Add an object, and cover a fifth to a third of its box by a patch of another photograph."""
    draft.add()
    last = draft.instances[-1]
    width, height = draft.template.size
    share = draft.rng.uniform(0.2, 0.33)
    side = np.sqrt(share * width * height)
    wide, tall = int(min(side, width * 0.8)), int(min(side, height * 0.8))
    spot = last.root @ np.array((draft.rng.uniform(0, width), draft.rng.uniform(0, height), 1))
    left = int(np.clip(spot[0] - wide / 2, 0, SIZE[0] - wide))
    top = int(np.clip(spot[1] - tall / 2, 0, SIZE[1] - tall))
    name = str(draft.rng.choice(photographs.names()))
    patch = photographs.crop(name, wide, tall, draft.rng)
    picture = draft.picture.clone()
    picture[:, top : top + tall, left : left + wide] = torch.from_numpy(patch).movedim(-1, 0) / 255
    draft.picture = picture
    covered = set()
    for part, matrix in last.parts.items():
        rows, columns = np.nonzero(draft.template.parts[part].motif.mask.numpy() > 0.5)
        x, y, _ = matrix @ np.stack((columns, rows, np.ones_like(rows)))
        under = ((x >= left) & (x < left + wide) & (y >= top) & (y < top + tall)).mean()
        if under > 0.3:
            covered.add(part)
    draft.instances[-1] = Instance(last.root, last.parts, frozenset(covered))


def _light(picture: Picture, rng: np.random.Generator) -> Picture:
    gain, bias = rng.uniform(0.45, 0.8), rng.uniform(-0.1, 0.25)
    return gain * picture + bias


def _uneven_light(picture: Picture, rng: np.random.Generator) -> Picture:
    height, width = picture.shape[:2]
    across = np.linspace(0, 1, width)[None, :, None] * rng.uniform(-1, 1)
    down = np.linspace(0, 1, height)[:, None, None] * rng.uniform(-1, 1)
    return picture * (0.75 + 0.25 * (across + down))


def _noise(picture: Picture, rng: np.random.Generator) -> Picture:
    return picture + rng.normal(0, rng.uniform(0.03, 0.1), picture.shape)


def _blur(picture: Picture, rng: np.random.Generator) -> Picture:
    sigma = rng.uniform(0.7, 1.6)
    return ndimage.gaussian_filter(picture, (sigma, sigma, 0))


def _jpeg(picture: Picture, rng: np.random.Generator) -> Picture:
    data = io.BytesIO()
    levels = np.round(picture.clip(0, 1) * 255).astype(np.uint8)
    Image.fromarray(levels).save(data, "JPEG", quality=int(rng.integers(15, 50)))
    return np.asarray(Image.open(data), dtype=np.float64) / 255


def _grey(picture: Picture, rng: np.random.Generator) -> Picture:
    return np.repeat(picture @ np.array((0.299, 0.587, 0.114))[:, None], 3, axis=-1)


def _same(picture: Picture, rng: np.random.Generator) -> Picture:
    return picture


KINDS: dict[str, tuple[Callable[[_Draft], None], Callable[[Picture, np.random.Generator], Picture]]] = {
    "plain": (_plain, _same),
    "two": (_two, _same),
    "light": (_plain, _light),
    "uneven": (_plain, _uneven_light),
    "noise": (_plain, _noise),
    "blur": (_plain, _blur),
    "jpeg": (_plain, _jpeg),
    "grey": (_plain, _grey),
    "missing": (_missing, _same),
    "covered": (_covered, _same),
    "outside": (_half_outside, _same),
    "empty": (_empty, _same),
}


def scene(
    template: Template, kind: str, index: int, seed: int = 0, ranges: Range = EVERYWHERE, beach: bool = False
) -> Scene:
    """Scene `index` of a kind."""
    # crc32 and not hash(), which differs between processes.
    rng = np.random.default_rng((seed, crc32(kind.encode()), index))
    names = photographs.names(beach)
    name = "beach" if beach else names[int(rng.integers(len(names)))]
    background = torch.from_numpy(photographs.crop(name, *SIZE, rng)).movedim(-1, 0).float() / 255
    arrange, spoil = KINDS[kind]
    draft = _Draft(rng, template, ranges, background)
    arrange(draft)
    picture = spoil(draft.picture.movedim(0, -1).numpy().astype(np.float64), rng)
    levels = np.round(np.clip(picture, 0, 1) * 255).astype(np.float32) / 255
    return Scene(f"{kind}_{index}_{name}", levels, tuple(draft.instances))
