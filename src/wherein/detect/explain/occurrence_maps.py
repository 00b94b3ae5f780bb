"""Occurrence maps: how well the template's leading piece fits at every place of a scene, at first sight.

The first look of the detector (`wherein.pyramid.screen`) correlates the body, or the leading limbs where
there is no body, with a reduced scene at rotations and scales a basin apart. What it sees is told here as a map,

    O(x, y) = max over rotations and scales of the ZNCC with the piece's centre at (x, y),

in the pixels of the scene. It is where descents begin, not what is found in the end: a place can be bright
and lead to nothing, which is what the other pieces are for.
"""

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.octaves import Octave, Octaves
from wherein.detect.fast.piece_search import PieceSearch
from wherein.pyramid.levels import ScenePyramid
from wherein.pyramid.screen import screen

Map = NDArray[np.float32]
"""(H, W) of the scene; values from −1 to 1."""


def occurrence(octaves: Octaves, scene: Float[Tensor, "C H W"], threads: int = 1) -> dict[str, Map]:
    """The map of the body, or of each leading limb where there is no body, by the name of the leaf that is
    compared; the best of all octaves of scale."""
    maps: dict[str, Map] = {}
    for octave in octaves.octaves:
        levels = octave.levels(scene)
        for search in _seekers(octave):
            name = search.model.piece.fitted_leaf.name
            seen = _map(search, levels, octave.scene, (scene.shape[-2], scene.shape[-1]), threads)
            maps[name] = np.maximum(maps[name], seen) if name in maps else seen
    return maps


def _seekers(octave: Octave) -> tuple[PieceSearch, ...]:
    body = octave.finder.body_search
    return (body,) if body is not None else tuple(octave.finder.limb_searches.values())


def _map(search: PieceSearch, scene: ScenePyramid, reduced: int, size: tuple[int, int], threads: int) -> Map:
    """The best over all kernels, brought to the size of the scene: a reduced pixel covers factor² of it."""
    first = search.model.coarsest
    small = scene.surface(first).scene
    if not small.numel():  # a scene of fewer pixels than one of the reduced scene covers
        return np.full(size, -1.0, np.float32)
    maps = screen(small, search.kernels, threads)
    inner = slice(maps.margin, -maps.margin or None)
    best = maps.best.amax(0)[inner, inner]
    factor = first * reduced
    large = F.interpolate(best[None, None], scale_factor=float(factor), mode="bilinear")[0, 0]
    height, width = (min(extent, cut) for extent, cut in zip(size, large.shape, strict=True))
    whole: Map = np.pad(  # what is left at the right and below, where the size is no multiple of the factor
        large[:height, :width].clamp(-1, 1).float().numpy(),
        ((0, size[0] - height), (0, size[1] - width)),
        mode="edge",
    )
    return whole
