"""From coarse to fine: which scales, how many steps, how many starts live on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One stage of a coarse-to-fine fit.

    Arguments:
        scale: the picture is reduced by this factor; 1 is full size.
        steps: Gauss–Newton steps at most; 0 only looks at the cost.
        keep: how many of the poses go on to the next stage.
        pixels: how many of the motif's pixels are compared at most; None: all.
        probes: along how many uncertain directions to start neighbours of the best pose.
        again: whether the very first start takes part once more.
    """

    scale: int
    steps: int
    keep: int
    pixels: int | None = None
    probes: int = 0
    again: bool = False


def coarse_to_fine(height: int, width: int, support: float, starts: int, size: int) -> tuple[Stage, ...]:
    """The stages of `register` for a motif.

    The coarsest scale leaves the motif at least 10 pixels high and wide and 100 pixels in its support: below
    that, poses can no longer be told apart. There the many starts are thinned out quickly, since a wrong one
    shows after a step or two.

    Arguments:
        height, width, support: of the motif at full size, in pixels.
        starts: how many poses come in.
        size: the motion's number of parameters; from 4 on, directions can stay undetermined at coarse scales.
    """
    scale = next((s for s in (8, 4, 2) if min(height, width) / s >= 10 and support / s**2 >= 100), 1)
    stages = [Stage(scale, 8, 1)]
    if starts > 1:
        stages = [
            Stage(scale, 0, 48, pixels=100),
            Stage(scale, 3, 12, pixels=200),
            Stage(scale, 6, 4, pixels=400),
        ]
    if scale > 4:
        stages.append(Stage(4, 6, 2, pixels=600, again=True))
    if scale > 2:
        stages.append(Stage(2, 8, 2, pixels=1200, probes=2 if size >= 4 and starts > 1 else 0, again=True))
    if scale > 1:
        stages.append(Stage(1, 8, 1, pixels=3000, again=True))
    return (*stages, Stage(1, 20, 1))
