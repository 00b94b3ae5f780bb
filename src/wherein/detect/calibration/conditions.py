"""Simulates the conditions of a photograph in calibration's test scenes: light, reflections, camera, JPEG.

A rendered scene is easier than a photograph. An object scores lower if it is unevenly lit, reflects a window,
lies half in shadow, or is blurred or badly exposed, and a threshold learned on rendered scenes would miss it.
So each test scene gets a random selection of these effects. Their probabilities and strengths are choices,
after hand-held photographs of everyday objects.
"""

import io
import math

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from wherein.images.eight_bit import to_image
from wherein.images.gaussian import blur

_Field = NDArray[np.float64]


def photographed(scene: Float[Tensor, "3 H W"], rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
    """The scene under random conditions: light, reflections, shadows, exposure, blur, noise and JPEG."""
    # In the order of a camera: light falls on the scene, is exposed and blurred by the lens, and then the
    # sensor adds noise. Only the tone curve comes first: it varies the contrast of the painted object.
    picture = scene.double().numpy() ** rng.uniform(0.75, 1.35)
    if rng.random() < 0.5:
        picture = picture * (1 + rng.uniform(0.2, 0.8) * _ramp(picture.shape, rng))
    if rng.random() < 0.4:
        picture = picture * (1 - rng.uniform(0.25, 0.6) * _shadow(picture.shape, rng))
    if rng.random() < 0.3:
        picture = picture + rng.uniform(0.2, 0.7) * _glare(picture.shape, rng)
    picture = picture * rng.uniform(0.6, 1.15) * rng.uniform(0.8, 1.2, (3, 1, 1))  # exposure, white balance
    seen = blur(torch.from_numpy(picture).float()[None], float(rng.uniform(0.3, 1.5)))[0]
    # Not blurred: noise is independent from pixel to pixel. Clipping comes after it, as a sensor saturates.
    noise = torch.from_numpy(rng.normal(0, rng.uniform(0, 0.04), picture.shape)).float()
    seen = (seen + noise).clamp(0, 1)
    return _as_jpeg(seen, int(rng.integers(40, 96))) if rng.random() < 0.5 else seen


def _ramp(shape: tuple[int, ...], rng: np.random.Generator) -> _Field:
    """A linear gradient of light in a random direction; from −½ to ½ along an axis of the picture."""
    y, x = _coordinates(shape)
    angle = rng.uniform(0, 2 * math.pi)
    return (math.cos(angle) * x + math.sin(angle) * y) / 2


def _shadow(shape: tuple[int, ...], rng: np.random.Generator) -> _Field:
    """A straight edge between light (0) and shadow (1), hard or soft."""
    y, x = _coordinates(shape)
    angle, at = rng.uniform(0, 2 * math.pi), rng.uniform(-0.5, 0.5)
    # A logistic function of the distance from the edge; its slope is the sharpness.
    return np.asarray(
        1 / (1 + np.exp(-(math.cos(angle) * x + math.sin(angle) * y - at) * rng.uniform(20, 200)))
    )


def _glare(shape: tuple[int, ...], rng: np.random.Generator) -> _Field:
    """A reflection of a window: a soft, bright quadrilateral."""
    y, x = _coordinates(shape)
    angle, (cx, cy) = rng.uniform(0, math.pi), rng.uniform(-0.7, 0.7, 2)
    u = math.cos(angle) * (x - cx) + math.sin(angle) * (y - cy)
    v = math.cos(angle) * (y - cy) - math.sin(angle) * (x - cx)
    width, height, sharp = rng.uniform(0.08, 0.3), rng.uniform(0.08, 0.3), rng.uniform(10, 60)
    # 0 on the outline of the rectangle, negative inside. Clipped, so that exp does not overflow.
    outside = np.maximum(np.abs(u) / width, np.abs(v) / height) - 1
    return np.asarray(1 / (1 + np.exp((outside * min(width, height) * sharp).clip(-50, 50))))


def _coordinates(shape: tuple[int, ...]) -> tuple[_Field, _Field]:
    """y and x of the pixels, each from −1 to 1, (H, W): a square in them is a rectangle in pixels."""
    return tuple(np.meshgrid(*(np.linspace(-1, 1, side) for side in shape[-2:]), indexing="ij"))  # type: ignore[return-value]


def _as_jpeg(scene: Float[Tensor, "3 H W"], quality: int) -> Float[Tensor, "3 H W"]:
    """The scene after compression as JPEG at a quality from 1 to 100."""
    file = io.BytesIO()
    to_image(scene).save(file, "JPEG", quality=quality)
    pixels = np.asarray(Image.open(file), dtype=np.float32) / 255
    return torch.from_numpy(pixels).movedim(-1, 0).contiguous()
