"""A template at a fraction of its size, for objects that are small in a scene."""

from dataclasses import replace

from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.images.pool import pool
from wherein.pyramid.levels import enlarge
from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree


def reduced_template(template: Template, factor: int) -> Template:
    """The template at 1/factor of its size."""

    def smaller(part: Part) -> Part:
        motif = _pooled(part.motif, factor) if part.motif is not None else None
        # Pixel centres are at whole numbers: a reduced pixel has its centre at the mean of the pixels that it
        # covers, (factor − 1) / 2 beyond the first. `at` is a difference of positions: the offset cancels.
        (x, y), middle = part.pivot, (factor - 1) / 2
        pivot = ((x - middle) / factor, (y - middle) / factor)
        return replace(part, motif=motif, at=(part.at[0] / factor, part.at[1] / factor), pivot=pivot)

    canvas = Picture(pool(template.canvas.pixels, factor), None)
    plane = template.parts.plane
    if plane is not None:
        plane = plane @ enlarge(factor)
    parts = Tree({name: smaller(part) for name, part in template.parts.items()}, plane)
    return replace(template, canvas=canvas, parts=parts)


def _pooled(motif: Motif, factor: int) -> Motif:
    """The motif at 1/factor of its size."""
    small = motif.pooled(factor)
    highest = small.mask.max()
    # A pixel counts as inside the mask above 0.5. A thin motif may have no such pixel after averaging.
    return small if bool(highest > 0.5) else Motif(small.pixels, small.mask / highest)
