"""Photographs for the benchmarks: those of scikit-image and scikit-learn, and the paper's beach.

Nothing is downloaded. Photographs that cannot be loaded are omitted; `missing()` lists them.
"""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Picture = NDArray[np.uint8]

SHARED = Path(__file__).resolve().parents[2] / "shared"  # the paper's data, if it is beside the checkout
BEACH, BODY = SHARED / "crab" / "beach.jpg", SHARED / "crab" / "body.png"

SKIMAGE = (
    *("astronaut", "brick", "camera", "chelsea", "coffee", "coins", "grass", "gravel", "hubble_deep_field"),
    *("immunohistochemistry", "moon", "page", "retina", "rocket", "stereo_motorcycle"),
)
SKLEARN = ("china", "flower")
MIN_CONTRAST = 4.0  # of 255: minimum standard deviation in each quarter of a crop with texture; a choice


@cache
def load(name: str) -> Picture:
    """A photograph by its name, (H, W, 3); raises ValueError if it cannot be loaded."""
    try:
        return _rgb(_read(name))
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror}") from error  # without the path: reports are published
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name}: {str(error).splitlines()[0]}") from error


def _read(name: str) -> NDArray:
    if name == "beach":
        return np.asarray(Image.open(BEACH).convert("RGB"))
    if name in SKLEARN:
        from sklearn.datasets import load_sample_image

        return load_sample_image(f"{name}.jpg")
    import skimage.data

    loaded = getattr(skimage.data, name)()
    return loaded[0] if isinstance(loaded, tuple) else loaded  # of a stereo pair, the left picture


def _rgb(picture: NDArray) -> Picture:
    rgb = np.stack([picture] * 3, axis=-1) if picture.ndim == 2 else picture[..., :3]
    return np.ascontiguousarray(rgb, dtype=np.uint8)


def _attempt(name: str) -> str | None:
    try:
        load(name)
    except ValueError as error:
        return str(error)
    return None


@cache
def missing() -> tuple[str, ...]:
    """The photographs that cannot be loaded on this machine, each with the reason."""
    return tuple(reason for name in (*SKIMAGE, *SKLEARN, "beach") if (reason := _attempt(name)))


@cache
def names(beach: bool = False) -> tuple[str, ...]:
    """The photographs that can be loaded on this machine, in a fixed order."""
    selected = (*SKIMAGE, *SKLEARN, *(("beach",) if beach else ()))
    found = tuple(name for name in selected if _attempt(name) is None)
    if not found:
        raise ValueError("no photograph can be loaded: install the extra `photos`")
    return found


@cache
def _at_least(name: str, width: int, height: int) -> Picture:
    """A photograph, upscaled (bicubic) if it is smaller than a crop of this size."""
    picture = load(name)
    factor = max(width / picture.shape[1], height / picture.shape[0])
    if factor <= 1:
        return picture
    size = max(width, round(picture.shape[1] * factor)), max(height, round(picture.shape[0] * factor))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC))


def crop(name: str, width: int, height: int, rng: np.random.Generator) -> Picture:
    """A random crop (height, width, 3) of a photograph."""
    picture = _at_least(name, width, height)
    x = rng.integers(picture.shape[1] - width + 1)
    y = rng.integers(picture.shape[0] - height + 1)
    return picture[y : y + height, x : x + width].copy()


def textured_crop(name: str, size: int, inner: int, rng: np.random.Generator, tries: int = 50) -> Picture:
    """A random square crop with texture in its central square of `inner` px: sky would fit everywhere.

    Every quarter of the central square must have a standard deviation of at least MIN_CONTRAST grey levels.
    If none of the crops has, the best of them is returned.
    """
    candidates = []
    for _ in range(tries):
        candidate = crop(name, size, size, rng)
        contrast = min_contrast(candidate, inner)
        if contrast >= MIN_CONTRAST:
            return candidate
        candidates.append((contrast, len(candidates), candidate))
    return max(candidates)[2]


def min_contrast(picture: Picture, inner: int) -> float:
    """The smallest standard deviation among the quarters of the central square, in grey levels."""
    edge, half = (picture.shape[0] - inner) // 2, inner // 2
    grey = picture.mean(axis=-1)[edge : edge + 2 * half, edge : edge + 2 * half]
    return float(grey.reshape(2, half, 2, half).std(axis=(1, 3)).min())
