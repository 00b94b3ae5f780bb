"""Solvers: they minimise objectives, and do not depend on pictures."""

from wherein.solve.gauss_newton import Damping, gauss_newton
from wherein.solve.proximal import Step, proximal_gradient, proximal_step
from wherein.solve.solution import Solution, Status
from wherein.solve.unroll import GaussNewtonLayers, ProximalLayers, Unrolled, UnrolledStage, Unrolling

__all__ = [
    "Damping",
    "GaussNewtonLayers",
    "ProximalLayers",
    "Solution",
    "Status",
    "Step",
    "Unrolled",
    "UnrolledStage",
    "Unrolling",
    "gauss_newton",
    "proximal_gradient",
    "proximal_step",
]
