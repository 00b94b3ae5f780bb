"""How a template is displayed: as a drawing, in a notebook, on matplotlib axes."""

from typing import TYPE_CHECKING, Any, cast

from PIL import Image

from wherein.images.shown import Shown

if TYPE_CHECKING:
    from wherein.template.bundle import Template


class ShownTemplate(Shown):
    """The base of `Template` that displays it.

    It imports `wherein.drawing`, which stands below this package, when it is used only.
    """

    @property
    def _own(self) -> "Template":
        return cast("Template", self)

    def draw(self) -> Image.Image:
        """The canvas, enlarged, with the outline of each part, its joint and the range of its turn."""
        from wherein.drawing.palette import colors
        from wherein.drawing.template_sheet import draw_canvas

        return draw_canvas(self._own, colors(self._own.parts.leaves))

    def plot(self, ax: Any = None) -> Any:
        """Plot the canvas, outlines and joints on matplotlib axes (None: new ones); returns the axes."""
        from wherein.drawing.notebook import plot_template

        return plot_template(self._own, ax)

    def _repr_html_(self) -> str:
        from wherein.drawing.notebook import template_html

        return template_html(self._repr_png_(), self._own)
