"""The benchmark of the paper's network: how a scene is judged, without a search, which takes minutes."""

import numpy as np
import torch

from benchmarks.paper_network import Case, judge
from benchmarks.subjects import robot
from wherein.detect.fast.assemble import Assembler
from wherein.detect.result import MethodResult
from wherein.experiments.rotated_scenes import rotated_scene
from wherein.template.pose import frames


class Sure:
    """Finds the object where it is, and once more at rest."""

    def __init__(self, template, root):
        self.template = template
        leaves = dict.fromkeys(template.parts.leaves, (0.9, True))
        places = [frames(template.parts, where, {}) for where in (root, np.eye(3))]
        self.finds = MethodResult(tuple(Assembler(template)(place, leaves, 0.8) for place in places))

    def __call__(self, scene, count):
        return self.finds


def test_the_nearest_find_counts_and_the_others_are_extra():
    template = robot()
    truth = rotated_scene(template, torch.zeros(3, 384, 512), 15.0, {})
    row = judge(Case("none", truth.scene, truth), Sure(template, truth.root), "rest")
    assert (row.found, row.right, row.parts, row.extra) == (True, row.parts, len(template.parts.leaves), 1)
    assert judge(Case("none", truth.scene), Sure(template, truth.root), "empty").extra == 2
