"""A template at a fraction of its size, for objects that are small in a scene."""

from dataclasses import replace

from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.images.pool import pool
from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree


def reduced_template(template: Template, factor: int) -> Template:
    """The template at 1/factor of its size."""

    def smaller(part: Part) -> Part:
        motif = _pooled(part.motif, factor) if part.motif is not None else None
        # Pixel centres are at whole numbers: the centre of a reduced pixel lies between those it covers.
        (x, y), middle = part.pivot, (factor - 1) / 2
        pivot = ((x - middle) / factor, (y - middle) / factor)
        return replace(part, motif=motif, at=(part.at[0] / factor, part.at[1] / factor), pivot=pivot)

    canvas = Picture(pool(template.canvas.pixels, factor), None)
    parts = Tree({name: smaller(part) for name, part in template.parts.items()})
    return replace(template, canvas=canvas, parts=parts)


def _pooled(motif: Motif, factor: int) -> Motif:
    """The motif at 1/factor of its size."""
    small = motif.pooled(factor)
    highest = small.mask.max()
    # Of a thin motif no reduced pixel may be half covered, and its mask would be empty.
    return small if bool(highest > 0.5) else Motif(small.pixels, small.mask / highest)
