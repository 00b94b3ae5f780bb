"""Pictures for the page to show: whatever came, in a format that every browser has."""

import io

import numpy as np
import torch
from PIL import Image

from wherein.drawing.registrations import to_image
from wherein.images.load import Picture

_LARGEST = 3000
"""Pixels of the longer side; the page knows the true size and works in that."""

_EXACT = 1_500_000
"""Pixels up to which every one is shown as it is."""


def preview(picture: Picture) -> tuple[bytes, str]:
    """The picture in a file, and the type of that."""
    image = to_image(picture.pixels.detach().float().cpu())
    if picture.mask is not None:
        levels = (picture.mask.detach().cpu().clamp(0, 1) * 255).round().to(torch.uint8)
        image.putalpha(Image.fromarray(np.ascontiguousarray(levels.numpy())))
    exact = image.width * image.height <= _EXACT or picture.mask is not None
    image.thumbnail((_LARGEST, _LARGEST))
    file = io.BytesIO()
    if exact:
        image.save(file, "png", compress_level=1)  # it goes no further than the next process
        return file.getvalue(), "image/png"
    image.save(file, "jpeg", quality=92)
    return file.getvalue(), "image/jpeg"
