"""Mutual exclusion between templates: a pixel of a scene is evidence for one object, of one template.

Hypotheses of one template compete by their scores (`exclusion`). Scores of two templates do not say which of
them explains the same pixels better: a small part of an object fits as well as all of it, and how rare a
score is, is known less exactly than two near twins differ. So templates compete by the information that their
fits carry about the scene, summed over its pixels: area × −ln(1 − ρ²), the log-likelihood ratio against
anything else if pixels are independent. Of near twins, which have the same area, the one that fits better
wins; of an object and a part of it, the object, which explains more; of a thing and a larger one that fits
loosely behind it, the thing. What loses some of its pixels is judged by the rest of them.
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
"""ZNCC above which fits count as equally good. A choice: scores are capped far lower, at what noise leaves,
but near twins in a clean picture differ above that."""


@dataclass(frozen=True)
class Contender:
    """The hypotheses of one template.

    Attributes:
        finder: that made them.
        hypotheses: all that stand by themselves.
        threshold: the lowest score of a detection.
        least: the lowest score of a candidate.
    """

    finder: "Finder"
    hypotheses: Hypotheses
    threshold: float
    least: float


_TOUCHING = 0.1
"""Fraction of a piece. A choice: if less of it lies on claimed pixels, the rest says as much as all of it."""

_POINTS = 1000
"""About how many points of a piece are compared with the scene where some are claimed. A choice: as many as
in the fits."""

_AS_IT_IS = PlaneStage(rounds=1, steps=0)


class _Rows:
    """The hypotheses of a template, with what is left of their evidence."""

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
        middle = footprint.corners.mean(0)
        size = scales(self.poses[name], (float(middle[0]), float(middle[1])))
        area = footprint.mask.sum() * size**2 * self.hypotheses.visible[name]
        return np.asarray(area * -np.log1p(-(np.clip(zncc, 0.0, _MAX_EXACT) ** 2)))

    def ranks(self) -> list[tuple[bool, float]]:
        """Of each hypothesis: whether it is a detection, and its information; the highest goes first."""
        left = sum(np.where(self.evidence[name] > 0, gain, 0.0) for name, gain in self._gains.items())
        sure = self.scores >= self.of.threshold
        return [(bool(a), float(b)) for a, b in zip(sure, np.asarray(left), strict=True)]

    def lose(self, scene: ScenePyramid | None, winner: "_Rows", first: int, overlap: float) -> None:
        """Take the evidence of pixels that a hypothesis of another template claims."""
        changed = False
        for name, pose in ((name, poses[first]) for name, poses in winner.poses.items()):
            if winner.evidence[name][first] <= 0:
                continue
            for own in self.poses:
                meets = (self.low[own] <= winner.high[name][first]) & (
                    self.high[own] >= winner.low[name][first]
                )
                rows = np.flatnonzero(self.free & (self.evidence[own] > 0) & meets.all(1))
                points = mapped(self.poses[own][rows], self.footprints[own].points)
                shares = winner.footprints[name].covers(pose, points).mean(-1)
                claims, touched = (winner.footprints[name], pose), shares > _TOUCHING
                for row, share in zip(rows[touched].tolist(), shares[touched].tolist(), strict=True):
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
        """Information of a piece without the pixels under a footprint at a pose."""
        if scene is None:  # what is left says as much as all of it
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
        """The kept hypotheses with what is left of their evidence and scores, the highest score first."""
        order = np.array(sorted(kept, key=lambda k: -self.scores[k]), dtype=np.int64)
        return replace(self.hypotheses, evidence=self.evidence, scores=self.scores)[order]


def between_templates(
    scene: ScenePyramid | None, contenders: Sequence[Contender], overlap: float
) -> list[Hypotheses]:
    """The hypotheses of each template that stand beside those of all others, the highest score first.

    Greedy, as within one template. Detections come before candidates: what does not count as found takes no
    pixels from what does.

    Arguments:
        scene: where they are; None: only areas are compared.
        contenders: the hypotheses of each template, which exclude each other already.
        overlap: fraction of a piece that may lie on pixels of another object.
    """
    rows = [_Rows(one) for one in contenders]
    kept: list[list[int]] = [[] for _ in rows]
    while True:
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
