"""Each pixel is evidence for one object only."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from detecting import noise, walker
from wherein.detect.fast.exclusion import exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.score import combined_score, information
from wherein.detect.search_range import Range
from wherein.images.motif import Motif
from wherein.motion.homography import mapped
from wherein.pyramid.levels import ScenePyramid
from wherein.template.bundle import Template
from wherein.template.paint import paint
from wherein.template.pose import frames, placed

WALKER = walker()
NAMES = ("walker", "arm", "leg", "wrist")
FIRST = placed(10.0, 1.0, (110.0, 90.0), WALKER.centre)
SECOND = placed(200.0, 1.0, (300.0, 170.0), WALKER.centre)


def hypotheses(*roots: np.ndarray, fits: tuple[float, ...] = ()) -> tuple[Finder, Hypotheses]:
    """Hypotheses with all pieces at rest about their roots, every piece with the ZNCC of its hypothesis."""
    finder = Finder(WALKER, Range(), dict.fromkeys(NAMES, 1.0))
    every = [frames(WALKER.parts, root, {}) for root in roots]
    zncc = np.array(fits or (0.9,) * len(roots))
    placed_ = Placement({h: np.stack([f[h] for f in every]) for h in NAMES}, {h: zncc.copy() for h in NAMES})
    evidence = {name: information(zncc) for name in NAMES}
    visible = {
        name: model.footprint.visible(placed_.frames[name] @ model.to_canvas, (420, 260))
        for name, model in finder.models.items()
    }
    scores = combined_score(evidence, visible, finder.weights)
    return finder, Hypotheses(placed_, evidence, visible, scores)


def test_two_objects_that_do_not_overlap_are_kept() -> None:
    kept = exclusive(*hypotheses(FIRST, SECOND), 0.5, None)
    assert kept.scores.tolist() == pytest.approx([0.9, 0.9])
    assert {round(frame[0, 2]) for frame in kept.placement.frames["walker"]} == {
        round(FIRST[0, 2]),
        round(SECOND[0, 2]),
    }


def test_a_duplicate_has_no_evidence_left() -> None:
    nudged = placed(12.0, 1.0, (112.0, 91.0), WALKER.centre)
    kept = exclusive(*hypotheses(FIRST, nudged, SECOND, fits=(0.9, 0.85, 0.8)), 0.5, None)
    assert kept.scores.tolist() == pytest.approx([0.9, 0.8])
    np.testing.assert_array_equal(kept.placement.frames["walker"][0], FIRST)


def test_one_object_per_place_whatever_evidence_is_left() -> None:
    """An occluder has pulled the pieces of one object apart: half of them support one pose, the others
    another close by."""
    finder, two = hypotheses(FIRST, placed(14.0, 1.0, (114.0, 93.0), WALKER.centre))
    for half, gone in enumerate((("walker", "wrist"), ("arm", "leg"))):
        for name in gone:
            two.evidence[name][half] = 0.0
    two = replace(two, scores=combined_score(two.evidence, two.visible, finder.weights))
    assert two.scores.min() > 0.5
    assert len(exclusive(finder, two, 0.3, None).scores) == 1


def test_scores_leave_out_claimed_pixels_and_are_sorted() -> None:
    """A hypothesis that shares its trunk keeps its limbs, and has the score of those alone."""
    sharing = placed(190.0, 1.0, (86.0, 78.0), WALKER.centre)
    finder, three = hypotheses(FIRST, sharing, SECOND, fits=(0.95, 0.94, 0.7))
    kept = exclusive(finder, three, 0.3, None, overlap=0.3)
    assert (np.diff(kept.scores) <= 0).all()
    claimed = [[h for h in NAMES if kept.evidence[h][k] == 0] for k in range(len(kept.scores))]
    assert any(claimed), "a case in which nothing is shared tests nothing"
    for k, total in enumerate(kept.scores):
        evidence = np.array([kept.evidence[h][k] for h in NAMES])
        visible = np.array([kept.visible[h][k] for h in NAMES])
        assert total == pytest.approx(np.sqrt(1 - np.exp(-(visible * evidence).mean())), abs=1e-9)


def test_threshold_and_count() -> None:
    assert len(exclusive(*hypotheses(FIRST, SECOND, fits=(0.9, 0.4)), 0.5, None).scores) == 1
    assert len(exclusive(*hypotheses(FIRST, SECOND), 0.5, 1).scores) == 1
    assert len(exclusive(*hypotheses(FIRST, SECOND), 0.95, None).scores) == 0


def test_the_given_hypotheses_are_not_changed() -> None:
    finder, before = hypotheses(FIRST, FIRST)
    exclusive(finder, before, 0.5, None)
    assert all((before.evidence[h] == information(np.array(0.9))).all() for h in NAMES)


def one_by_one(
    finder: Finder, all_of: Hypotheses, threshold: float
) -> tuple[list[int], dict[str, np.ndarray]]:
    """Which hypotheses are kept, and the evidence left to all: by the definition, each piece against each."""
    footprints = {name: model.footprint for name, model in finder.models.items()}
    rest = {piece.name: piece.fitted_leaf.rest for piece in finder.pieces.pieces}
    left, kept = {name: values.copy() for name, values in all_of.evidence.items()}, []
    while True:
        scores = combined_score(left, all_of.visible, finder.weights)
        scores[kept] = -1
        first = int(scores.argmax())
        if scores[first] < threshold:
            return kept, left
        kept.append(first)
        for name, other, k in product(NAMES, NAMES, range(len(scores))):
            if left[name][first] > 0 and k not in kept:
                points = mapped(all_of.placement.frames[other][k] @ rest[other], footprints[other].points)
                covered = footprints[name].covers(all_of.placement.frames[name][first] @ rest[name], points)
                left[other][k] = 0.0 if covered.mean() > 0.5 else left[other][k]


def test_many_hypotheses_are_excluded_as_by_the_definition() -> None:
    rng = np.random.default_rng(4)
    roots = [
        placed(rng.uniform(-180, 180), rng.uniform(0.6, 1.4), tuple(rng.uniform(40, 380, 2)), WALKER.centre)
        for _ in range(40)
    ]
    finder, before = hypotheses(*roots, fits=tuple(rng.uniform(0.3, 0.95, 40)))
    wanted, left = one_by_one(finder, before, 0.4)
    kept = exclusive(finder, before, 0.4, None)
    assert 3 < len(wanted) < 30
    for name in NAMES:
        np.testing.assert_array_equal(kept.placement.frames[name], before.placement.frames[name][wanted])
        np.testing.assert_array_equal(kept.evidence[name], left[name][wanted])
    assert any((left[name][wanted] == 0).any() for name in NAMES)


@pytest.mark.parametrize(("overlap", "count"), [(0.2, 1), (0.8, 2)])
def test_how_much_two_objects_may_share_is_the_users_choice(overlap: float, count: int) -> None:
    """The second lies half on the first: each of its pieces shares more than a fifth of its pixels."""
    beside = placed(10.0, 1.0, (110.0 + 38.0, 90.0 + 7.0), WALKER.centre)
    kept = exclusive(*hypotheses(FIRST, beside), 0.8, None, overlap=overlap)
    assert len(kept.scores) == count


@pytest.mark.parametrize("second", [False, True], ids=["one object", "two objects"])
def test_what_fits_by_the_edges_of_another_alone_is_none(second: bool) -> None:
    """A pose that shares a third of its area with an object, and all of its evidence; or has its own."""
    patch = Template.rigid("patch", Motif.whole(noise(60, 60, 4)))
    at, beside = placed(0.0, 1.0, (60.0, 60.0), patch.centre), placed(0.0, 1.0, (98.0, 60.0), patch.centre)
    picture = torch.full((3, 120, 180), 0.5)
    if second:
        picture = paint(picture, patch.parts["patch"].motif, torch.from_numpy(beside))
    picture = paint(picture, patch.parts["patch"].motif, torch.from_numpy(at))
    finder = Finder(patch, Range(), {"patch": 1.0})
    zncc = np.array((0.9, 0.8))
    both = Placement({"patch": np.stack((at, beside))}, {"patch": zncc})
    known = Hypotheses(both, {"patch": information(zncc)}, {"patch": np.ones(2)}, zncc)
    assert len(exclusive(finder, known, 0.5, None).scores) == 2
    assert len(exclusive(finder, known, 0.5, None, scene=ScenePyramid(picture)).scores) == 1 + second
