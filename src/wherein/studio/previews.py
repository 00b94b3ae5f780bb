"""Pictures for the page to show: whatever came, in a format that every browser has."""

import io

from wherein.images.eight_bit import to_image
from wherein.images.load import Picture

_LARGEST = 3000
"""Pixels of the longer side; the page knows the true size and works in that."""

_EXACT = 1_500_000
"""Pixels up to which every one is shown as it is."""


def preview(picture: Picture) -> tuple[bytes, str]:
    """The picture in a file, and the type of that."""
    image = to_image(picture.pixels.float(), None if picture.mask is None else picture.mask.float())
    exact = image.width * image.height <= _EXACT or picture.mask is not None
    image.thumbnail((_LARGEST, _LARGEST))
    file = io.BytesIO()
    if exact:
        image.save(file, "png", compress_level=1)  # it goes no further than the next process
        return file.getvalue(), "image/png"
    image.save(file, "jpeg", quality=92)
    return file.getvalue(), "image/jpeg"
