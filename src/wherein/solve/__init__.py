"""How to descend: solvers see objectives, never pictures."""

from wherein.solve.gauss_newton import Damping, gauss_newton
from wherein.solve.proximal import Step, proximal_gradient
from wherein.solve.result import Solution, Status

__all__ = ["Damping", "Solution", "Status", "Step", "gauss_newton", "proximal_gradient"]
