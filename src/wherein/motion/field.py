"""Vector fields τ on a grid: fields of matrices, projection onto matrices, and free fields (appendix A.1).

A field is (…, h, w, 2): the position (x, y) in the scene of each pixel of the motif's grid.
"""

import torch
from jaxtyping import Float
from torch import Tensor

Field = Float[Tensor, "*B h w 2"]


def lattice(height: int, width: int, like: Tensor, pad: int = 0) -> Float[Tensor, "h w 2"]:
    """The pixel centres (x, y) of a motif extended by `pad` pixels on each side."""
    options = {"dtype": like.dtype, "device": like.device}
    y = torch.arange(-pad, height + pad, **options)  # type: ignore[call-overload]
    x = torch.arange(-pad, width + pad, **options)  # type: ignore[call-overload]
    grid_y, grid_x = torch.meshgrid(y, x, indexing="ij")
    return torch.stack((grid_x, grid_y), -1)


def centre_of(height: int, width: int, like: Tensor) -> Float[Tensor, "2"]:
    """The centre c of a picture, ((w − 1)/2, (h − 1)/2)."""
    return like.new_tensor(((width - 1) / 2, (height - 1) / 2))


def shift_matrix(shift: Float[Tensor, "*B 2"]) -> Float[Tensor, "*B 3 3"]:
    """The 3×3 matrix of x ↦ x + shift."""
    matrix = torch.eye(3, dtype=shift.dtype, device=shift.device).repeat(*shift.shape[:-1], 1, 1)
    matrix[..., :2, 2] = shift
    return matrix


def transform(matrix: Float[Tensor, "*B 3 3"], points: Float[Tensor, "*N 2"]) -> Float[Tensor, "*BN 2"]:
    """Each matrix applied to all points: (*B, *N, 2).

    In memory, all x of the result precede all y, which is faster to sample. No matrix product is used: its
    rounding changes with the size of the batch, and an item must not depend on the others.
    """
    rows = matrix[..., :2, :].movedim(-2, 0)
    x, y = points.reshape(-1, 2).mT
    moved = rows[..., :1] * x + rows[..., 1:2] * y + rows[..., 2:]
    moved = moved.reshape(*rows.shape[:-1], *points.shape[:-1]).movedim(0, -1)
    # Most motions have no perspective: their depth is 1 everywhere, and the division would cost time.
    return moved / _depth(matrix, points)[..., None] if is_projective(matrix) else moved


def is_projective(matrix: Float[Tensor, "*B 3 3"]) -> bool:
    """Whether any of the matrices has perspective: a last row other than (0, 0, 1)."""
    last = matrix[..., 2, :].detach()
    return bool((last != last.new_tensor((0.0, 0.0, 1.0))).any())


def project(gradient: Float[Tensor, "*B h w K"], points: Float[Tensor, "h w 2"]) -> Float[Tensor, "*B K 3"]:
    """⟨∇τ, basis of Aff(2)⟩: the gradient in the 2×3 matrix of τ = A · points + b from that in τ (eq. 21).

    For centred points the basis is orthogonal, and each basis field depends on x or on y alone. So the
    gradient is first summed along columns and rows. That leaves short products instead of six sums of h·w
    terms.
    """
    by_column = gradient.sum(-3)
    x = torch.einsum("...wk,w->...k", by_column, points[0, :, 0])
    if len(points) == 1:  # one row, or a list of points: y varies along it
        y = torch.einsum("...wk,w->...k", by_column, points[0, :, 1])
    else:
        y = torch.einsum("...hk,h->...k", gradient.sum(-2), points[:, 0, 1])
    return torch.stack((x, y, by_column.sum(-2)), -1)


