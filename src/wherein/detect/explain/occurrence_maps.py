"""Occurrence maps: how well the body fits at every place of a scene in the first look.

The first look (`planes.look.features`) rates the body, or the leading limbs if there is no body, at every
place, rotation, size and tilt. The map shows

    O(x, y) = max over rotations, sizes and tilts of the rating with the piece's centre at (x, y),

in pixels of the scene, divided by its maximum. It shows where fits may start, not what is found: a fit from a
bright place can end without a detection.
"""

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray

from wherein.detect.fast.finder import Finder
from wherein.planes.look.features import ratings
from wherein.planes.plane_search import PlaneSearch
from wherein.pyramid.levels import ScenePyramid

Map = NDArray[np.float32]
"""(H, W) as the scene, with values from 0 to 1."""


def occurrence(finder: Finder, scene: ScenePyramid) -> dict[str, Map]:
    """The map of the body, or of each leading limb if there is no body, by the name of the fitted leaf."""
    root, body = finder.pieces.tree.root, finder.body_search
    searches = {root: body} if body is not None else finder.limb_search.searches
    return {
        finder.models[name].piece.fitted_leaf.name: _map(search, scene) for name, search in searches.items()
    }


def _map(search: PlaneSearch, scene: ScenePyramid) -> Map:
    """The map of one piece, at the size of the scene."""
    width, height = scene.size
    best = np.zeros((height, width), np.float32)
    for templates, level in search.first_look.looks:
        small = ratings(scene, templates, level)
        # Each size is looked for in a scene of another size: enlarged, their maps can be compared.
        large = F.interpolate(small[None, None], size=(height, width), mode="bilinear")[0, 0]
        best = np.maximum(best, large.numpy())
    # Not divided by 0 where nothing fits at all, as in an empty scene.
    return np.asarray(best / max(float(best.max()), 1e-9), dtype=np.float32)
