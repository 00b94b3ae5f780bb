"""Where the reading of the gauge ends: blur, size, tilt and parallax. `python -m tools.gauge.limits`.

Prints a table: in how many of the scenes the value is within 1 % of the scale, in how many it is wrong, and
in how many there is none. The numbers in docs/howto/dial.md are from it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch.nn.functional as F
import typer

from tools.gauge.parts import RANGE
from wherein import Detector, Template
from wherein.demo import GAUGE
from wherein.demo.gauge_scene import NEEDLE, GaugeScene, gauge_scene
from wherein.images.gaussian import blur

SEEDS = range(12)

Case = tuple[str, Callable[[int], GaugeScene]]
"""What is changed, and the scene of a seed."""


def blurred(template: Template, sigma: float, seed: int) -> GaugeScene:
    """The scene, out of focus. Its dark border, where `blur` continues it by black, is far from the gauge."""
    shown = gauge_scene(template, seed)
    return replace(shown, pixels=blur(shown.pixels[None], sigma)[0])


def reduced(template: Template, factor: float, seed: int) -> GaugeScene:
    """The scene at another size."""
    shown = gauge_scene(template, seed)
    small = F.interpolate(shown.pixels[None], scale_factor=factor, mode="area")[0]
    return replace(shown, pixels=small.clamp(0, 1))


def tilted(template: Template, tilt: float, seed: int) -> GaugeScene:
    """The scene with another tilt."""
    return gauge_scene(template, seed, tilt=tilt)


def floating(template: Template, height: float, seed: int) -> GaugeScene:
    """The scene with a needle above its plate."""
    return gauge_scene(template, seed, needle_height=height)


def cases(template: Template) -> Iterator[Case]:
    """All that is measured."""
    yield "as in the demo", partial(gauge_scene, template)
    for sigma in (1.0, 2.0, 3.0, 4.0):
        yield f"blur, σ = {sigma:g} px", partial(blurred, template, sigma)
    for factor in (0.8, 0.65):
        yield f"size × {factor:g}", partial(reduced, template, factor)
    for tilt in (40.0, 50.0, 55.0):
        yield f"tilt {tilt:g}°", partial(tilted, template, tilt)
    for height in (5.0, 10.0, 15.0):
        yield f"needle {height:g} px above the plate", partial(floating, template, height)


def main() -> None:
    """Print the table."""
    template = replace(Template.load(GAUGE), source=None)
    detector = Detector(template)
    typer.echo("| scene | within 1 % | wrong | no value |\n|---|---|---|---|")
    for name, scene in cases(template):
        right = wrong = 0
        for seed in SEEDS:
            shown = scene(seed)
            found = detector(shown.pixels)
            value = found[0].parts[NEEDLE].value if found else None
            if value is not None:
                close = abs(value - shown.value) <= 0.01 * RANGE
                right, wrong = right + close, wrong + (not close)
        typer.echo(f"| {name} | {right} | {wrong} | {len(SEEDS) - right - wrong} |")


if __name__ == "__main__":
    typer.run(main)
