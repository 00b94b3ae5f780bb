"""The peer of detection: OpenCV's masked matchTemplate, each moving part by itself, swept over angles.

Every part is turned (and scaled) with its mask beforehand, which is not timed; the best place over all angles
and scales is the answer. `TM_CCORR_NORMED` is made for masks and can be compared between angles and scales.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
from numpy.typing import NDArray

from benchmarks.geometry import Array, linear, rotation, shift
from benchmarks.judging import NEAR_PX, distance
from benchmarks.objects import Instance
from wherein.template import Template

STEP = 5.0  # degrees; every 15° takes a third of the time and finds 72 % of the parts (facts.md)
EIGHT = tuple(float(s) for s in np.geomspace(0.8, 1.25, 8))


@dataclass(frozen=True)
class Turned:
    """A part at one angle and scale: its pixels, its weights, and part pixels → these pixels."""

    pixels: NDArray[np.float32]
    mask: NDArray[np.float32]
    matrix: Array  # 3×3


def turned(pixels: NDArray[np.float32], mask: NDArray[np.float32], degrees: float, scale: float) -> Turned:
    """A picture (h, w, C) about its centre, in a box that it just fits into."""
    import cv2

    height, width = mask.shape
    a = scale * rotation(degrees)
    reach = np.abs(a) @ np.array([width - 1, height - 1])
    box = tuple(ceil(side - 1e-6) + 1 for side in reach)
    matrix = shift((box[0] - 1) / 2, (box[1] - 1) / 2) @ linear(a) @ shift((1 - width) / 2, (1 - height) / 2)
    warp = partial(cv2.warpAffine, M=matrix[:2], dsize=box, flags=cv2.INTER_LINEAR)
    near = warp(pixels, borderMode=cv2.BORDER_REPLICATE)
    return Turned(near, warp(mask), matrix)


class Sweep:
    """All parts at all angles and scales, ready to be looked for.

    Arguments:
        template: whose parts.
        names: which of its leaves.
        scales: at which sizes.
        step: degrees between looks.
        grey: in grey levels, for a third of the time, rather than in colour as wherein does.
    """

    def __init__(
        self,
        template: Template,
        names: Sequence[str],
        scales: Sequence[float] = (1.0,),
        step: float = STEP,
        grey: bool = False,
    ) -> None:
        self._grey = grey
        angles = np.arange(-180, 180, step)
        self._parts = {
            name: [turned(*self._motif(template, name), float(a), s) for s in scales for a in angles]
            for name in names
        }

    @property
    def looks(self) -> int:
        """How often matchTemplate is called for a scene."""
        return sum(len(views) for views in self._parts.values())

    def _motif(self, template: Template, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        motif = template.parts[name].motif
        return self._seen(motif.pixels.movedim(0, -1).numpy()), (motif.mask.numpy() > 0.5).astype(np.float32)

    def _seen(self, picture: NDArray) -> NDArray[np.float32]:
        import cv2

        picture = np.ascontiguousarray(picture, dtype=np.float32)
        return cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) if self._grey else picture

    def __call__(self, scene: NDArray) -> dict[str, Array]:
        """Each part's matrix in a scene (H, W, 3) in [0, 1]."""
        scene = self._seen(scene)
        return {name: _best(scene, views) for name, views in self._parts.items()}


def _best(scene: NDArray[np.float32], views: Sequence[Turned]) -> Array:
    peaks = [_peak(scene, view) for view in views]
    best = int(np.argmax([value for value, _ in peaks]))
    return (shift(*peaks[best][1]) @ views[best].matrix)[:2]


def _peak(scene: NDArray[np.float32], view: Turned) -> tuple[float, tuple[int, int]]:
    """The greatest correlation and where; where the scene is black it is 0/0, which is no match."""
    import cv2

    if any(v > s for v, s in zip(view.mask.shape, scene.shape[:2], strict=True)):
        return -1.0, (0, 0)
    map_ = cv2.matchTemplate(scene, view.pixels, cv2.TM_CCORR_NORMED, mask=_weights(view))
    map_[~np.isfinite(map_)] = -1
    _, value, _, place = cv2.minMaxLoc(map_)
    return value, place


def _weights(view: Turned) -> NDArray[np.float32]:
    """The mask, once a channel: OpenCV wants as many as the picture has."""
    channels = view.pixels.shape[2:]
    return np.repeat(view.mask[..., None], channels[0], axis=-1) if channels else view.mask


def within(found: dict[str, Array], instance: Instance, template: Template) -> tuple[int, int]:
    """How many of the parts that can be seen lie within NEAR_PX of the truth, and how many there are."""
    seen = [name for name in found if name in instance.parts and name not in instance.covered]
    near = 0
    for name in seen:
        motif = template.parts[name].motif
        near += distance(found[name], instance.parts[name], (motif.width, motif.height)) <= NEAR_PX
    return near, len(seen)
