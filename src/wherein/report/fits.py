"""How each fit of a detection converged: a small plot for each piece, drawn as SVG."""

import math

from wherein.detect.explain.convergence import FinalPose, FitTrace, FitTraces, TraceStage
from wherein.detect.result import Detection
from wherein.detect.score import MAX_ZNCC
from wherein.report.markup import number, text
from wherein.report.parts import PageParts

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 260.0, 112.0, 30.0, 4.0, 18.0, 8.0
"""Of a plot and its margins, in its own units."""

_APART = 3.0
"""Steps from the last of one scale to the first of the next: the scale must fit above a leg of none."""

_WORST, _BEST = 1.0, 1e-3
"""1 − ZNCC at the bottom of a plot and at its top; what lies beyond is drawn there."""

_TICKS = (0.0, 0.9, 0.99)
"""ZNCC at which there are lines."""

ABOUT = (
    '<section class="reading" id="fits"><h2>How to read the fits</h2>'
    "<p>Each plot shows ZNCC by step of the descent, from the coarsest scale to full size. Where the scale "
    "changes (it stands above) the value does too: it is another picture of the same pose. The axis is "
    "logarithmic in 1 − ZNCC. In a robust descent, dashed, pixels that do not fit count less; it seeks "
    "another end than ZNCC, which may fall. The number is ZNCC where the fit is judged, of which "
    f"a score counts {MAX_ZNCC:g} at most.</p>"
    "<p>The search keeps no record of its steps. For this page they were made once more, by the same "
    "functions: for the body from the place of the first look that leads to where it was found, for a limb "
    "from the turn about its joint that does, the joint being where it is in the end.</p></section>\n"
)
"""What is plotted, said once."""


def fits(parts: PageParts, item: Detection, ways: FitTraces) -> str:
    """Of a detection a plot for each piece that was fitted and found, and which parts have none."""
    if not ways:
        return ""
    plotted = [name for name in parts.listed if name in ways]
    cards = "".join(_card(parts, name, item.parts[name].score, ways[name]) for name in plotted)
    return (
        '<details class="fits" open><summary>How each fit converged</summary>'
        '<p><small>ZNCC by step, replayed for this page: <a href="#fits">how to read it</a>.</small></p>'
        f'<div class="cards">{cards}</div>{_without(parts, item, ways)}</details>\n'
    )


def _without(parts: PageParts, item: Detection, ways: FitTraces) -> str:
    """Which parts have no plot, and why."""
    leaves = [name for name in parts.listed if parts.is_leaf(name) and name not in ways]
    hidden = [text(name) for name in leaves if not item.parts[name].found]
    carried = [text(name) for name in leaves if item.parts[name].found]
    said = []
    if hidden:
        said.append(f"Not found, so that there is no fit to show: {', '.join(hidden)}.")
    if carried:
        said.append(f"Not fitted themselves, as they go with another part: {', '.join(carried)}.")
    return f"<p><small>{' '.join(said)}</small></p>" if said else ""


def _card(parts: PageParts, name: str, score: float, way: FitTrace) -> str:
    return (
        f'<figure><figcaption><i style="--c: {parts.color[name]}"></i><span>{text(name)}</span>'
        f"<b>{number(way.zncc, 3)}</b></figcaption>{_plot(way)}<p>{_words(way, score)}</p></figure>"
    )


def _words(way: FitTrace, score: float) -> str:
    """How it went, in words: steps, what was decided, and where the number comes from."""
    taken = sum(len(leg.zncc) - 1 for leg in way.stages)
    said = [f"{taken} step{'' if taken == 1 else 's'}"]
    if any(leg.robust for leg in way.stages):
        said.append(f"may be covered, so that it descended both ways: {way.kept.value}")
    elif way.kept is not FinalPose.PLAIN:
        said.append(way.kept.value)
    if not way.from_search:
        said.append("the other parts led to it, so that the way begins where it was found")
    if score > way.zncc + 0.005:
        said.append(f"what is not covered of it tells as much as {number(score, 3)} of all")
    return "; ".join(said)


def _plot(way: FitTrace) -> str:
    """The legs of a way beside each other."""
    steps = sum(len(leg.zncc) - 1 for leg in way.stages)
    unit = (_WIDTH - _LEFT - _RIGHT) / (steps + _APART * len(way.stages))
    x, drawn = _LEFT, []
    for index, leg in enumerate(way.stages):
        drawn.append(_leg(leg, x, unit, shaded=index % 2 == 0))
        x += (len(leg.zncc) - 1 + _APART) * unit
    first, last = way.stages[0].zncc[0], way.stages[-1].zncc[-1]
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="ZNCC from {number(first, 3)} to {number(last, 3)}">{"".join(drawn)}{_ticks()}'
        f'<circle cx="{x - unit * _APART / 2:.1f}" cy="{_y(last):.1f}" r="2.5"/></svg>'
    )


def _leg(leg: TraceStage, x: float, unit: float, shaded: bool) -> str:
    """One scale: a shade behind every other, a line, and a dot for each step."""
    first, wide = x + unit * _APART / 2, (len(leg.zncc) - 1 + _APART) * unit
    points = [f"{first + k * unit:.1f},{_y(value):.1f}" for k, value in enumerate(leg.zncc)]
    tall = _HEIGHT - _BOTTOM - _TOP
    shade = f'<rect x="{x:.1f}" y="{_TOP:g}" width="{wide:.1f}" height="{tall:g}"/>' if shaded else ""
    return (
        f'{shade}<text x="{x + wide / 2:.1f}" y="{_TOP - 5:g}">{_title(leg)}</text>'
        f'<polyline{" class=robust" if leg.robust else ""} points="{" ".join(points)}"/>'
        f'<path d="{"".join(f"M{point}h0" for point in points)}"/>'
    )


def _title(leg: TraceStage) -> str:
    """Its scale; a robust leg has that of the one before it."""
    if leg.robust:
        return "robust"
    return "full size" if leg.scale == 1 else f"1/{leg.scale}"


def _ticks() -> str:
    return "".join(
        f'<line x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{_y(value):.1f}" y2="{_y(value):.1f}"/>'
        f'<text class="tick" x="{_LEFT - 4:g}" y="{_y(value) + 3:.1f}">{value:g}</text>'
        for value in _TICKS
    )


def _y(zncc: float) -> float:
    """Logarithmic in 1 − ZNCC: so equal distances stand for equal ratios of what is left to gain."""
    left = min(max(1 - zncc, _BEST), _WORST)
    return _TOP + math.log(left / _BEST) / math.log(_WORST / _BEST) * (_HEIGHT - _TOP - _BOTTOM)
