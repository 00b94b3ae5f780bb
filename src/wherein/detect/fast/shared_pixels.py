"""Mutual exclusion between templates: a pixel of a scene is evidence for one object, of one template.

Hypotheses of one template compete by their scores (`exclusion`). Scores of two templates do not tell which of
them explains the same pixels better: a small part of an object fits as well as the whole object, and the
rarity of a score is known less exactly than the difference between two similar templates. So templates
compete by the information that their fits carry about the scene, summed over its pixels: area × −ln(1 − ρ²).
This is the log-likelihood ratio against any other explanation, if pixels are independent. Of two similar
templates, which have the same area, the one that fits better wins. Of an object and a part of it, the object
wins, which explains more. Of an object and a larger one that fits loosely behind it, the smaller one wins. A
piece that loses some of its pixels is judged by the rest of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import Footprint
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.score import information
from wherein.motion.homography import mapped, scales
from wherein.planes.own_resolution import own_stages
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import fit_planes
from wherein.pyramid.levels import Poses, ScenePyramid

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

_MAX_EXACT = 0.9999
"""ZNCC above which fits count as equally good. A choice: scores are capped at a far lower ZNCC, which noise
permits, but similar templates in a clean picture may differ only above that cap."""


@dataclass(frozen=True)
class Contender:
    """The hypotheses of one template.

    Attributes:
        finder: the finder that made them.
        hypotheses: those that remain after exclusion within the template.
        threshold: minimum score of a detection.
        least: minimum score of a candidate.
    """

    finder: "Finder"
    hypotheses: Hypotheses
    threshold: float
    least: float


_TOUCHING = 0.1
"""Fraction of a piece. A choice: if less of it lies on claimed pixels, its evidence does not change."""

_POINTS = 1000
"""Approximate number of points by which a piece with some claimed pixels is compared with the scene. A
choice: as many as in the fits."""

_AS_IT_IS = PlaneStage(rounds=1, steps=0)
"""No step: the ZNCC of a pose as it is."""


class _Rows:
    """The hypotheses of a template, with their remaining evidence and scores."""

    def __init__(self, of: Contender) -> None:
        self.of, self.hypotheses, models = of, of.hypotheses, of.finder.models
        placement = of.hypotheses.placement
        self.evidence = {name: values.copy() for name, values in of.hypotheses.evidence.items()}
        self.scores, self.free = of.hypotheses.scores.copy(), of.hypotheses.scores >= of.least
        self.footprints: dict[str, Footprint] = {name: model.footprint for name, model in models.items()}
        self.poses: dict[str, Poses] = {
            name: placement.frames[name] @ model.to_canvas for name, model in models.items()
        }
        corners = {name: mapped(poses, self.footprints[name].corners) for name, poses in self.poses.items()}
        self.low = {name: ends.min(1) for name, ends in corners.items()}
        self.high = {name: ends.max(1) for name, ends in corners.items()}
        self._gains = {name: self._gain(name) for name in models}

    def _gain(self, name: str) -> NDArray[np.float64]:
        """Information of a piece about the scene, summed over its visible pixels, (H,)."""
        footprint, zncc = self.footprints[name], self.hypotheses.placement.zncc[name]
        # The area of the mask in scene pixels, as far as it is visible: mask pixels times the square of the
        # size.
        middle = footprint.corners.mean(0)
        size = scales(self.poses[name], (float(middle[0]), float(middle[1])))
        area = footprint.mask.sum() * size**2 * self.hypotheses.visible[name]
        return np.asarray(area * -np.log1p(-(np.clip(zncc, 0.0, _MAX_EXACT) ** 2)))

    def ranks(self) -> list[tuple[bool, float]]:
        """For each hypothesis: whether it is a detection, and its information. The highest pair claims
        first."""
        left = sum(np.where(self.evidence[name] > 0, gain, 0.0) for name, gain in self._gains.items())
        sure = self.scores >= self.of.threshold
        return [(bool(a), float(b)) for a, b in zip(sure, np.asarray(left), strict=True)]

    def lose(self, scene: ScenePyramid | None, winner: "_Rows", first: int, overlap: float) -> None:
        """Remove the evidence of pixels that the hypothesis `first` of another template, `winner`, claims."""
        changed = False
        for name, pose in ((name, poses[first]) for name, poses in winner.poses.items()):
            if winner.evidence[name][first] <= 0:
                continue
            for own in self.poses:
                meets = (self.low[own] <= winner.high[name][first]) & (
                    self.high[own] >= winner.low[name][first]
                )
                # Most hypotheses do not touch the winner, and bounding boxes are cheap to compare.
                rows = np.flatnonzero(self.free & (self.evidence[own] > 0) & meets.all(1))
                points = mapped(self.poses[own][rows], self.footprints[own].points)
                shares = winner.footprints[name].covers(pose, points).mean(-1)
                claims, touched = (winner.footprints[name], pose), shares > _TOUCHING
                for row, share in zip(rows[touched].tolist(), shares[touched].tolist(), strict=True):
                    # Above `overlap` nothing remains. Below it, the information of the remaining pixels
                    # counts in proportion to their number.
                    left = 0.0 if share > overlap else (1 - share) * self._rest(scene, own, row, claims)
                    self.evidence[own][row] = min(self.evidence[own][row], left)
                    changed = True
        if changed:
            scored = self.of.finder.scoring.score(
                self.hypotheses.placement, self.evidence, self.hypotheses.visible
            )
            self.scores = np.where(self.free, scored, self.scores)
            self.free &= self.scores >= self.of.least

    def _rest(
        self, scene: ScenePyramid | None, name: str, row: int, claims: tuple[Footprint, NDArray[np.float64]]
    ) -> float:
        """The information per pixel of a piece, without the pixels that a footprint covers at a pose."""
        if scene is None:  # then the remaining pixels are taken to agree as well as all of them
            return float(self.evidence[name][row])
        judges, pose = self.of.finder.models[name].judges, self.poses[name][row]
        motif = judges[own_stages(judges, pose[None])[0]].thinned(_POINTS)
        places = motif.points.double() * motif.radius + motif.points.new_tensor(motif.centre).double()
        to_scene = pose @ np.linalg.inv(motif.from_full)
        claimed = claims[0].covers(claims[1], mapped(to_scene, places.numpy()))
        rest = motif.without(torch.from_numpy(claimed))
        zncc = fit_planes(scene, rest, self.of.finder.motion, _AS_IT_IS, pose[None]).zncc
        return float(information(zncc)[0])

    def result(self, kept: list[int]) -> Hypotheses:
        """The kept hypotheses with their remaining evidence and scores, the highest score first."""
        order = np.array(sorted(kept, key=lambda k: -self.scores[k]), dtype=np.int64)
        return replace(self.hypotheses, evidence=self.evidence, scores=self.scores)[order]


def between_templates(
    scene: ScenePyramid | None, contenders: Sequence[Contender], overlap: float
) -> list[Hypotheses]:
    """The hypotheses of each template that remain after exclusion between templates, the highest score first.

    A greedy algorithm, as within one template. Detections come before candidates, so that a candidate takes
    no pixels from a detection.

    Arguments:
        scene: the scene that was searched; None: only areas are compared.
        contenders: the hypotheses of each template, after exclusion within it.
        overlap: fraction of a piece that may lie on pixels of another object.
    """
    rows = [_Rows(one) for one in contenders]
    kept: list[list[int]] = [[] for _ in rows]
    while True:
        # Equal ranks go to the lower number of the template, then of the hypothesis, hence the negative
        # numbers.
        waiting = [
            (rank, -t, -k)
            for t, one in enumerate(rows)
            for k, (rank, free) in enumerate(zip(one.ranks(), one.free, strict=True))
            if free
        ]
        if not waiting:
            return [one.result(chosen) for one, chosen in zip(rows, kept, strict=True)]
        _, t, k = max(waiting)
        rows[-t].free[-k] = False
        kept[-t].append(-k)
        for number, other in enumerate(rows):
            if number != -t:
                other.lose(scene, rows[-t], -k, overlap)
