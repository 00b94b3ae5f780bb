"""From occurrence maps to detections."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from wherein.detect.methods import PaperSearch
from wherein.detect.paper.instances import PaperDetector
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.paper.nodes import Hyperparameters
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix


def angle(matrix: Matrix) -> float:
    return math.degrees(math.atan2(matrix[1, 0], matrix[0, 0]))


def assert_at(found: Matrix, true: Matrix, motif: Motif, px: float, degrees: float) -> None:
    middle = np.array(((motif.width - 1) / 2, (motif.height - 1) / 2, 1.0))
    assert np.linalg.norm((found - true) @ middle) < px
    assert abs(angle(found) - angle(true)) < degrees


def test_one_instance(
    template: Template, tiny: Hyperparameters, scene: Tensor, truth: dict[str, Matrix]
) -> None:
    (found,) = PaperDetector(PaperNetwork(template, tiny))(scene)
    assert 0.9 < found.score <= 1
    assert found.matrix.shape == (3, 3) and found.matrix.dtype == np.float64
    assert set(found.parts) == {"arm", "left", "right", "pair"}
    assert np.linalg.norm(((found.matrix - truth["toy"]) @ (23.5, 17.5, 1.0))[:2]) < 0.5
    for name in template.parts.leaves:
        part, motif = found.parts[name], template.parts[name].motif
        assert part.found and part.score > 0.9 and motif is not None
        assert_at(part.matrix, truth[name], motif, 0.2, 1.0)


def test_what_came_close_is_told_where_nothing_was_found(
    template: Template, tiny: Hyperparameters, scene: Tensor
) -> None:
    search = PaperSearch(PaperNetwork(template, tiny), Range(90.0), threshold=0.5)
    with torch.no_grad():
        (found,) = search(scene, None).items
        search.threshold = min(0.999, found.score + 0.05)
        closely = search(scene, None)
        assert closely.items == ()
        assert [one.score for one in closely.candidates] == [found.score]
        assert search(torch.zeros(3, 57, 75), None).candidates == ()


def test_two_instances_each_with_its_own_parts(
    template: Template, tiny: Hyperparameters, scene: Tensor
) -> None:
    wide = torch.cat((scene, scene.flip(0)[:, :, :20], scene), 2)
    found = PaperDetector(PaperNetwork(template, tiny))(wide)
    assert len(found) == 2
    one, other = sorted(found, key=lambda each: float(each.matrix[0, 2]))
    for name in template.parts.leaves:
        shift = other.parts[name].matrix - one.parts[name].matrix
        assert shift[0, 2] == pytest.approx(95, abs=0.3), name
        assert shift[1, 2] == pytest.approx(0, abs=0.3), name


def test_none(template: Template, tiny: Hyperparameters) -> None:
    detector = PaperDetector(PaperNetwork(template, tiny))
    assert detector(torch.zeros(3, 57, 75)) == []
    assert detector(torch.rand(3, 57, 75)) == []


def test_a_part_that_is_hidden(template: Template, tiny: Hyperparameters, truth: dict[str, Matrix]) -> None:
    """Where the root may lack a part, the part is said to be missing and lies as on the canvas."""
    from dataclasses import replace

    bare = render(torch.full((3, 57, 75), 0.5), template, truth, hidden=("arm",))
    assert PaperDetector(PaperNetwork(template, tiny))(bare) == []  # the paper's needs all
    patient = PaperNetwork(template, replace(tiny, spike_gamma=1.2))
    (found,) = PaperDetector(patient)(bare)
    assert not found.parts["arm"].found and found.parts["arm"].cost == math.inf
    np.testing.assert_allclose(found.parts["arm"].matrix, found.matrix @ template.parts["arm"].rest)
    assert found.parts["left"].found and found.parts["right"].found


def test_a_template_of_one_part(
    template: Template, tiny: Hyperparameters, scene: Tensor, truth: dict[str, Matrix]
) -> None:
    motif = template.parts["arm"].motif
    assert motif is not None
    (found,) = PaperDetector(PaperNetwork(Template.rigid("arm", motif), tiny))(scene)
    assert_at(found.matrix, truth["arm"], motif, 0.2, 1.0)
    assert found.parts["arm"].matrix is found.matrix


def test_turned_about_its_joint_a_part_is_followed(template: Template, tiny: Hyperparameters) -> None:
    root = placed(-8.0, 1.0, (37.0, 28.0), template.centre)
    places = matrices(template.parts, root, {"arm": 14.0, "left": 9.0})
    (found,) = PaperDetector(PaperNetwork(template, tiny))(
        render(torch.full((3, 57, 75), 0.45), template, places)
    )
    assert angle(found.parts["arm"].matrix) == pytest.approx(6.0, abs=1.0)
    assert angle(found.parts["left"].matrix) == pytest.approx(1.0, abs=1.0)
    assert angle(found.matrix) == pytest.approx(-8.0, abs=2.0)
