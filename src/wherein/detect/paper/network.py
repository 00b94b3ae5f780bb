"""The paper's network (algorithm 1): bottom-up over the tree, occurrence maps to the root, differentiable."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from wherein.detect.paper.nodes import Hyperparameters, Node, Occurrences, group, leaf
from wherein.errors import require
from wherein.template.bundle import Template
from wherein.template.extract import OccurrenceMotif, from_joints, from_maps, joints_below


@dataclass(frozen=True)
class Traversal:
    """What the network saw: every node's occurrences by name, ω_0 above all."""

    root: str
    nodes: Mapping[str, Occurrences]

    @property
    def map(self) -> Float[Tensor, "H W"]:
        """ω_0."""
        return self.nodes[self.root].map


def make_node(
    template: Template, name: str, chosen: Hyperparameters, extracted: OccurrenceMotif | None = None
) -> Node:
    """The node of a part.

    Arguments:
        template: the tree of parts.
        name: of the part.
        chosen: its hyperparameters.
        extracted: the occurrence motif of a group; by default what its joints make.
    """
    part, children = template.parts[name], template.parts.children(name)
    if part.motif is not None:
        return leaf(part.motif, part.pivot, chosen)
    require(
        len(children) > 1,
        f'the group "{name}" has one part: the paper\'s network needs two spikes or more to see a turn',
    )
    extracted = extracted or from_joints(template, name, chosen.sigma0)
    return group(extracted, joints_below(template, name) - torch.tensor(extracted.at), part.pivot, chosen)


class PaperNetwork(nn.Module):
    """Hierarchical detection by unrolled optimisation (section 4.3), one module.

    Leaves are registered in the scene from a grid of strides; their final costs become occurrence maps with a
    spike on each part's joint; a group is registered in the maps of its children, and so on to the root. The
    root's map has gradients in everything: motifs, filters, smoothing, step sizes, α, γ and σ0.

    Arguments:
        template: the tree of parts.
        chosen: the hyperparameters, the same for all nodes.
        memory: about how many bytes to work in, beside the pictures; it does not change the result.
        own: those of nodes that have their own, by name; σ0 and the aggregate are always those of `chosen`,
            since every node draws spikes that another reads.

    Example:
        >>> from wherein.images.gaussian import blur
        >>> from wherein.images.motif import Motif
        >>> scene = blur(torch.rand(3, 60, 80, generator=torch.Generator().manual_seed(0)), 2.0)
        >>> logo = Template.rigid("logo", Motif.whole(scene[:, 10:26, 21:43]))
        >>> network = PaperNetwork(logo, Hyperparameters(stride=8))
        >>> found = network(scene).nodes["logo"]
        >>> found.matrix[found.cost.argmin(), :2, 2].detach().round(decimals=1)
        tensor([21., 10.])
    """

    def __init__(
        self,
        template: Template,
        chosen: Hyperparameters = Hyperparameters(),
        memory: float = 64e6,
        own: Mapping[str, Hyperparameters] | None = None,
    ) -> None:
        super().__init__()
        self.template, self.chosen, self.memory = template, chosen, memory
        self.own = own or {}
        self.order = template.parts.bottom_up
        self.log_sigma0 = nn.Parameter(torch.tensor(chosen.sigma0).log())
        # By number: a part's name may hold a dot, a module's must not.
        self.nodes = nn.ModuleList(self._make(name) for name in self.order)

    def _make(self, name: str, extracted: OccurrenceMotif | None = None) -> Node:
        own = self.own.get(name, self.chosen)
        chosen = replace(own, sigma0=self.chosen.sigma0, aggregate=self.chosen.aggregate)
        return make_node(self.template, name, chosen, extracted)

    def forward(self, scene: Float[Tensor, "3 H W"]) -> Traversal:
        """Algorithm 1: every node after its children."""
        found: dict[str, Occurrences] = {}
        for name, node in zip(self.order, self.nodes, strict=True):
            found[name] = self._visit(name, node, scene, found)
        return Traversal(self.template.parts.root, found)

    def _visit(
        self, name: str, node: nn.Module, scene: Tensor, found: Mapping[str, Occurrences]
    ) -> Occurrences:
        seen = scene if self._is_leaf(name) else self._maps(name, found)
        occurrences: Occurrences = node(seen, self.log_sigma0.exp(), self.memory)
        return occurrences

    def _is_leaf(self, name: str) -> bool:
        return self.template.parts[name].motif is not None

    def _maps(self, name: str, found: Mapping[str, Occurrences]) -> Float[Tensor, "C H W"]:
        """y_v = Σ ω_v' ⊗ e_π(v') (eq. 9): a channel for each child."""
        return torch.stack([found[child].map for child in self.template.parts.children(name)])

    @torch.no_grad()
    def extract(self) -> None:
        """Take the groups' motifs from what the network itself sees on the canvas (appendix A.4).

        What `from_joints` says beforehand is then measured, with all that the leaves do wrong. The canvas
        stands on its mean colour: on black, as the paper has it, its outline would be a sharper edge than
        any scene has, too steep for steps that suit scenes.
        """
        pixels, mask = self.template.canvas.pixels, self.template.canvas.mask
        cover = torch.ones_like(pixels[0]) if mask is None else mask
        mean = (pixels * cover).sum((1, 2), keepdim=True) / cover.sum()
        scene = pixels * cover + (1 - cover) * mean
        found: dict[str, Occurrences] = {}
        for index, name in enumerate(self.order):
            if not self._is_leaf(name):
                maps = self._maps(name, found)
                self.nodes[index] = self._make(name, from_maps(maps, float(self.log_sigma0.exp()), name))
            found[name] = self._visit(name, self.nodes[index], scene, found)
