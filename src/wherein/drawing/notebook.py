"""Results and templates in a notebook: HTML for Jupyter, and plots on matplotlib axes."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.drawing.palette import Color, colors
from wherein.extras import require_package
from wherein.images.eight_bit import to_image
from wherein.images.motif import Motif
from wherein.images.polygons import Rings, outer
from wherein.motion.homography import Matrix, mapped

if TYPE_CHECKING:
    from wherein.detect.result import Detection
    from wherein.template.bundle import Template

_FOUND: Color = (0, 200, 100)
_MISSING: Color = (160, 160, 160)

_MAX_ROWS = 20
"""Maximum number of rows of a table; a last row gives the number of the others. A choice."""


def html(png: bytes | None, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """HTML of a picture with a table below it.

    Arguments:
        png: the bytes of the picture; None: no picture.
        columns: the names of the columns.
        rows: the rows of the table.
    """
    picture = "" if png is None else f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div>{picture}<table><tr>{head}</tr>{body}</table></div>"


def detections_html(png: bytes | None, items: Sequence["Detection"]) -> str:
    """HTML of detections for Jupyter: their drawing, and a row for each."""
    rows = [_detection_row(number, item) for number, item in enumerate(items[:_MAX_ROWS], 1)]
    more = len(items) - len(rows)
    columns = ["", "template", "score", "x", "y", "angle", "scale", "tilt", "parts"]
    if not any(row[-1] for row in rows):  # the column "parts" is empty, for example for a single motif
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    rows += [["", f"and {more} more"]] if more else []
    return html(png, columns, rows)


def failure_html(reason: str) -> str:
    """For Jupyter, why there is nothing to show."""
    return f"<div>{escape(reason)}</div>"


def _detection_row(number: int, item: "Detection") -> list[str]:
    values = {name: part.value_text for name, part in item.parts.items()}
    notes = [*(f"{name}: {value}" for name, value in values.items() if value is not None)]
    notes += [f"missing: {', '.join(item.missing)}"] if item.missing else []
    x, y = item.center
    return [
        *(str(number), item.template, f"{item.score:.3f}", f"{x:.1f}", f"{y:.1f}", f"{item.angle:z.1f}°"),
        *(f"{item.scale:.3f}", f"{item.tilt:z.0f}°" if len(item.matrix) == 3 else "–", "; ".join(notes)),
    ]


def template_html(png: bytes | None, template: "Template") -> str:
    """HTML of a template for Jupyter: its canvas with the outlines, and a row for each part."""
    rows = []
    for name, part in template.parts.items():
        size = "group" if part.motif is None else f"{part.motif.width} × {part.motif.height}"
        rows.append([name, part.parent or "", size, f"±{part.turn:g}°" if part.moves else "fixed"])
    return html(png, ("part", "parent", "pixels", "turns"), rows)


def scene_axes(pixels: Float[Tensor, "3 H W"], ax: Any, mask: Tensor | None = None) -> Any:
    """Matplotlib axes that show a picture, in its pixel coordinates.

    Arguments:
        pixels: the picture.
        ax: the axes; None: new ones.
        mask: the alpha of the picture; None: it is opaque.

    Raises:
        MissingError: matplotlib is not installed.
    """
    require_package("matplotlib", "plot()", "pip install 'wherein[plots]'")
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots()[1]
    ax.imshow(np.asarray(to_image(pixels, mask)))
    ax.set_axis_off()
    ax.autoscale(False)  # otherwise an outline that reaches beyond the picture would shrink the picture
    return ax


def plot_detections(pixels: Float[Tensor, "3 H W"], items: Sequence["Detection"], ax: Any) -> Any:
    """The axes with a scene and the outlines of all parts; dashed and grey if they were not found."""
    ax = scene_axes(pixels, ax)
    palette = colors(dict.fromkeys(name for item in items for name, part in item.parts.items() if part.leaf))
    for number, item in enumerate(items, 1):
        for name, part in item.parts.items():
            if part.leaf:
                missing = name in item.missing
                plot_rings(ax, outer(part.rings), _MISSING if missing else palette[name], dashed=missing)
        left, top, *_ = item.box
        ax.text(left, top, f"{number}: {item.score:.2f}", backgroundcolor=(1, 1, 1, 0.7), fontsize="small")
    return ax


def plot_template(template: "Template", ax: Any) -> Any:
    """The axes with the canvas of a template, the outlines of its parts and its joints."""
    ax = scene_axes(template.canvas.pixels, ax, template.canvas.mask)
    for name, color in colors(template.parts.leaves).items():
        part = template.parts[name]
        assert part.motif is not None, "a leaf"
        plot_rings(ax, [ring + np.array(part.at) for ring in part.motif.rings], color)
    joints = [part.joint for part in template.parts.values() if part.moves]
    if joints:
        ax.plot(*np.array(joints).T, "o", color="white", markeredgecolor="black")
    return ax


def plot_motif(pixels: Float[Tensor, "3 H W"], motif: Motif, matrix: Matrix, ax: Any) -> Any:
    """The axes with a scene and the outline of a registered motif."""
    ax = scene_axes(pixels, ax)
    plot_rings(ax, [mapped(matrix, ring) for ring in outer(motif.rings)], _FOUND)
    return ax


def plot_rings(ax: Any, rings: Iterable[Any] | Rings, color: Color, dashed: bool = False) -> None:
    """Add outlines to axes."""
    for ring in rings:
        # Matplotlib does not close a line: the first corner is repeated.
        closed = np.concatenate((ring, ring[:1]))
        rgb = tuple(torch.tensor(color).div(255).tolist())
        ax.plot(closed[:, 0], closed[:, 1], color=rgb, linestyle="--" if dashed else "-", linewidth=1.5)
