"""The calibration of the paper's network: stride, smoothing, α and γ of each node, and the threshold."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from wherein.detect.calibration.store import MAX_VALUES, StoredCalibration
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.paper.nodes import Hyperparameters
from wherein.detect.paper.tuning.prescriptions import (
    DEFAULTS,
    group_hyperparameters,
    leaf_hyperparameters,
    with_sigma,
)
from wherein.detect.search_range import Range
from wherein.template.bundle import Template
from wherein.template.part_limits import MAX_PARTS
from wherein.template.tree import Part

VERSION = 1
"""Version of the measurement: raise it where calibrations on disk are no longer right."""

_RESIDUAL_WEIGHT = 0.01
"""Confidence (eq. 14) at the lowest cost elsewhere. A choice: false spikes are a hundredth of a full one."""


# A calibration may come with a template from someone else. Strides and widths set how much work a scene is:
# they are bounded by what can be measured, a stride by twice the least step of `leaf_basin`.
_Stride = Annotated[int, Field(ge=4, le=1000)]
_Width = Annotated[float, Field(ge=0.1, le=1000)]
_Values = Annotated[list[float], Field(max_length=MAX_VALUES)]


class NodeCalibration(BaseModel):
    """The calibration of one node v. Costs are per pixel for a leaf, and in missing spikes for a group.

    Attributes:
        stride: Δ_v in pixels.
        sigma: σ_v in pixels.
        alpha, gamma: α_v and γ_v for these costs.
        covered: for a leaf, the fraction of places at which a stride converges to it; None for a group.
        found: the lowest cost where the node is, for each scene in which it was found, sorted.
        elsewhere: the lowest cost where it is not, for each scene, sorted.
        taken_for: the leaf at the lowest of these; None where that was clutter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    stride: _Stride
    sigma: _Width
    alpha: Annotated[FiniteFloat, Field(ge=0)]
    gamma: Annotated[FiniteFloat, Field(ge=0)]
    covered: float | None
    found: _Values
    elsewhere: _Values
    taken_for: str | None

    @property
    def separates(self) -> bool:
        """Whether a γ exists with all costs of `found` below and all of `elsewhere` above."""
        return bool(self.found) and self.found[-1] < min(self.elsewhere, default=math.inf)


class PaperCalibration(StoredCalibration):
    """The calibration for a template and a range of rotations, for `Detector(..., method="paper")`.

    Attributes:
        sigma0: the width of the spikes in pixels.
        nodes: by name.
        threshold: minimum ω_0 of a detection, in units of a full spike.
        clutter: the maximum of ω_0 in each scene without the template, sorted.
        present: ω_0 at the template in each scene with it, sorted.
    """

    format: Literal["wherein-paper-calibration/1"] = "wherein-paper-calibration/1"
    version: int = VERSION
    sigma0: _Width
    nodes: Annotated[dict[str, NodeCalibration], Field(max_length=MAX_PARTS)]
    threshold: float
    clutter: _Values
    present: _Values

    @model_validator(mode="after")
    def _smooths_spikes(self) -> "PaperCalibration":
        for name, node in self.nodes.items():
            if node.covered is None and node.sigma <= self.sigma0:
                raise ValueError(f'the group "{name}" must have a sigma above {self.sigma0:g} (sigma0)')
        return self

    def serves(self, template: Template, ranges: Range) -> bool:
        """Whether it was measured for parts of this template, and this range of poses."""
        known = set(self.nodes) <= set(template.parts)
        return (
            super().serves(template, ranges)
            and known
            and all(node.sigma <= _size(template.parts[name]) for name, node in self.nodes.items())
        )

    @property
    def missed(self) -> int:
        """The number of scenes with the template in which it was not found."""
        return sum(score < self.threshold for score in self.present)

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user: parts without a separating γ, and scenes in which the object was missed."""
        warnings = [_doubt(name, node) for name, node in self.nodes.items() if not node.separates]
        if self.missed:
            missed = f"{self.missed} of {len(self.present)} scenes"
            warnings.append(f"at rotations within ±{self.rotation:g}° the object was missed in {missed}")
        return warnings

    def network(self, template: Template) -> PaperNetwork:
        """The calibrated network."""
        return PaperNetwork(template, self.shared, per_node=self.hyperparameters(template))

    def hyperparameters(self, template: Template) -> dict[str, Hyperparameters]:
        """The hyperparameters of each node, by name."""
        return {name: self._for_node(template, name, node) for name, node in self.nodes.items()}

    def _for_node(self, template: Template, name: str, node: NodeCalibration) -> Hyperparameters:
        motif = template.parts[name].motif
        if motif is not None:
            leaf = with_sigma(leaf_hyperparameters(motif), node.sigma)
            return replace(leaf, stride=node.stride, alpha=node.alpha, gamma=node.gamma)
        group = replace(
            group_hyperparameters(template, name, self.rotation), stride=node.stride, spike_sigma=node.sigma
        )
        return replace(group, spike_alpha=node.alpha, spike_gamma=node.gamma)

    @property
    def shared(self) -> Hyperparameters:
        """The hyperparameters that all nodes have in common."""
        return replace(DEFAULTS, sigma0=self.sigma0)


def _size(part: Part) -> float:
    """The side of a square with as many pixels as a leaf has: a larger σ would leave nothing of it."""
    return math.inf if part.motif is None else math.sqrt(float(part.motif.mask.sum()))


def _doubt(name: str, node: NodeCalibration) -> str:
    if not node.found:
        return f'"{name}" was not found in any scene'
    other = "clutter" if node.taken_for is None else f'the part "{node.taken_for}"'
    return (
        f'"{name}" has costs up to {node.found[-1]:.3g}, and {other} has {node.elsewhere[0]:.3g}: '
        "no threshold γ separates them"
    )


def alpha_gamma(found: float, elsewhere: float) -> tuple[float, float]:
    """α and γ such that all costs of found nodes have confidence 1, and all costs elsewhere at most 0.01.

    γ is the geometric mean of the highest cost where the node is and the lowest cost elsewhere. Where these
    overlap it is the former: the node above can reject a false spike, but it cannot restore a missing one.

    Arguments:
        found: the highest cost where the node is.
        elsewhere: the lowest cost where it is not.

    >>> alpha, gamma = alpha_gamma(found=0.01, elsewhere=0.04)
    >>> round(alpha, 3), round(gamma, 6)
    (230.259, 0.02)
    """
    if found < elsewhere < math.inf:
        gamma = math.sqrt(found * elsewhere)
        return -math.log(_RESIDUAL_WEIGHT) / (elsewhere - gamma), gamma
    return -math.log(_RESIDUAL_WEIGHT) / (found / 10), found


def root_threshold(present: Sequence[float], clutter: Sequence[float]) -> float:
    """The threshold of ω_0: half-way between its maximum in clutter and the lower quartile with the template.

    It is always above the maximum in clutter.

    >>> root_threshold(present=[0.1, 0.9, 0.9, 1.0], clutter=[0.0, 0.1])
    0.5
    """
    empty = max(clutter)
    there = sorted(present)[len(present) // 4]
    return min(max((empty + there) / 2, empty + 0.05), 0.95)
