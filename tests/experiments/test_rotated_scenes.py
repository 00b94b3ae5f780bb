"""The scenes of Figure 3: which parts they turn, and the errors of poses."""

import numpy as np
import pytest

from detecting import texture
from wherein.experiments.rotated_scenes import (
    pose_error,
    random_turns,
    rotated_scene,
    without_fixed_leaves,
)
from wherein.experiments.subject import Subject
from wherein.images.motif import Motif
from wherein.template import Template


def test_the_papers_tree_has_no_part_that_is_fixed_to_the_root(toy: Template) -> None:
    assert without_fixed_leaves(toy).parts.leaves == ("left", "right", "low")
    assert without_fixed_leaves(toy).paint_order == ("left", "right", "low")
    rigid = Template.rigid("logo", Motif.whole(texture(20, 20, 1)))
    assert without_fixed_leaves(rigid).parts.leaves == ("logo",)


def test_limbs_bend_as_far_as_they_may(toy: Template) -> None:
    drawn = [random_turns(toy, np.random.default_rng(seed), 50.0) for seed in range(20)]
    assert all(set(turns) == {"left", "right", "low"} for turns in drawn)
    sizes = [abs(turn) for turns in drawn for turn in turns.values()]
    assert 15 < max(sizes) <= 20  # more than the joints allow was asked for


def test_errors_are_distances_and_turns(subject: Subject) -> None:
    shown = rotated_scene(subject.template, subject.photograph, 170.0, {"left": 5.0})
    other = rotated_scene(subject.template, subject.photograph, -170.0, {"left": 5.0})
    assert pose_error(shown.root, other.root, subject.template.centre) == pytest.approx((0, 20), abs=1e-9)
    assert pose_error(shown.parts["left"], shown.root, (0.0, 0.0))[1] == pytest.approx(5)
    moved = rotated_scene(subject.template, subject.photograph, 170.0, {}, at=(60.0, 70.0))
    x, y = (subject.photograph.shape[2] - 1) / 2 - 60, (subject.photograph.shape[1] - 1) / 2 - 70
    assert pose_error(shown.root, moved.root, subject.template.centre) == pytest.approx((np.hypot(x, y), 0))
