"""Registration problems with exactly known solutions.

Motif and scene are each sampled once, from the same continuous source: no picture is resampled from another.
Each problem has its own random generator: problem 17 does not depend on the number of problems, and no two
groups share random numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from benchmarks import photographs
from benchmarks.geometry import (
    Array,
    Spline,
    apply,
    centred,
    corners,
    four_points,
    homogeneous,
    linear,
    pixels,
    rotation,
    shift,
)
from wherein.experiments.registration_scenes import LINEAR, SHIFT, random_motion

SCENE = (512, 384)  # width, height of the scenes of Figure 1
POSES = tuple(LINEAR)  # its motions


@dataclass(frozen=True)
class Problem:
    """A registration problem and its solution."""

    scene: NDArray  # (H, W, 3) uint8, or float32 in [0, 1]
    motif: NDArray  # (h, w, 3), or (h, w, 4) with alpha as the mask
    mask: NDArray | None  # (h, w), if the motif has no alpha
    truth: Array  # 2×3 or 3×3, motif → scene
    start: Array | None  # 2×3 or 3×3; None: the motif centred in the scene
    motion: str
    photograph: str

    @property
    def motif_size(self) -> tuple[int, int]:
        """Width and height of the motif."""
        return self.motif.shape[1], self.motif.shape[0]

    @property
    def scene_size(self) -> tuple[int, int]:
        """Width and height of the scene."""
        return self.scene.shape[1], self.scene.shape[0]

    @property
    def support(self) -> NDArray[np.bool_]:
        """The pixels inside the motif's mask, (h, w)."""
        if self.mask is not None:
            return np.asarray(self.mask) > 0
        if self.motif.shape[2] == 4:
            return self.motif[..., 3] > 127
        return np.ones(self.motif.shape[:2], dtype=bool)

    @property
    def start_matrix(self) -> Array:
        """The start as a matrix, also if it is None, for methods that need one."""
        return centred(self.scene_size, self.motif_size) if self.start is None else self.start


def generator(seed: int, index: int, group: str) -> np.random.Generator:
    """The random generator of one problem."""
    return np.random.default_rng([seed, index, crc32(group.encode())])


# --- 1. the poses of Figure 1 ---


def figure1(kind: str, where: str, count: int = 100, seed: int = 0) -> Iterator[Problem]:
    """Poses of the paper's Figure 1: the crab's body on random crops of the beach, or of other photographs.

    kind: translation | euclidean | similarity | affine; where: beach | photographs.
    """
    choices = names_of(where)
    for index in range(count):
        rng = generator(seed, index, f"figure1 {kind} {where}")
        name = choices[index % len(choices)]
        motif = body(rng)
        background = photographs.crop(name, *SCENE, rng)
        truth = figure1_pose(kind, (motif.shape[1], motif.shape[0]), rng)
        yield Problem(paint(background, motif, truth), motif, None, truth, None, kind, name)


def names_of(where: str) -> tuple[str, ...]:
    """The backgrounds of Figure 1; if the beach is missing, the other photographs."""
    beach = tuple(name for name in photographs.names(beach=True) if name == "beach")
    return beach if where == "beach" and beach else photographs.names()


def body(rng: np.random.Generator) -> NDArray[np.uint8]:
    """The crab's body (RGBA); if ../shared is missing, an ellipse cut out of a photograph."""
    if photographs.BODY.exists():
        return np.asarray(Image.open(photographs.BODY).convert("RGBA"))
    cut = photographs.crop("astronaut", 178, 102, rng)
    x, y = (pixels(178, 102).T - np.array([[88.5], [50.5]])) / np.array([[88.5], [50.5]])
    alpha = np.where(x**2 + y**2 <= 1, 255, 0).reshape(102, 178, 1)
    return np.concatenate([cut, alpha.astype(np.uint8)], axis=-1)


def figure1_pose(kind: str, motif_size: tuple[int, int], rng: np.random.Generator) -> Array:
    """A random pose: a linear map about the motif's centre, which is at the scene's centre, and a shift."""
    moved = random_motion(kind, rng)
    place = homogeneous(centred(SCENE, motif_size))
    return about_centre(moved[:2, :2], motif_size, place, moved[:2, 2])[:2]


def about_centre(a: Array, size: tuple[int, int], place: Array, offset: Array) -> Array:
    """The linear map `a` about the motif's centre, then a shift, then `place`, 3×3."""
    middle = (size[0] - 1) / 2, (size[1] - 1) / 2
    return place @ shift(*offset) @ shift(*middle) @ linear(a) @ shift(-middle[0], -middle[1])


