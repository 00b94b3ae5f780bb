"""One ruler for every method: ZNCC on the motif's support."""

from jaxtyping import Float
from torch import Tensor

from wherein.formulations.correlation import CorrelationObjective
from wherein.images.motif import Motif
from wherein.motion.models import Translation
from wherein.pyramid.alignment import align
from wherein.warp import Surface


class Judge:
    """ZNCC (appendix A.3) of a motif and a scene under any number of poses, 0 where too little is in sight.

    Its pixels are the motif's that lie well inside of the mask. Looking at a pose costs one interpolation of
    these, in C where there is a compiler.
    """

    def __init__(self, scene: Float[Tensor, "C H W"], motif: Motif) -> None:
        self._objective = CorrelationObjective(Surface(scene), motif, Translation())

    def __call__(self, poses: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        """The ZNCC at each of the poses, motif pixels → scene pixels."""
        cost = align(self._objective, self._objective.at(poses), steps=0).cost
        return (1 - cost).clamp_min(0.0)
