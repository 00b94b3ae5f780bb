"""The demonstration of `register`: a motif painted into a real photograph, and found again."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import wherein
from wherein.cli.work import save
from wherein.drawing.registrations import draw_registration
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.motion.field import lattice
from wherein.motion.models import rotation
from wherein.template.render import paint


def registered_cat(target: Path, seed: int) -> str:
    """Paint a cat's face into a photograph, turned, stretched, in other light, with noise; then find it.

    Arguments:
        target: the file for a picture of it.
        seed: of pose and noise.

    Returns how that went.
    """
    from skimage import data

    rng = np.random.default_rng(seed)
    motif = cat_face(np.asarray(data.chelsea()))
    scene, truth = hide(np.asarray(data.coffee()), motif, rng)
    rgba = torch.cat((motif.pixels, motif.mask[None]))
    found = wherein.register(scene, rgba, motion="affine")
    corners = np.array([(x, y, 1.0) for x in (0, motif.width - 1) for y in (0, motif.height - 1)])
    missed = float(np.linalg.norm(corners @ (found.matrix - truth).T, axis=1).max())
    height, width = scene.shape[-2:]
    start = np.array([[1.0, 0, (width - motif.width) / 2], [0, 1, (height - motif.height) / 2]])
    lines = (
        f"{found.status} after {found.steps} steps",
        f"ZNCC {found.zncc:.3f}, turned {found.angle:.1f}°",
        f"corner error {missed:.3f} px",
        "orange: start, green: found",
    )
    save(draw_registration(scene, motif, found.matrix, start, lines), target)
    return f"a cat's face, registered: {', '.join(lines[:3])}"


def cat_face(photograph: NDArray[np.uint8]) -> Motif:
    """An ellipse cut out of scikit-image's cat."""
    pixels = load_picture(photograph[15:265, 95:375]).pixels
    height, width = pixels.shape[-2:]
    unit = (lattice(height, width, pixels) + 0.5) / torch.tensor((width, height)) * 2 - 1
    return Motif(pixels, (unit.norm(dim=-1) < 0.97).float())


def hide(
    photograph: NDArray[np.uint8], motif: Motif, rng: np.random.Generator
) -> tuple[torch.Tensor, NDArray[np.float64]]:
    """The photograph with the motif painted in, in other light and with noise, and the true matrix."""
    background = load_picture(photograph).pixels
    height, width = background.shape[-2:]
    first, second = rng.uniform(-1, 1, 2)
    whole, back = rotation(torch.tensor((first + second, -second), dtype=torch.float64)).numpy()
    linear = whole @ np.diag(rng.uniform(0.8, 1.25, 2)) @ back
    centre = np.array((width - 1, height - 1)) / 2 + rng.uniform(-30, 30, 2)
    shift = centre - linear @ (np.array((motif.width - 1, motif.height - 1)) / 2)
    matrix = np.eye(3)
    matrix[:2, :2], matrix[:2, 2] = linear, shift
    painted = paint(background, motif, torch.from_numpy(matrix))
    noise = torch.from_numpy(rng.normal(0, 0.03, painted.shape)).float()
    return (0.75 * painted + 0.1 + noise).clamp(0, 1), matrix[:2]
