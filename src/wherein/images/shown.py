"""`Shown`, the base class of results and templates that can be shown in a window or a notebook."""

import io

from PIL import Image

_MAX_SIDE = 1200
"""Maximum length in pixels of the longer side of a picture in a notebook. A choice: as wide as a page, and
not megabytes."""


class Shown:
    """Something that can be drawn. Jupyter shows it below a cell that ends with it."""

    def draw(self) -> Image.Image:
        """Draw it, and return the picture."""
        raise NotImplementedError

    def show(self) -> None:
        """Show the drawing in the picture viewer of the system, or in a notebook below its cell."""
        self.draw().show("wherein")

    def _repr_png_(self) -> bytes | None:
        """The drawing for Jupyter, reduced if it is large."""
        image = self.draw().convert("RGB")
        image.thumbnail((_MAX_SIDE, _MAX_SIDE))
        buffer = io.BytesIO()
        image.save(buffer, "png")
        return buffer.getvalue()