def project_projective(
    gradient: Field, points: Float[Tensor, "h w 2"], matrix: Float[Tensor, "*B 3 3"]
) -> Float[Tensor, "*B 3 3"]:
    """∇_F of a cost whose field is τ = (F x̄)_{1,2} / (F x̄)_3, from its gradient in τ.

    The first two rows are `project` of ∇τ / depth, the last row is that of −⟨∇τ, τ⟩ / depth: by the quotient
    rule, dτ = (d(F x̄)_{1,2} − τ d(F x̄)_3) / (F x̄)_3.
    """
    if is_projective(matrix):
        gradient = gradient / _depth(matrix, points)[..., None]
    along = -(gradient * transform(matrix, points)).sum(-1, keepdim=True)
    return project(torch.cat((gradient, along), -1), points)


def _depth(matrix: Float[Tensor, "*B 3 3"], points: Float[Tensor, "*N 2"]) -> Float[Tensor, "*BN"]:
    """The depth (F x̄)_3 of every point: the divisor of a homography."""
    x, y = points.reshape(-1, 2).mT
    row = matrix[..., 2, :, None]
    depth = row[..., 0, :] * x + row[..., 1, :] * y + row[..., 2, :]
    return depth.reshape(*matrix.shape[:-2], *points.shape[:-1])


def tangent(
    matrix: Float[Tensor, "*B 3 3"], change: Float[Tensor, "*B 3 3 P"], points: Float[Tensor, "h w 2"]
) -> Float[Tensor, "*B h w 2 P"]:
    """∂τ/∂p of the field of `matrix`, given ∂F/∂p as `change`."""
    ones = torch.ones_like(points[..., :1])
    homogeneous = torch.cat((points, ones), -1)
    moved = torch.einsum("hwj,...ijp->...hwip", homogeneous, change)
    if not is_projective(matrix) and not bool(change[..., 2, :, :].any()):
        return moved[..., :2, :]
    field = transform(matrix, points)[..., None]
    # The quotient rule, as in `project_projective`.
    return (moved[..., :2, :] - field * moved[..., 2:, :]) / _depth(matrix, points)[..., None, None]


def smoothness(field: Field) -> Float[Tensor, "*B"]:
    """ρ(τ) = ½ Σ ‖difference of neighbouring vectors‖²: zero for a translation, small for a smooth field."""
    # Without neighbours beyond the border: a Neumann boundary, which the cosine transform has as well.
    down = field.diff(dim=-3).pow(2).sum((-3, -2, -1))
    right = field.diff(dim=-2).pow(2).sum((-3, -2, -1))
    return 0.5 * (down + right)


def smoothness_prox(field: Field, strength: float | Float[Tensor, ""]) -> Field:
    """prox_{λρ}(τ) = (I + λ L)⁻¹ τ with L the grid's Laplacian, computed exactly by the cosine transform.

    ρ(τ) = ½ ⟨τ, L τ⟩, and the transform makes L diagonal: its eigenvalues are 4 sin²(π k / 2h) +
    4 sin²(π l / 2w).
    """
    h, w = field.shape[-3:-1]
    rows, columns = _cosines(h, field), _cosines(w, field)
    eigenvalues = _laplacian(h, field)[:, None] + _laplacian(w, field)
    spectrum = torch.einsum("kh,...hwi,lw->...kli", rows, field, columns)
    spectrum = spectrum / (1 + strength * eigenvalues)[..., None]
    return torch.einsum("kh,...kli,lw->...hwi", rows, spectrum, columns)


def _cosines(n: int, like: Tensor) -> Tensor:
    """The orthonormal cosine basis of n samples (DCT-II), one row for each frequency."""
    k = torch.arange(n, dtype=like.dtype, device=like.device)
    basis = torch.cos(torch.pi * k[:, None] * (k + 0.5) / n) * (2 / n) ** 0.5
    basis[0] /= 2**0.5  # the constant has norm √n, all other cosines √(n/2)
    return basis


def _laplacian(n: int, like: Tensor) -> Tensor:
    """The eigenvalues of the Laplacian of n samples in a row."""
    k = torch.arange(n, dtype=like.dtype, device=like.device)
    return 4 * torch.sin(torch.pi * k / (2 * n)) ** 2
