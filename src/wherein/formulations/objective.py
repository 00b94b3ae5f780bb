"""The function that solvers see: of numbers, not of pictures.

Its variables are a pose and, for formulation (4), a background model that is optimised along with it. This module
knows nothing of scenes and motifs, so that neither do the solvers.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass
class Tally:
    """How many pictures were interpolated and convolved, the currency of the paper's Figure 1.

    A part of a picture counts as that part.
    """

    interpolations: float = 0
    convolutions: float = 0

    @property
    def operations(self) -> float:
        """Both together: what the paper calls convolution-like operations."""
        return self.interpolations + self.convolutions


@dataclass(frozen=True)
class Evaluation:
    """A cost at a point and what a solver wants to know of its neighbourhood; B items side by side."""

    cost: Float[Tensor, "B"]
    gradient: Float[Tensor, "B ..."]
    flat: Bool[Tensor, "B"]
    """Nothing of the scene's texture, or of the motif's, enters the cost: no pose is better than another."""
    hessian: Float[Tensor, "B P P"] | None = None
    background: Float[Tensor, "B C h w"] | None = None
    """The gradient in the background model, where the formulation has one."""


@dataclass(frozen=True)
class Variables:
    """Where a solver is: B poses side by side, and B background models where there are any."""

    pose: Float[Tensor, "B ..."]
    background: Float[Tensor, "B C h w"] | None = None

    def where(self, chosen: Bool[Tensor, " B"], other: "Variables") -> "Variables":
        """These variables in the chosen items, the others' in the rest."""
        pose = torch.where(_as(chosen, self.pose), self.pose, other.pose)
        if self.background is None or other.background is None:
            return replace(self, pose=pose)
        background = torch.where(_as(chosen, self.background), self.background, other.background)
        return replace(self, pose=pose, background=background)


def _as(chosen: Tensor, like: Tensor) -> Tensor:
    return chosen.reshape(-1, *(1,) * (like.ndim - 1))


class Objective(ABC):
    """A differentiable function of `Variables`, B items at once."""

    noise: float = 0.0
    """Differences of the cost below this are rounding, not progress."""

    slack: float = 0.0
    """By which share the cost may rise in a step that is taken nevertheless."""

    min_visible: float = 0.0
    """Which fraction of the motif must lie in the scene for the cost to say anything; 0: any of it."""

    @abstractmethod
    def start(self, pose: Tensor | None = None) -> Variables:
        """Variables at a pose, the identity unless told, with a first background model."""

    @abstractmethod
    def evaluate(self, at: Variables) -> Evaluation:
        """Cost and gradient."""

    @abstractmethod
    def linearise(self, at: Variables) -> Evaluation:
        """Cost, gradient and Gauss–Newton matrix."""

    @abstractmethod
    def matrix(self, at: Variables) -> Float[Tensor, "B 3 3"]:
        """Motif pixels → scene pixels."""

    def move(self, at: Variables, step: Float[Tensor, "B ..."]) -> Variables:
        """The variables after a step of the pose."""
        return replace(at, pose=at.pose + step)

    @abstractmethod
    def length(self, step: Float[Tensor, "B ..."]) -> Float[Tensor, "B"]:
        """How far a step moves the motif, about, in pixels."""

    @abstractmethod
    def seen(self, at: Variables) -> Float[Tensor, "B"]:
        """Which fraction of the motif lies in the scene."""

    def prox(self, pose: Tensor, step: Tensor | float) -> Tensor:
        """prox_{step·λρ}: what the regulariser does after a gradient step; nothing, unless there is one."""
        del step
        return pose
