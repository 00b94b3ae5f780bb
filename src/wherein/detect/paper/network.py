"""The paper's network (algorithm 1): occurrence maps from the leaves of the tree to its root."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from wherein.detect.paper.nodes import Hyperparameters, Node, Occurrences, group_node, leaf_node
from wherein.errors import require
from wherein.template.bundle import Template
from wherein.template.extract import OccurrenceMotif, from_joints, from_maps, joints_below


@dataclass(frozen=True)
class Traversal:
    """The result of one pass of the network over a scene: the occurrences of every node, by name."""

    root: str
    nodes: Mapping[str, Occurrences]

    @property
    def map(self) -> Float[Tensor, "H W"]:
        """ω_0, the occurrence map of the root."""
        return self.nodes[self.root].map


def make_node(
    template: Template, name: str, chosen: Hyperparameters, extracted: OccurrenceMotif | None = None
) -> Node:
    """The node of a part.

    Arguments:
        template: the tree of parts.
        name: the name of the part.
        chosen: its hyperparameters.
        extracted: the occurrence motif of a group; None: a spike on each joint, see `from_joints`.

    Raises:
        ArgumentError: the part is a group of one part. One spike cannot determine its rotation.
    """
    part, children = template.parts[name], template.parts.children(name)
    if part.motif is not None:
        return leaf_node(part.motif, part.pivot, chosen)
    require(
        len(children) > 1,
        f'the group "{name}" has one part: the paper\'s network needs two or more to determine a rotation',
    )
    extracted = extracted or from_joints(template, name, chosen.sigma0)
    return group_node(
        extracted, joints_below(template, name) - torch.tensor(extracted.at), part.pivot, chosen
    )


class PaperNetwork(nn.Module):
    """Hierarchical detection by unrolled optimisation (section 4.3), as one module.

    Each leaf is registered in the scene from a grid of starts (strides). The final costs become an occurrence
    map with a spike on the leaf's joint. A group is registered in the maps of its children, and so on up to
    the root. The root's map is differentiable in all parameters: motifs, filters, smoothing, step sizes, α, γ
    and σ0.

    Arguments:
        template: the tree of parts.
        chosen: the hyperparameters of all nodes.
        memory: approximate number of bytes of working memory, besides the pictures; it does not change the
            result.
        per_node: hyperparameters of single nodes by name, in place of `chosen`. σ0 and the aggregate are
            always those of `chosen`, since each node reads the spikes that its children draw.

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
        per_node: Mapping[str, Hyperparameters] | None = None,
    ) -> None:
        super().__init__()
        self.template, self.chosen, self.memory = template, chosen, memory
        self.per_node = per_node or {}
        self.order = template.parts.bottom_up
        # The logarithm, so that σ0 stays positive whatever step an optimiser takes.
        self.log_sigma0 = nn.Parameter(torch.tensor(chosen.sigma0).log())
        # A list, not a dictionary: a part's name may contain a dot, which torch forbids in names of modules.
        self.nodes = nn.ModuleList(self._make(name) for name in self.order)

    def _make(self, name: str, extracted: OccurrenceMotif | None = None) -> Node:
        own = self.per_node.get(name, self.chosen)
        chosen = replace(own, sigma0=self.chosen.sigma0, aggregate=self.chosen.aggregate)
        return make_node(self.template, name, chosen, extracted)

    def forward(self, scene: Float[Tensor, "3 H W"]) -> Traversal:
        """The occurrences of every node (algorithm 1); each node is visited after its children."""
        found: dict[str, Occurrences] = {}
        for name, node in zip(self.order, self.nodes, strict=True):
            found[name] = self._visit(name, node, scene, found)
        return Traversal(self.template.parts.root, found)

    def _visit(
        self, name: str, node: nn.Module, scene: Tensor, found: Mapping[str, Occurrences]
    ) -> Occurrences:
        pictures = scene if self._is_leaf(name) else self._maps(name, found)
        occurrences: Occurrences = node(pictures, self.log_sigma0.exp(), self.memory)
        return occurrences

    def _is_leaf(self, name: str) -> bool:
        return self.template.parts[name].motif is not None

    def _maps(self, name: str, found: Mapping[str, Occurrences]) -> Float[Tensor, "C H W"]:
        """y_v = Σ ω_v' ⊗ e_π(v') (eq. 11): one channel for each child."""
        return torch.stack([found[child].map for child in self.template.parts.children(name)])

    @torch.no_grad()
    def extract(self) -> None:
        """Replace the motifs of groups by those extracted from maps of the canvas (appendix A.4).

        The detector does not call this. It computes the same spikes from the joints (`from_joints`), without
        the registration errors of the leaves and without a pass over the canvas. Besides, a leaf that is
        covered by others on the canvas may be missing from its map. A test compares the two.

        The background of the canvas is its mean colour. With black, as in the paper, the outline would be a
        sharper edge than any in a scene, too steep for the step sizes that suit scenes.

        Raises:
            TemplateError: a part has no spike in its map.
        """
        pixels, mask = self.template.canvas.pixels, self.template.canvas.mask
        cover = torch.ones_like(pixels[0]) if mask is None else mask
        mean = (pixels * cover).sum((1, 2), keepdim=True) / cover.sum()
        scene = pixels * cover + (1 - cover) * mean
        found: dict[str, Occurrences] = {}
        for index, name in enumerate(self.order):
            # Bottom-up: children that are groups have their new motif when their maps are read.
            if not self._is_leaf(name):
                maps = self._maps(name, found)
                self.nodes[index] = self._make(name, from_maps(maps, float(self.log_sigma0.exp()), name))
            found[name] = self._visit(name, self.nodes[index], scene, found)
