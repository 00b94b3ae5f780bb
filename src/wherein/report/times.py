"""Where the time went: a line under each scene, and a table above them all."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wherein.report.markup import text
from wherein.report.stopwatch import SEARCH


@dataclass(frozen=True)
class Timed:
    """What a scene took.

    Attributes:
        place: of the scene in the page.
        name: of the scene.
        laps: seconds by what was done.
    """

    place: str
    name: str
    laps: Mapping[str, float]


def seconds(value: float) -> str:
    """With three digits that matter, in the unit in which it is easiest to read."""
    if value >= 60:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s"
    value = float(f"{value:.3g}")
    if value >= 1:
        return f"{value:g} s"
    thousandths = value * 1000
    return f"{thousandths:.{3 - len(str(int(thousandths)))}f} ms"


def bar(laps: Mapping[str, float]) -> str:
    """One scene's time, a stretch of a bar for each piece of the work, and the numbers below it."""
    total = sum(laps.values())
    share = {what: took / total if total > 0 else 0.0 for what, took in laps.items()}
    stretches = "".join(
        f'<i class="t{k % 6}" style="--v: {v:.4f}"></i>' for k, v in enumerate(share.values())
    )
    key = "".join(
        f'<li><i class="t{k % 6}"></i>{text(what)} <b>{seconds(took)}</b></li>'
        for k, (what, took) in enumerate(laps.items())
    )
    return (
        f'<div class="time"><div class="laps" role="img" aria-label="where {seconds(total)} went">{stretches}'
        f"</div><ul>{key}</ul></div>\n"
    )


def summary(scenes: Sequence[Timed]) -> str:
    """What the scenes took: the median, the slowest with a link to it, and all of them together."""
    if not scenes:
        return ""
    searched = [scene.laps[SEARCH] for scene in scenes]
    slowest = max(scenes, key=lambda scene: scene.laps[SEARCH])
    if len(scenes) == 1:
        said, table = f"The search took {seconds(searched[0])}.", ""
    else:
        said, table = (
            f"The search of a scene took {seconds(statistics.median(searched))} in the median, and "
            f"{seconds(max(searched))} where it was slowest, in {_link(slowest, slowest.name)}.",
            _table(scenes),
        )
    return (
        f'<section class="times"><h2>Time</h2><p>{said} All else comes on top, and is told with each scene. '
        f"What is prepared once counts for the first scene, calibration for none.</p>{table}</section>\n"
    )


def _table(scenes: Sequence[Timed]) -> str:
    done = dict.fromkeys(what for scene in scenes for what in scene.laps)
    rows = "".join(_row(what, [scene for scene in scenes if what in scene.laps]) for what in done)
    head = "".join(f"<th>{title}" for title in ("", "median", "slowest", "all"))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(what: str, scenes: Sequence[Timed]) -> str:
    took = [scene.laps[what] for scene in scenes]
    slowest = max(scenes, key=lambda scene: scene.laps[what])
    cells = (seconds(statistics.median(took)), _link(slowest, seconds(max(took))), seconds(sum(took)))
    return f"<tr><th>{text(what)}{''.join(f'<td>{cell}' for cell in cells)}</tr>"


def _link(scene: Timed, words: str) -> str:
    return f'<a href="#{scene.place}" title="{text(scene.name)}">{text(words)}</a>'
