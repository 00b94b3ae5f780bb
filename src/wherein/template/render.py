"""Paint a template into a scene, part by part, with exact truth."""

from collections.abc import Collection, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.template.bundle import Template
from wherein.template.paint import paint
from wherein.template.tree import Matrix


def render(
    background: Float[Tensor, "3 H W"],
    template: Template,
    matrices: Mapping[str, Matrix],
    hidden: Collection[str] = (),
) -> Float[Tensor, "3 H W"]:
    """The background with every leaf painted where its matrix says, in the template's paint order.

    Arguments:
        background: the scene before.
        template: what to paint.
        matrices: leaf pixels → scene pixels, of every leaf; `wherein.template.pose.matrices` makes them.
        hidden: leaves that are left out.
    """
    scene = background
    for name in template.paint_order:
        motif = template.parts[name].motif
        if name in hidden or motif is None:
            continue
        scene = paint(scene, motif, torch.from_numpy(matrices[name]).to(background.device))
    return scene
