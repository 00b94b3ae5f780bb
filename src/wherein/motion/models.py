"""Motion models: from P parameters to a 3×3 matrix about the origin, and back (appendix A.1).

Every model acts on *centred* points, x ↦ M(p)(x − c) + c. The basis is then orthogonal, so that steps of the
linear part and of the shift do not affect each other. The linear parameters come first, then the shift
(b_x, b_y), and last the perspective of a homography. `motion.identity()` returns the parameters of the
identity.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import ArgumentError, require

Params = Float[Tensor, "*B P"]
Matrix = Float[Tensor, "*B 3 3"]


def rotation(angle: Float[Tensor, "*B"]) -> Float[Tensor, "*B 2 2"]:
    """The rotation matrix [[cos θ, −sin θ], [sin θ, cos θ]], which turns x towards y."""
    c, s = angle.cos(), angle.sin()
    return torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)


def homogeneous(linear: Float[Tensor, "*B 2 2"], shift: Float[Tensor, "*B 2"]) -> Matrix:
    """The 3×3 matrix of x ↦ A x + b."""
    top = torch.cat((linear, shift[..., None]), -1)
    bottom = top.new_tensor((0.0, 0.0, 1.0)).expand(*top.shape[:-2], 1, 3)
    return torch.cat((top, bottom), -2)


class Motion(ABC):
    """A family of transformations of the plane. It has no state, so one instance of each is enough."""

    name: ClassVar[str]
    size: ClassVar[int]
    """P, the number of parameters."""
    rotates: ClassVar[bool] = False
    """Whether the motion can rotate the motif."""
    scales: ClassVar[bool] = False
    """Whether the motion can change the motif's size."""
    shears: ClassVar[bool] = False
    """Whether the motion can change the motif's proportions."""
    projective: ClassVar[bool] = False
    """Whether the matrix can have perspective, a last row other than (0, 0, 1)."""

    def identity(self, *batch: int, like: Tensor | None = None) -> Params:
        """The parameters of the identity."""
        like = torch.empty(0) if like is None else like
        return like.new_zeros((*batch, self.size))

    @abstractmethod
    def matrix(self, params: Params) -> Matrix:
        """The matrix M(p)."""

    @abstractmethod
    def jacobian(self, params: Params) -> Float[Tensor, "*B 3 3 P"]:
        """∂M/∂p, with the parameters along the last axis."""

    @abstractmethod
    def params(self, matrix: Matrix) -> Params:
        """The parameters of a matrix of this family; of a close one in the family for any other matrix."""

    def inverse(self, params: Params) -> Params:
        """The parameters of M(params)⁻¹."""
        return self.params(torch.linalg.inv(self.matrix(params)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Translation(Motion):
    """x ↦ x + b; parameters (b_x, b_y)."""

    name, size = "translation", 2

    def matrix(self, params: Params) -> Matrix:  # noqa: D102
        eye = torch.eye(2, dtype=params.dtype, device=params.device)
        return homogeneous(eye.expand(*params.shape[:-1], 2, 2), params)

    def jacobian(self, params: Params) -> Float[Tensor, "*B 3 3 P"]:  # noqa: D102
        jacobian = params.new_zeros(*params.shape[:-1], 3, 3, 2)
        jacobian[..., 0, 2, 0] = jacobian[..., 1, 2, 1] = 1
        return jacobian

    def params(self, matrix: Matrix) -> Params:  # noqa: D102
        return matrix[..., :2, 2] / matrix[..., 2:, 2]


class Euclidean(Motion):
    """x ↦ R(θ) x + b; parameters (θ in radians, b_x, b_y)."""

    name, size = "euclidean", 3
    rotates = True

    def matrix(self, params: Params) -> Matrix:  # noqa: D102
        return homogeneous(rotation(params[..., 0]), params[..., 1:])

    def jacobian(self, params: Params) -> Float[Tensor, "*B 3 3 P"]:
        """∂R/∂θ = [[−sin θ, −cos θ], [cos θ, −sin θ]] (the SO(2) gradient of appendix A.1)."""
        jacobian = params.new_zeros(*params.shape[:-1], 3, 3, 3)
        # ∂R/∂θ is the rotation by another 90°.
        jacobian[..., :2, :2, 0] = rotation(params[..., 0] + torch.pi / 2)
        jacobian[..., 0, 2, 1] = jacobian[..., 1, 2, 2] = 1
        return jacobian

    def params(self, matrix: Matrix) -> Params:  # noqa: D102
        # A homogeneous matrix may have any scale; a negative one would rotate the linear part by 180°.
        matrix = matrix / matrix[..., 2:, 2:]
        return torch.cat((_angle(matrix)[..., None], matrix[..., :2, 2]), -1)


class Similarity(Motion):
    """x ↦ e^λ R(θ) x + b; parameters (θ in radians, λ = log of the scale, b_x, b_y).

    Because of the logarithm, the scale cannot become negative, and halving is a step as long as doubling.
    """

    name, size = "similarity", 4
    rotates = scales = True

    def matrix(self, params: Params) -> Matrix:  # noqa: D102
        scale = params[..., 1].exp()[..., None, None]
        return homogeneous(scale * rotation(params[..., 0]), params[..., 2:])

    def jacobian(self, params: Params) -> Float[Tensor, "*B 3 3 P"]:  # noqa: D102
        scale = params[..., 1].exp()[..., None, None]
        jacobian = params.new_zeros(*params.shape[:-1], 3, 3, 4)
        # d(e^λ R) = e^λ R' dθ + e^λ R dλ
        jacobian[..., :2, :2, 0] = scale * rotation(params[..., 0] + torch.pi / 2)
        jacobian[..., :2, :2, 1] = scale * rotation(params[..., 0])
        jacobian[..., 0, 2, 2] = jacobian[..., 1, 2, 3] = 1
        return jacobian

    def params(self, matrix: Matrix) -> Params:  # noqa: D102
        matrix = matrix / matrix[..., 2:, 2:]
        scale = torch.linalg.det(matrix[..., :2, :2]).abs().sqrt().log()  # det(s R) = s²
        return torch.cat((torch.stack((_angle(matrix), scale), -1), matrix[..., :2, 2]), -1)


class Affine(Motion):
    """x ↦ A x + b; parameters (A_xx − 1, A_xy, A_yx, A_yy − 1, b_x, b_y), the paper's basis."""

    name, size = "affine", 6
    rotates = scales = shears = True

    def matrix(self, params: Params) -> Matrix:  # noqa: D102
        eye = torch.eye(2, dtype=params.dtype, device=params.device)
        return homogeneous(eye + params[..., :4].unflatten(-1, (2, 2)), params[..., 4:])

    def jacobian(self, params: Params) -> Float[Tensor, "*B 3 3 P"]:  # noqa: D102
        jacobian = params.new_zeros(*params.shape[:-1], 3, 3, 6)
        for index, (row, column) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2))):
            jacobian[..., row, column, index] = 1
        return jacobian

    def params(self, matrix: Matrix) -> Params:  # noqa: D102
        matrix = matrix / matrix[..., 2:, 2:]
        eye = torch.eye(2, dtype=matrix.dtype, device=matrix.device)
        return torch.cat(((matrix[..., :2, :2] - eye).flatten(-2), matrix[..., :2, 2]), -1)


