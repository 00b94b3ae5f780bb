"""Simulated photographs: an object painted into a photograph, changed light, blur, noise and JPEG."""

import io
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from benchmarks import photographs
from benchmarks.geometry import Array, homogeneous
from benchmarks.real.common import REAL, Picture, rgb

SHIPPED = "wherein.detect.calibration"  # the package with the photographs for calibrations


def background(size: tuple[int, int], rng: np.random.Generator, without: tuple[str, ...] = ()) -> Picture:
    """A random crop (height, width, 3) of a photograph that no calibration uses, at a scale of 0.5 to 1.

    without: names of further photographs that are not used.
    """
    sources = [name for name in backgrounds() if name not in without]
    source = sources[int(rng.integers(len(sources)))]
    picture = photographs.load(source) if source in photographs.names(beach=True) else rgb(REAL / source)
    factor = max(size[0] / picture.shape[1], size[1] / picture.shape[0], rng.uniform(0.5, 1.0))
    wide, tall = (
        max(side, round(length * factor)) for side, length in zip(size, picture.shape[1::-1], strict=True)
    )
    scaled = np.asarray(Image.fromarray(picture).resize((wide, tall), Image.Resampling.BICUBIC))
    x, y = rng.integers(wide - size[0] + 1), rng.integers(tall - size[1] + 1)
    return scaled[y : y + size[1], x : x + size[0]].copy()


def backgrounds() -> list[str]:
    """Names of photographs, or paths below ../shared/real, that are not shipped for calibrations."""
    shipped = {path.name.split(".")[0] for path in files(SHIPPED).joinpath("photographs").iterdir()}
    named = [name for name in photographs.names(beach=True) if name not in shipped]
    found = sorted(REAL.glob("oxford/*/img1.*")) + sorted(REAL.glob("pairs/*_frm2_*"))[::15]
    return named + [path.relative_to(REAL).as_posix() for path in found]


def paint(scene: Picture, cutout: Picture, matrix: Array) -> Picture:
    """A picture with alpha (h, w, 4) painted over a scene at a pose (2×3 or 3×3), without aliasing."""
    import cv2

    layer = cutout.astype(np.float32) / 255
    layer[..., :3] *= layer[..., 3:]
    layer = np.pad(layer, ((2, 2), (2, 2), (0, 0)))
    to_scene = homogeneous(matrix) @ np.array([[1, 0, -2], [0, 1, -2], [0, 0, 1.0]])
    scale = np.sqrt(abs(np.linalg.det(to_scene[:2, :2])))
    # The pixels of the scene are larger by 1/scale: blur from σ = 0.5 px to 0.5/scale px. Variances add, so
    # the missing variance is 0.25 (1/scale² − 1).
    if scale < 1:
        sigma = 0.5 * np.sqrt(1 / scale**2 - 1)
        layer = ndimage.gaussian_filter(layer, (sigma, sigma, 0), mode="constant")
    size = scene.shape[1], scene.shape[0]
    painted = cv2.warpPerspective(layer, to_scene, size, flags=cv2.INTER_LINEAR)
    return levels(painted[..., :3] + (1 - painted[..., 3:]) * (scene / 255))


def photographed(
    picture: Picture, rng: np.random.Generator, *, blur: float = 1.2, noise: float = 0.02, glare: bool = False
) -> Picture:
    """The picture with changed light (gain, white balance, gradient, shadow), then blur, noise and JPEG.

    blur: maximum σ in px; noise: maximum σ of values in [0, 1]; glare: also a bright, blurred spot.
    """
    light = picture / 255.0 * rng.uniform(0.6, 1.25) * rng.uniform(0.85, 1.15, 3)
    light = light * _uneven(picture.shape[:2], rng)[..., None] * _shadow(picture.shape[:2], rng)[..., None]
    if glare:
        light = light + _glare(picture.shape[:2], rng)[..., None]
    sigma = rng.uniform(0, blur)
    light = ndimage.gaussian_filter(light, (sigma, sigma, 0))
    light = light + rng.normal(0, rng.uniform(0.3, 1) * noise, light.shape)
    return jpeg(levels(light), int(rng.integers(40, 90)))


def _ramp(shape: tuple[int, ...], angle: float) -> NDArray:
    """A linear ramp from −1 to 1 across a picture, in a direction."""
    y, x = np.mgrid[-1 : 1 : shape[0] * 1j, -1 : 1 : shape[1] * 1j]
    return (x * np.cos(angle) + y * np.sin(angle)) / np.sqrt(2)


def _uneven(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray:
    return 1 + rng.uniform(0, 0.35) * _ramp(shape, rng.uniform(0, 2 * np.pi))


def _shadow(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray:
    """A straight shadow with a soft border on one side of the picture."""
    side = _ramp(shape, rng.uniform(0, 2 * np.pi)) - rng.uniform(-0.3, 0.3)
    dark = rng.uniform(0.5, 1.0)
    return dark + (1 - dark) / (1 + np.exp(-side * rng.uniform(10, 80)))


def _glare(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray:
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    at, size = rng.uniform(0.2, 0.8, 2) * shape, rng.uniform(0.03, 0.1) * min(shape)
    distance = np.hypot((y - at[0]) / rng.uniform(0.5, 2), x - at[1])
    return rng.uniform(0.2, 0.8) * np.exp(-0.5 * (distance / size) ** 2)


def jpeg(picture: Picture, quality: int) -> Picture:
    """The picture after JPEG compression."""
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "JPEG", quality=quality)
    return np.asarray(Image.open(data))


def levels(picture: NDArray) -> Picture:
    """A picture in [0, 1] as 8-bit levels."""
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
