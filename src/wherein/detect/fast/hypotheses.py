"""Hypotheses about the whole object, many at a time: the frame of every piece, and the score of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from wherein.pyramid.levels import Poses


@dataclass(frozen=True)
class Placement:
    """H hypotheses without scores: the frame of every piece and group, and how well each piece fits.

    Arrays of all hypotheses by name, not a list of objects: numpy then works on all hypotheses at once.

    Attributes:
        frames: canvas → scene, (H, 3, 3) by name, also of groups without a piece; always includes the root.
        zncc: (H,) by name of the piece; −1 where it was not found at its joint.
        by_pixels: which poses of a piece were fitted by its pixels, (H,) by name; missing where none was.
    """

    frames: Mapping[str, Poses]
    zncc: Mapping[str, NDArray[np.float64]]
    by_pixels: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.frames.values())))

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Placement":
        return Placement(
            {name: frames[chosen] for name, frames in self.frames.items()},
            {name: zncc[chosen] for name, zncc in self.zncc.items()},
            {name: told[chosen] for name, told in self.by_pixels.items()},
        )

    def replaced(self, chosen: NDArray[np.int64], other: "Placement") -> "Placement":
        """A copy in which the `chosen` hypotheses are replaced by those of `other`, in that order."""
        rows = np.arange(len(self))
        rows[chosen] = len(self) + np.arange(len(other))
        return self.joined(other)[rows]

    def joined(self, other: "Placement") -> "Placement":
        """The hypotheses of both, those of `self` first."""
        return Placement(
            {name: np.concatenate((frames, other.frames[name])) for name, frames in self.frames.items()},
            {name: np.concatenate((zncc, other.zncc[name])) for name, zncc in self.zncc.items()},
            {
                name: np.concatenate((self.told_by_pixels(name), other.told_by_pixels(name)))
                for name in self.by_pixels.keys() | other.by_pixels.keys()
            },
        )

    def told_by_pixels(self, name: str) -> NDArray[np.bool_]:
        """Which poses of a piece were fitted by its pixels, (H,)."""
        return self.by_pixels.get(name, np.zeros(len(self), dtype=np.bool_))

    def with_piece(
        self,
        name: str,
        frames: Poses,
        zncc: NDArray[np.float64],
        by_pixels: NDArray[np.bool_] | None = None,
    ) -> "Placement":
        """A copy with the frames and ZNCC of one piece added or replaced; `by_pixels` None: none was."""
        told = {} if by_pixels is None else {name: by_pixels}
        moved = self.with_frames(name, frames)
        return replace(moved, zncc={**self.zncc, name: zncc}, by_pixels={**moved.by_pixels, **told})

    def with_frames(self, name: str, frames: Poses) -> "Placement":
        """A copy with the frames of one piece or group added or replaced."""
        others = {other: told for other, told in self.by_pixels.items() if other != name}
        return replace(self, frames={**self.frames, name: frames}, by_pixels=others)


@dataclass(frozen=True)
class Hypotheses:
    """H hypotheses about the whole object, with scores.

    Attributes:
        placement: the frames of the pieces.
        evidence: information that the fit of each piece carries (`detect.score`), (H,) by name.
        visible: fraction of each piece that lies inside the scene, (H,) by name.
        scores: (H,).
        spreads: ± degrees within which the turns of limbs are known (`limbs.turn_spreads`), (H,) by
            name, from earlier frames; NaN where they are not, and missing where none is.
    """

    placement: Placement
    evidence: Mapping[str, NDArray[np.float64]]
    visible: Mapping[str, NDArray[np.float64]]
    scores: NDArray[np.float64]
    spreads: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def joined(self, other: "Hypotheses") -> "Hypotheses":
        """The hypotheses of both, those of `self` first."""
        return Hypotheses(
            self.placement.joined(other.placement),
            {name: np.concatenate((part, other.evidence[name])) for name, part in self.evidence.items()},
            {name: np.concatenate((part, other.visible[name])) for name, part in self.visible.items()},
            np.concatenate((self.scores, other.scores)),
            {
                name: np.concatenate((self._spread(name), other._spread(name)))
                for name in self.spreads.keys() | other.spreads.keys()
            },
        )

    def _spread(self, name: str) -> NDArray[np.float64]:
        return self.spreads.get(name, np.full(len(self.scores), np.nan))

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Hypotheses":
        return Hypotheses(
            self.placement[chosen],
            {name: part[chosen] for name, part in self.evidence.items()},
            {name: part[chosen] for name, part in self.visible.items()},
            self.scores[chosen],
            {name: part[chosen] for name, part in self.spreads.items()},
        )