def paint(background: NDArray[np.uint8], motif: NDArray[np.uint8], matrix: Array) -> NDArray[np.uint8]:
    """The motif (RGBA) painted over a picture: premultiplied alpha, cubic interpolation, inverse mapping.

    With one sample per pixel, a shift by whole pixels is an exact copy, and scales down to 0.8 alias little.
    """
    margin = 8  # within it, the ringing of the spline at the motif's edge has decayed
    layer = np.pad(motif / 255.0, ((margin, margin), (margin, margin), (0, 0)))
    layer[..., :3] *= layer[..., 3:]
    width, height = background.shape[1], background.shape[0]
    points = apply(np.linalg.inv(homogeneous(matrix)), pixels(width, height)) + margin
    near = np.all((points >= 0) & (points <= np.array([layer.shape[1], layer.shape[0]]) - 1), axis=1)
    painted = Spline(layer)(points[near])
    alpha = np.clip(painted[:, 3:], 0, 1)
    scene = background.reshape(-1, 3) / 255.0
    scene[near] = np.clip(painted[:, :3], 0, alpha) + (1 - alpha) * scene[near]
    return np.rint(scene * 255).astype(np.uint8).reshape(background.shape)


# --- 2. sub-pixel ---


def subpixel(
    count: int = 120,
    seed: int = 0,
    *,
    size: int = 300,
    margin: int = 30,
    blur: float = 1.0,
    quantise: bool = False,
) -> Iterator[Problem]:
    """Small affine warps of slightly blurred photographs; both pictures are samples of one quintic spline."""
    choices = photographs.names(beach=True)
    around = 2 * margin + 70  # the warped scene reaches beyond its own margin
    for index in range(count):
        rng = generator(seed, index, "subpixel")
        name = choices[index % len(choices)]
        source = photographs.textured_crop(name, size + around, size, rng) / 255.0
        picture = Spline(ndimage.gaussian_filter(source, (blur, blur, 0)), order=5)
        start = shift(margin, margin)
        truth = about_centre(small_affine(rng), (size, size), start, rng.uniform(-SHIFT, SHIFT, 2))
        views = {"size": size, "outer": size + 2 * margin, "name": name, "quantise": quantise}
        yield _two_views(picture, truth[:2], start[:2], motion="affine", **views)


def small_affine(rng: np.random.Generator) -> Array:
    """A random linear map: scale 0.95 to 1.05, rotation up to ±5°, shear up to ±0.03."""
    shear = np.array([[1.0, rng.uniform(-0.03, 0.03)], [0.0, 1.0]])
    return rng.uniform(0.95, 1.05) * rotation(rng.uniform(-5, 5)) @ shear


# --- 3. homographies ---


def homographies(
    count: int = 100, seed: int = 0, *, size: int = 128, spread: float = 16, margin: int = 0
) -> Iterator[Problem]:
    """Homographies that move each corner of a window of size × size px by up to ±spread px.

    Without a margin, the scene has the size of the motif, so that parts of the motif lie outside.
    """
    choices = photographs.names(beach=True)
    for index in range(count):
        rng = generator(seed, index, f"homographies {margin}")
        name = choices[index % len(choices)]
        source = photographs.textured_crop(name, size + 2 * margin + 6 * int(spread), size, rng)
        square, start = corners(size, size), shift(margin, margin)
        truth = start @ four_points(square, square + rng.uniform(-spread, spread, (4, 2)))
        picture = Spline(source / 255.0, order=5)
        views = {"size": size, "outer": size + 2 * margin, "name": name, "quantise": True}
        yield _two_views(picture, truth, start, motion="homography", **views)


def _two_views(
    picture: Spline,
    truth: Array,
    start: Array,
    *,
    size: int,
    outer: int,
    motion: str,
    name: str,
    quantise: bool,
) -> Problem:
    """The central window of a picture as the motif, and the picture warped by the truth as the scene."""
    origin = (picture.size[0] - size) // 2
    motif = picture(pixels(size, size) + origin).reshape(size, size, 3)
    back = apply(np.linalg.inv(homogeneous(truth)), pixels(outer, outer))
    scene = picture(back + origin).reshape(outer, outer, 3)
    return Problem(_levels(scene, quantise), _levels(motif, quantise), None, truth, start, motion, name)


def _levels(picture: Array, quantise: bool) -> NDArray:
    clipped = np.clip(picture, 0, 1)
    return np.rint(clipped * 255).astype(np.uint8) if quantise else clipped.astype(np.float32)