class Homography(Motion):
    """x ↦ H x / (H x)_3 with H_33 = 1; parameters: those of `Affine`, then the perspective (h_x, h_y)."""

    name, size, projective = "homography", 8, True
    rotates = scales = shears = True

    _affine: ClassVar[Affine] = Affine()

    def matrix(self, params: Params) -> Matrix:  # noqa: D102
        top = self._affine.matrix(params[..., :6])[..., :2, :]
        last = torch.cat((params[..., 6:], torch.ones_like(params[..., :1])), -1)[..., None, :]
        return torch.cat((top, last), -2)

    def jacobian(self, params: Params) -> Float[Tensor, "*B 3 3 P"]:  # noqa: D102
        jacobian = params.new_zeros(*params.shape[:-1], 3, 3, 8)
        jacobian[..., :6] = self._affine.jacobian(params[..., :6])
        jacobian[..., 2, 0, 6] = jacobian[..., 2, 1, 7] = 1
        return jacobian

    def params(self, matrix: Matrix) -> Params:  # noqa: D102
        matrix = matrix / matrix[..., 2:, 2:]
        return torch.cat((self._affine.params(matrix), matrix[..., 2, :2]), -1)


def _angle(matrix: Matrix) -> Float[Tensor, "*B"]:
    """The angle of the rotation R(θ) that is nearest to the linear part A in the Frobenius norm."""
    # ⟨A, R(θ)⟩ = (A_xx + A_yy) cos θ + (A_yx − A_xy) sin θ is highest in the direction of these two sums.
    return torch.atan2(matrix[..., 1, 0] - matrix[..., 0, 1], matrix[..., 0, 0] + matrix[..., 1, 1])


MOTIONS: dict[str, Motion] = {
    motion.name: motion for motion in (Translation(), Euclidean(), Similarity(), Affine(), Homography())
}


def motion_named(motion: str | Motion) -> Motion:
    """The motion model with this name; a model is returned unchanged."""
    if isinstance(motion, Motion):
        return motion
    require(
        isinstance(motion, str),
        f"motion must be a name or a motion model, but is a {type(motion).__name__}",
    )
    try:
        return MOTIONS[motion]
    except KeyError:
        raise ArgumentError(
            f"unknown motion {motion!r}: it must be one of {', '.join(map(repr, MOTIONS))}"
        ) from None
