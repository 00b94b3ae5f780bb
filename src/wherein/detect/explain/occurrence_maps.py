"""Occurrence maps: how well the body fits at every place of a scene in the first look.

The first look (`planes.look.features`) rates the body, or the leading limbs where there is no body, at every
place, rotation, size and tilt. Its result is shown as a map,

    O(x, y) = max over rotations, sizes and tilts of the rating with the piece's centre at (x, y),

in pixels of the scene, relative to the highest. This is where fits start, not what is found in the end: a
place can be bright and lead to nothing.
"""

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray

from wherein.detect.fast.finder import Finder
from wherein.planes.look.features import ratings
from wherein.planes.plane_search import PlaneSearch
from wherein.pyramid.levels import ScenePyramid

Map = NDArray[np.float32]
"""(H, W) of the scene; values from 0 to 1."""


def occurrence(finder: Finder, scene: ScenePyramid) -> dict[str, Map]:
    """The map of the body, or of each leading limb where there is no body, by the name of the fitted leaf."""
    root, body = finder.pieces.tree.root, finder.body_search
    searches = {root: body} if body is not None else finder.limb_search.searches
    return {
        finder.models[name].piece.fitted_leaf.name: _map(search, scene) for name, search in searches.items()
    }


def _map(search: PlaneSearch, scene: ScenePyramid) -> Map:
    """The map of one search, at the size of the scene."""
    width, height = scene.size
    best = np.zeros((height, width), np.float32)
    for templates, level in search.first_look.looks:
        small = ratings(scene, templates, level)
        large = F.interpolate(small[None, None], size=(height, width), mode="bilinear")[0, 0]
        best = np.maximum(best, large.numpy())
    return np.asarray(best / max(float(best.max()), 1e-9), dtype=np.float32)
