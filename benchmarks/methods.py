"""The table of registration methods; a method is run so that its errors do not stop the suite."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.peers import Outcome
from benchmarks.scenes import Problem

OURS = "wherein"


@dataclass(frozen=True)
class Method:
    """A registration method: its name in the tables, a description of its settings, and its function."""

    name: str
    about: str
    run: Callable[[Problem], Outcome]
    missing: Callable[[], str | None]  # returns why it cannot run on this machine, or None
    limit: int | None = None  # maximum number of problems of a group, for methods that take seconds each


METHODS = {
    method.name: method
    for method in (
        Method(OURS, "wherein.register(), defaults", peers.wherein_register, peers.no_wherein),
        Method(
            "ECC",
            f"OpenCV findTransformECCWithMask, grey, blur sizes {peers.BLURS}, {peers.STEPS} steps each",
            peers.opencv_ecc,
            peers.no_opencv("findTransformECCWithMask"),
        ),
        Method(
            "ECC inset",
            "the same with its masks shrunk by half the blur, against its bias at borders (opencv 29774)",
            partial(peers.opencv_ecc, inset=True),
            peers.no_opencv("findTransformECCWithMask"),
        ),
        Method(
            "ECC multi-scale",
            "OpenCV findTransformECCMultiScale, grey, four levels, defaults",
            peers.opencv_ecc_multiscale,
            peers.no_opencv("findTransformECCMultiScale"),
        ),
        Method(
            "kornia",
            f"ImageRegistrator, defaults, masked L1, scene cropped to {peers.MARGIN} px about the motif",
            peers.kornia_registrator,
            peers.no_kornia,
            limit=8,
        ),
        Method(
            "kornia tuned",
            "the same with tolerance 1e-6, and steps of 1e-2 for the poses of Figure 1",
            peers.kornia_tuned,
            peers.no_kornia,
            limit=3,
        ),
    )
}


def attempt(method: Method, problem: Problem) -> Outcome:
    """Run a method; an exception counts as a failure on this problem."""
    try:
        outcome = method.run(problem)
    except Exception as error:
        return Outcome(None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}")
    finite = outcome.matrix is not None and bool(np.isfinite(outcome.matrix).all())
    return outcome if finite else Outcome(None, outcome.status)
