"""A scene's picture with everything that can be shown on it, and the switches that show and hide it.

Switches are checkboxes, and what they do is style alone (`rules`, and page.css): it works where scripts are
forbidden, as they are in these pages.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from wherein.detect.result import Detection, Detections, PartFound
from wherein.drawing.heat import heat, scale
from wherein.images.eight_bit import to_image
from wherein.report.markup import cutout, number, photograph, text
from wherein.report.parts import PageParts

Maps = Mapping[str, NDArray[np.float32]]


def stage(parts: PageParts, index: int, found: Detections, maps: Maps) -> str:
    """The picture, and over it the maps and the outlines, in the coordinates of the scene.

    Arguments:
        parts: of the template.
        index: of the scene.
        found: what was found in it.
        maps: occurrence maps by part.
    """
    width, height = found.size
    box = f'x="-0.5" y="-0.5" width="{width}" height="{height}" preserveAspectRatio="none"'
    layers = "".join(
        f'<image class="h{k}" {box} href="{cutout(heat(values))}"/>' for k, values in enumerate(maps.values())
    )
    shapes = "".join(_shapes(parts, f"s{index}d{k}", k, item, found.size) for k, item in enumerate(found, 1))
    return (
        f'<svg class="stage" viewBox="-0.5 -0.5 {width} {height}" role="img" '
        'aria-label="the scene with what was found">'
        f'<image {box} href="{photograph(to_image(found.scene.pixels))}"/>'
        f'{layers}<g class="outlines">{shapes}</g></svg>'
    )


def _shapes(parts: PageParts, place: str, k: int, item: Detection, size: tuple[int, int]) -> str:
    """The outlines of an object, groups below leaves, and its number above it."""
    shown = sorted(item.parts.items(), key=lambda named: (named[1].leaf, named[1].found))
    outlines = "".join(_outline(parts, place, k, name, part) for name, part in shown)
    corners = np.concatenate([part.polygon for part in item.parts.values()])
    letters = max(size) / 45
    x = float(np.clip((corners[:, 0].min() + corners[:, 0].max()) / 2, letters, size[0] - letters))
    y = float(np.clip(corners[:, 1].min() - letters / 2, letters, size[1] - letters))
    return f'<g>{outlines}<text x="{x:.1f}" y="{y:.1f}" style="--size: {letters:.1f}px">{k}</text></g>'


def _outline(parts: PageParts, place: str, k: int, name: str, part: PartFound) -> str:
    own = parts.number[name]
    return (
        f'<polygon id="{place}p{own}" class="p{own}{"" if part.found else " missing"}" '
        f'style="--c: {parts.color[name]}" points="{_points(part.polygon)}">'
        f"<title>{k}: {text(name)}, {seen(part)}, {number(part.score)}</title></polygon>"
    )


def seen(part: PartFound) -> str:
    """Whether it was found, in words."""
    return "found" if part.found else "not found"


def _points(polygon: Iterable[NDArray[np.float64]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in polygon)


def switches(parts: PageParts, found: Detections, maps: Maps) -> str:
    """What can be shown and hidden: groups are hidden at first, and so are maps."""
    layers = [_switch(f"m{k}", f"occurrence of {text(name)}", False) for k, name in enumerate(maps)]
    if len(found):
        layers = [_switch("all", "outlines", True), _switch("only", "only found parts", False), *layers]
    if not layers:
        return ""
    return (
        f'<form class="switches">{_field("Layers", "".join(layers) + (scale() if maps else ""))}'
        + (_of_parts(parts, "Parts", True) + _of_parts(parts, "Groups", False) if len(found) else "")
        + '<button type="reset">As at first</button></form>'
    )


def rules(parts: int, maps: int) -> str:
    """The style by which the switches work: a rule for each part, and one for each map."""
    hidden = (f".scene:has(.c{k}:not(:checked)) .p{k}" for k in range(parts))
    unseen = (f".scene:has(.m{k}:not(:checked)) .h{k}" for k in range(maps))
    return ",\n".join((*hidden, *unseen)) + " { display: none }\n"


def _of_parts(parts: PageParts, title: str, leaves: bool) -> str:
    listed = [name for name in parts.listed if parts.is_leaf(name) == leaves]
    each = (_switch(f"c{parts.number[name]}", text(name), leaves, parts.color[name]) for name in listed)
    return _field(title, "".join(each)) if listed else ""


def _field(title: str, content: str) -> str:
    return f"<fieldset><legend>{title}</legend>{content}</fieldset>"


def _switch(name: str, label: str, on: bool, color: str | None = None) -> str:
    swatch = f'<i style="--c: {color}"></i>' if color is not None else ""
    return f'<label><input type="checkbox" class="{name}"{" checked" if on else ""}>{swatch} {label}</label>'
