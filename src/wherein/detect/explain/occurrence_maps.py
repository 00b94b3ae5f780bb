"""Occurrence maps: how well the body fits at every place of a scene in the first search.

The first search (`wherein.pyramid.first_search`) correlates the body, or the leading limbs where there is no
body, with the reduced scene at rotations and scales a basin apart. Its result is shown as a map,

    O(x, y) = max over rotations and scales of the ZNCC with the piece's centre at (x, y),

in pixels of the scene. This is where descents start, not what is found in the end: a place can be bright and
lead to nothing, because the other pieces do not fit there.
"""

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.piece_search import PieceSearch
from wherein.detect.fast.scene_search import Octave, Octaves
from wherein.pyramid.first_search import screen
from wherein.pyramid.levels import ScenePyramid

Map = NDArray[np.float32]
"""(H, W) of the scene; values from −1 to 1."""


def occurrence(octaves: Octaves, scene: Float[Tensor, "C H W"], threads: int = 1) -> dict[str, Map]:
    """The map of the body, or of each leading limb where there is no body, by the name of the fitted leaf.

    Over several octaves of scale, the map is their maximum.

    Arguments:
        octaves: the search.
        scene: the scene to search.
        threads: number of threads.
    """
    maps: dict[str, Map] = {}
    for octave in octaves.octaves:
        levels = octave.levels(scene)
        for search in _searches(octave):
            name = search.model.piece.fitted_leaf.name
            own = _map(search, levels, octave.scene_factor, (scene.shape[-2], scene.shape[-1]), threads)
            maps[name] = np.maximum(maps[name], own) if name in maps else own
    return maps


def _searches(octave: Octave) -> tuple[PieceSearch, ...]:
    """The searches over all places: for the body, or for the leading limbs."""
    body = octave.finder.body_search
    return (body,) if body is not None else tuple(octave.finder.limb_searches.values())


def _map(search: PieceSearch, scene: ScenePyramid, reduced: int, size: tuple[int, int], threads: int) -> Map:
    """The map of one search, at the size of the original scene.

    Arguments:
        search: of one piece.
        scene: as the octave searches it.
        reduced: the factor by which the octave reduces scenes.
        size: height and width of the original scene.
        threads: number of threads.
    """
    scale = search.model.screen_scale
    small = scene.reduced(scale)
    if not small.numel():  # the scene is smaller than one pixel of the reduced scene
        return np.full(size, -1.0, np.float32)
    maps = screen(small, search.kernels, threads)
    inner = slice(maps.margin, -maps.margin or None)
    best = maps.best.amax(0)[inner, inner]
    factor = scale * reduced
    large = F.interpolate(best[None, None], scale_factor=float(factor), mode="bilinear")[0, 0]
    height, width = (min(extent, cut) for extent, cut in zip(size, large.shape, strict=True))
    full: Map = np.pad(  # a strip remains at the right and below if the size is no multiple of the factor
        large[:height, :width].clamp(-1, 1).float().numpy(),
        ((0, size[0] - height), (0, size[1] - width)),
        mode="edge",
    )
    return full
