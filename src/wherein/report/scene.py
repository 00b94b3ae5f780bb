"""One scene of a page: its picture, and the numbers of everything that was found in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.detect import Calibration, Detection, Detections, PartFound
from wherein.detect.explain.convergence import Ways
from wherein.detect.fast.score import not_above
from wherein.report.fits import fits
from wherein.report.markup import matrix, number, pair, text
from wherein.report.parts import PageParts
from wherein.report.stage import Maps, seen, stage, switches

_COLUMNS = ("part", "score", "found", "angle", "middle (x, y)", "matrix")


@dataclass(frozen=True, eq=False)
class SceneWriter:
    """Writes scenes.

    Attributes:
        parts: of the template that was looked for.
        calibration: what its scores mean; None where that is not known.
    """

    parts: PageParts
    calibration: Calibration | None

    def __call__(self, index: int, name: str, found: Detections, maps: Maps, ways: Sequence[Ways]) -> str:
        """The section of one scene, but for its end: what it took is told last.

        Arguments:
            index: of the scene; its place is #s{index}.
            name: of the scene.
            found: what was found in it.
            maps: occurrence maps by part.
            ways: of each that was found, how its fits converged.
        """
        width, height = found.size
        count = f"{len(found)} found" if len(found) else f"nothing found{self._nearly(found)}"
        told = zip(found, ways, strict=True)
        tables = "".join(self._detection(f"s{index}d{k}", k, *one) for k, one in enumerate(told, 1))
        return (
            f'<section class="scene" id="s{index}"><h2>{text(name)}</h2>\n'
            f'<p class="facts">{width} × {height} px · {count}</p>\n'
            f'<div class="beside">{stage(self.parts, index, found, maps)}'
            f"{switches(self.parts, found, maps)}</div>\n{tables}"
        )

    def _nearly(self, found: Detections) -> str:
        """What came close where nothing was found, and where that is."""
        if found.missed is None:
            return ""
        score, middle = number(not_above(found.missed.score), 3), self._middle(found.missed)
        return f"; what came nearest has score {score}, below the least, with its middle at {pair(middle)}"

    def _middle(self, item: Detection) -> NDArray[np.float64]:
        return item.matrix @ np.array((*self.parts.template.centre, 1.0))

    def _detection(self, place: str, k: int, item: Detection, ways: Ways) -> str:
        leaves = [part.found for part in item.parts.values() if part.leaf]
        plural, known = "part" if len(leaves) == 1 else "parts", self.calibration
        rare = f"A score as high comes by chance {known.describe_false_alarms(item.score)}. " if known else ""
        head = "".join(f"<th>{title}" for title in _COLUMNS)
        rows = "".join(self._row(place, name, item.parts[name]) for name in self.parts.listed)
        return (
            f'<details class="found"{" open" if k == 1 else ""}><summary><b>{k}</b> '
            f"score {number(item.score, 3)} · {sum(leaves)} of {len(leaves)} {plural} · "
            f"turned {number(item.angle, 1)}° · scale {number(item.scale, 3)}</summary>\n"
            f"<p>{rare}Its middle is at {pair(self._middle(item))}.</p>"
            f'{_folded(item.matrix)}\n<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>{fits(self.parts, item, ways)}</details>\n"
        )

    def _row(self, place: str, name: str, part: PartFound) -> str:
        outline = self.parts.template.outlines[name]
        middle = part.matrix @ np.array((*(outline.min(0) + outline.max(0)) / 2, 1.0))
        cells = (
            f'<span class="bar" style="--v: {part.score:.3f}">{number(part.score)}</span>',
            seen(part),
            f"{number(part.angle, 1)}°",
            pair(middle),
            _folded(part.matrix),
        )
        return (
            f'<tr{"" if part.found else " class=missing"}><th style="--depth: {self.parts.depth(name)}">'
            f'<i style="--c: {self.parts.color[name]}"></i>'
            f'<a href="#{place}p{self.parts.number[name]}">{text(name)}</a>'
            f"{''.join(f'<td>{cell}' for cell in cells)}</tr>"
        )


def _folded(values: NDArray[np.float64]) -> str:
    return f'<details class="matrix"><summary>matrix</summary>{matrix(values)}</details>'
