"""What was measured for the paper's network: each node's strides, smoothing, α and γ, and the threshold."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from wherein.detect.calibration.store import StoredCalibration
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.paper.nodes import Hyperparameters
from wherein.detect.paper.tuning.prescribed import RELEASED, spiky, visual, with_sigma
from wherein.template.bundle import Template

VERSION = 1
"""Of what is measured: raise it where old calibrations are no longer right."""

_FAINT = 0.01
"""What is left of a spike at the least cost that was met elsewhere (eq. 13)."""


class NodeCalibration(BaseModel):
    """Of one node v. Costs are for each pixel of a leaf, and in missing spikes for a group.

    Attributes:
        stride: Δ_v in pixels.
        sigma: σ_v in pixels.
        alpha, gamma: α_v and γ_v of the costs.
        covered: the share of places from which strides of a leaf come home; None for a group.
        found: the least cost where the node is, in each scene in which it was found, sorted.
        elsewhere: the least cost where it is not, in each scene, sorted.
        taken_for: the leaf that had the least of them; None where that was clutter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    stride: int
    sigma: float
    alpha: float
    gamma: float
    covered: float | None
    found: list[float]
    elsewhere: list[float]
    taken_for: str | None

    @property
    def separates(self) -> bool:
        """Whether there is a γ that everything found lies below, and everything else above."""
        return bool(self.found) and self.found[-1] < min(self.elsewhere, default=math.inf)


class PaperCalibration(StoredCalibration):
    """What was measured for a template and a range of rotations, for `Detector(..., method="paper")`.

    Attributes:
        sigma0: the width of the spikes in pixels.
        nodes: by name.
        threshold: the least ω_0, in units of a full spike.
        clutter: the highest ω_0 of each scene without the template, sorted.
        present: ω_0 at the template in each scene with it, sorted.
    """

    format: Literal["wherein-paper-calibration/1"] = "wherein-paper-calibration/1"
    version: int = VERSION
    sigma0: float
    nodes: dict[str, NodeCalibration]
    threshold: float
    clutter: list[float]
    present: list[float]

    @property
    def missed(self) -> int:
        """In how many of the scenes with the template it was not found."""
        return sum(score < self.threshold for score in self.present)

    @property
    def warnings(self) -> list[str]:
        """What a user should know, in words: nodes without a separating γ, and what is missed altogether."""
        words = [_doubt(name, node) for name, node in self.nodes.items() if not node.separates]
        if self.missed:
            words.append(
                f"within ±{self.rotation:g}° it was missed in {self.missed} of {len(self.present)} scenes"
            )
        return words

    def network(self, template: Template) -> PaperNetwork:
        """The network with all of this."""
        return PaperNetwork(template, self.shared, own=self.hyperparameters(template))

    def hyperparameters(self, template: Template) -> dict[str, Hyperparameters]:
        """What the network takes, by node."""
        return {name: self._of(template, name, node) for name, node in self.nodes.items()}

    def _of(self, template: Template, name: str, node: NodeCalibration) -> Hyperparameters:
        motif = template.parts[name].motif
        if motif is not None:
            leaf = with_sigma(visual(motif), node.sigma)
            return replace(leaf, stride=node.stride, alpha=node.alpha, gamma=node.gamma)
        group = replace(spiky(template, name, self.rotation), stride=node.stride, spike_sigma=node.sigma)
        return replace(group, spike_alpha=node.alpha, spike_gamma=node.gamma)

    @property
    def shared(self) -> Hyperparameters:
        """What all nodes have in common."""
        return replace(RELEASED, sigma0=self.sigma0)


def _doubt(name: str, node: NodeCalibration) -> str:
    if not node.found:
        return f'"{name}" was found nowhere'
    other = "clutter" if node.taken_for is None else f'the part "{node.taken_for}"'
    return (
        f'"{name}" is found at costs up to {node.found[-1]:.3g}, and {other} costs {node.elsewhere[0]:.3g}: '
        "no γ separates them"
    )


def alpha_gamma(found: float, elsewhere: float) -> tuple[float, float]:
    """α and γ: all that is found counts as whole, and of what is met elsewhere a hundredth is left.

    γ lies half-way, in ratio, between the highest cost of the one and the lowest of the other. Where they
    overlap it is the former: a false spike is for the nodes above to tell, one that is missing cannot be.

    >>> alpha, gamma = alpha_gamma(found=0.01, elsewhere=0.04)
    >>> round(alpha, 3), round(gamma, 6)
    (230.259, 0.02)
    """
    if found < elsewhere < math.inf:
        gamma = math.sqrt(found * elsewhere)
        return -math.log(_FAINT) / (elsewhere - gamma), gamma
    return -math.log(_FAINT) / (found / 10), found


def decision(present: Sequence[float], clutter: Sequence[float]) -> float:
    """The threshold of ω_0: half-way between the highest in clutter and what three scenes of four with the
    template reach; above clutter in any case.

    >>> decision(present=[0.1, 0.9, 0.9, 1.0], clutter=[0.0, 0.1])
    0.5
    """
    empty = max(clutter)
    there = sorted(present)[len(present) // 4]
    return min(max((empty + there) / 2, empty + 0.05), 0.95)
