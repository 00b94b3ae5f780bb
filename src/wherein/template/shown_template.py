"""How a template shows itself: drawn, in a notebook, on the axes of matplotlib."""

from typing import TYPE_CHECKING, Any, cast

from PIL import Image

from wherein.images.shown import Shown

if TYPE_CHECKING:
    from wherein.template.bundle import Template


class ShownTemplate(Shown):
    """What a `Template` is that can be shown."""

    @property
    def _own(self) -> "Template":
        return cast("Template", self)

    def draw(self) -> Image.Image:
        """The canvas, enlarged, with the outline of each part, every joint and how far it turns."""
        from wherein.drawing.palette import colors
        from wherein.drawing.template_sheet import draw_canvas

        return draw_canvas(self._own, colors(self._own.parts.leaves))

    def plot(self, ax: Any = None) -> Any:
        """The canvas, outlines and joints on the axes of matplotlib, which are returned; None: new ones."""
        from wherein.drawing.notebook import plot_template

        return plot_template(self._own, ax)

    def _repr_html_(self) -> str:
        from wherein.drawing.notebook import template_html

        return template_html(self._repr_png_(), self._own)
