"""The interface between formulations and solvers: an objective is a function of `Variables`.

The variables are a pose and, for formulation (4), a background model that is optimised together with it. This
module imports neither scenes nor motifs, so that solvers do not depend on pictures.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass
class Tally:
    """The number of interpolations and convolutions of pictures, by which the paper's Figure 1 measures work.

    Work on a part of a picture counts as a fraction of 1: the number of its pixels divided by that of all.
    """

    interpolations: float = 0
    convolutions: float = 0

    @property
    def operations(self) -> float:
        """The sum of both, which the paper calls convolution-like operations."""
        return self.interpolations + self.convolutions


@dataclass(frozen=True)
class Evaluation:
    """The value of an objective and its derivatives, for a batch of B items.

    Attributes:
        cost: the value.
        gradient: in the pose.
        flat: whether scene or motif has no texture, so that the cost does not depend on the pose.
        hessian: the Gauss–Newton matrix; None if only the gradient was asked for.
        background: the gradient in the background model; None if the formulation has none.
    """

    cost: Float[Tensor, "B"]
    gradient: Float[Tensor, "B ..."]
    flat: Bool[Tensor, "B"]
    hessian: Float[Tensor, "B P P"] | None = None
    background: Float[Tensor, "B C h w"] | None = None


@dataclass(frozen=True)
class Variables:
    """The variables of an objective: a batch of B poses, and of B background models if there are any."""

    pose: Float[Tensor, "B ..."]
    background: Float[Tensor, "B C h w"] | None = None

    def where(self, chosen: Bool[Tensor, " B"], other: "Variables") -> "Variables":
        """The variables of `self` for the chosen items, and those of `other` for the rest."""
        pose = torch.where(_unsqueezed(chosen, self.pose), self.pose, other.pose)
        if self.background is None or other.background is None:
            return replace(self, pose=pose)
        background = torch.where(_unsqueezed(chosen, self.background), self.background, other.background)
        return replace(self, pose=pose, background=background)


def _unsqueezed(chosen: Tensor, like: Tensor) -> Tensor:
    """The mask (B,) with as many dimensions as `like`, so that it broadcasts over each item."""
    return chosen.reshape(-1, *(1,) * (like.ndim - 1))


class Objective(ABC):
    """A differentiable function of `Variables`, evaluated for a batch of B items at once."""

    noise: float = 0.0
    """Rounding error of the cost: smaller differences mean nothing."""

    slack: float = 0.0
    """A step is accepted although it raises the cost by up to this fraction."""

    min_visible: float = 0.0
    """The minimum visible fraction for which the cost is meaningful; 0: any positive fraction."""

    @abstractmethod
    def start(self, pose: Tensor | None = None) -> Variables:
        """The variables at a pose (default: the identity), with an initial background model."""

    @abstractmethod
    def evaluate(self, at: Variables) -> Evaluation:
        """Cost and gradient."""

    @abstractmethod
    def linearise(self, at: Variables) -> Evaluation:
        """Cost, gradient and Gauss–Newton matrix."""

    @abstractmethod
    def matrix(self, at: Variables) -> Float[Tensor, "B 3 3"]:
        """The matrices, motif pixels → scene pixels."""

    def move(self, at: Variables, step: Float[Tensor, "B ..."]) -> Variables:
        """The variables after a step of the pose."""
        return replace(at, pose=at.pose + step)

    @abstractmethod
    def length(self, step: Float[Tensor, "B ..."]) -> Float[Tensor, "B"]:
        """The approximate distance, in pixels, by which a step moves the motif: it decides convergence."""

    @abstractmethod
    def visible_fraction(self, at: Variables) -> Float[Tensor, "B"]:
        """The fraction of the motif that lies inside the scene."""

    def prox(self, pose: Tensor, step: Tensor | float) -> Tensor:
        """The proximal map prox_{step·λρ} of a regulariser λρ; the identity if there is no regulariser."""
        del step
        return pose
