"""From coarse to fine: which scales, how many steps, how many starts live on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One stage of a coarse-to-fine fit.

    Arguments:
        scale: the picture is reduced by this factor; 1 is full size.
        steps: Gauss–Newton steps at most; 0 only looks at the cost.
        keep: how many of the poses go on to the next stage.
        probes: along how many uncertain directions to start neighbours of the best pose.
    """

    scale: int
    steps: int
    keep: int
    probes: int = 0


def coarse_to_fine(height: int, width: int, support: float, starts: int, size: int) -> tuple[Stage, ...]:
    """The stages of `register` for a motif.

    The coarsest scale leaves the motif at least 10 pixels high and wide and 100 pixels in its support: below
    that, poses can no longer be told apart. There the many starts are thinned out quickly, since a wrong one shows
    after a step or two.

    Arguments:
        height, width, support: of the motif at full size, in pixels.
        starts: how many poses come in.
        size: the motion's number of parameters; from 4 on, directions can stay undetermined at coarse scales.
    """
    scale = next((s for s in (8, 4, 2) if min(height, width) / s >= 10 and support / s**2 >= 100), 1)
    probes = 2 if size >= 4 else 0
    stages = []
    if starts > 1:
        stages += [Stage(scale, 0, min(starts, 48)), Stage(scale, 3, 16), Stage(scale, 6, 6)]
    else:
        stages += [Stage(scale, 8, 1)]
    scale //= 2
    while scale >= 1:
        stages.append(Stage(scale, 8 if scale > 1 else 20, 3 if scale > 2 and starts > 1 else 1, probes if scale <= 2 else 0))
        scale //= 2
    return tuple(stages)
