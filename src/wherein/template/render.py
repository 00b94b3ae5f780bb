"""Paint a template into a scene, part by part, at known poses."""

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
    """The background with every leaf painted over it at its matrix, in the template's paint order.

    Arguments:
        background: the scene without the object.
        template: the object to paint.
        matrices: leaf pixels → scene pixels for every leaf, as returned by `wherein.template.pose.matrices`.
        hidden: leaves that are not painted.
    """
    scene = background
    for name in template.paint_order:
        motif = template.parts[name].motif
        if name in hidden or motif is None:
            continue
        scene = paint(scene, motif, torch.from_numpy(matrices[name]).to(background.device))
    return scene
