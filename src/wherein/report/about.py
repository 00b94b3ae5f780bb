"""What a page says before the first scene: the template, and what its scores mean."""

from collections.abc import Sequence

from wherein.detect.calibration.model import Calibration
from wherein.detect.detector import Detector
from wherein.images.eight_bit import to_image
from wherein.report.markup import cutout, number, rarity, text
from wherein.template.bundle import Template
from wherein.template.tree import Tree


def about_template(template: Template) -> str:
    """Its picture, and its parts as a tree."""
    picture = cutout(to_image(template.canvas.pixels, template.canvas.mask))
    width, height = template.size
    return (
        '<section class="template"><h2>Template</h2><div class="beside">'
        f'<img src="{picture}" alt="the template {text(template.name)}">'
        f"<div><p>{text(template.name)}, {width} × {height} px, {len(template.parts)} parts</p>"
        f'<ul class="tree">{_branch(template.parts, template.parts.root)}</ul></div></div></section>\n'
    )


def _branch(tree: Tree, name: str) -> str:
    part = tree[name]
    turns = f" <small>turns ±{part.turn:g}°</small>" if part.moves else ""
    below = "".join(_branch(tree, child) for child in tree.children(name))
    return f"<li>{text(name)}{turns}{f'<ul>{below}</ul>' if below else ''}</li>"


def fast_calibration(detector: Detector) -> Calibration | None:
    """What scores mean; None for the paper's network."""
    return detector.calibration if isinstance(detector.calibration, Calibration) else None


def about_search(detector: Detector) -> str:
    """Which poses were looked for, from which score on, and how rare such scores are."""
    known, ranges = fast_calibration(detector), detector.ranges
    if known is None:  # the paper's network has none
        least = number(detector.threshold, 3)
        return (
            f'<section class="search"><h2>Scores</h2><p>Least score of a detection: {least}.</p></section>\n'
        )
    (low, high), (smallest, largest) = ranges.scale, known.limits.scale
    scales = f"scale {low:g}" if ranges.fixed_scale else f"scales {low:g} to {high:g}"
    given = "" if detector.threshold == known.threshold else ", given in place of the calibrated one"
    facts = [
        f"Looked for: rotations within ±{ranges.rotation:g}°, {scales}; at rest it is found within "
        f"±{known.limits.rotation:g}° and at scales {smallest:.2f} to {largest:.2f}.",
        f"Least score of a detection: {number(detector.threshold, 3)}{given}; "
        f"one as high comes by chance {rarity(known, detector.threshold)}.",
        f"Calibrated on {len(known.clutter)} scenes without the template, whose best score was "
        f"{number(max(known.clutter), 3)}, and {len(known.present)} with it, whose least was "
        f"{number(min(known.present), 3)}.",
    ]
    facts += [f"Mind that {text(warning)}." for warning in known.warnings]
    listed = "".join(f"<p>{fact}</p>" for fact in facts)
    return f'<section class="search"><h2>Scores</h2>{_strip(known, detector.threshold)}{listed}</section>\n'


def _strip(known: Calibration, threshold: float) -> str:
    """Scores from 0 to 1: what clutter reached, what the object reached, and the threshold between them."""
    ticks = "".join(
        f'<text x="{10 + 400 * tick}" y="64" class="tick">{tick:g}</text>' for tick in (0, 0.25, 0.5, 0.75, 1)
    )
    at = 10 + 400 * threshold
    return (
        '<svg class="strip" viewBox="0 0 420 70" role="img" aria-label="scores of clutter and of the object">'
        '<line x1="10" x2="410" y1="48" y2="48" class="axis"/>'
        f"{_dots(known.clutter, 'clutter')}{_dots(known.present, 'present')}"
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="16" y2="52" class="least"/>'
        f'<text x="{at:.1f}" y="11" class="tick">least score</text>{ticks}</svg>'
        '<p class="key"><i class="clutter"></i>without the template <i class="present"></i>with it</p>'
    )


def _dots(scores: Sequence[float], kind: str) -> str:
    return "".join(f'<circle cx="{10 + 400 * s:.1f}" cy="36" r="5" class="{kind}"/>' for s in scores)
