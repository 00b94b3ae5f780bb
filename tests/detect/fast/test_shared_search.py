"""Many templates at once: the same objects as one by one."""

import numpy as np
import pytest
from torch import Tensor

from detecting import made_up, noise, photo
from wherein import Detector, Template
from wherein.detect import library_search
from wherein.detect.fast.shared_search import _to_refine
from wherein.images.motif import Motif
from wherein.planes.plane_fit import PlaneFits
from wherein.template.pose import matrices, placed
from wherein.template.render import render

MANY = [Template.rigid(f"t{seed}", Motif.whole(noise(60, 70, seed))) for seed in range(6)]


def put(*places: tuple[int, float, float, tuple[float, float]]) -> Tensor:
    scene = photo("coffee", 360, 280)
    for number, angle, scale, at in places:
        of = MANY[number]
        scene = render(scene, of, matrices(of.parts, placed(angle, scale, at, of.centre), {}))
    return scene


@pytest.fixture(scope="module")
def many() -> Detector:
    known = {one.name: made_up(one, 180.0, (0.5, 2.0), threshold=0.5) for one in MANY}
    return Detector(MANY, tilt=0, calibration=known, threads=1)


def test_more_than_a_few_are_searched_for_together(many: Detector) -> None:
    assert len(MANY) > library_search.MAX_ALONE
    found = many(put((1, 40.0, 1.2, (100.0, 120.0)), (4, -150.0, 0.8, (260.0, 150.0))))
    assert sorted(item.template for item in found) == ["t1", "t4"]
    where = {item.template: item for item in found}
    assert where["t1"].center == pytest.approx((100.0, 120.0), abs=0.5)
    assert (where["t4"].angle, where["t4"].scale) == (
        pytest.approx(-150.0, abs=0.5),
        pytest.approx(0.8, rel=0.01),
    )


def test_several_objects_of_one_template_are_found(many: Detector) -> None:
    found = many(
        put((2, 0.0, 1.0, (60.0, 60.0)), (2, 90.0, 1.0, (180.0, 140.0)), (2, 200.0, 1.0, (300.0, 220.0)))
    )
    assert [item.template for item in found] == ["t2"] * 3


def test_nothing_is_found_where_none_is(many: Detector) -> None:
    assert len(many(photo("coffee", 360, 280))) == 0


def test_poses_are_those_of_a_search_for_each(many: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = put((1, 40.0, 1.2, (100.0, 120.0)), (4, -150.0, 0.8, (260.0, 150.0)))
    together = many(scene)
    monkeypatch.setattr(library_search, "MAX_ALONE", 100)
    alone = many(scene)
    assert [item.template for item in together] == [item.template for item in alone]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.matrix, other.matrix, atol=0.1)


def test_the_first_places_of_the_look_are_refined_whatever_their_rating() -> None:
    """Fine detail is rated low unless its pose is nearly exact; the look tolerates more."""
    rated = np.linspace(0.0, 0.5, 20)
    assert _to_refine(rated, 8).tolist() == [0, 1, *range(12, 20)]
    assert _to_refine(rated[:3], 8).tolist() == [0, 1, 2]
    assert _to_refine(rated[:0], 8).tolist() == []


def test_threads_change_nothing(many: Detector) -> None:
    scene = put((1, 40.0, 1.2, (100.0, 120.0)))
    two = Detector(MANY, tilt=0, calibration=many.calibrations, threads=2)
    np.testing.assert_array_equal(many(scene)[0].matrix, two(scene)[0].matrix)


def test_the_last_fit_of_a_body_need_not_be_as_good(many: Detector) -> None:
    """It is refined at full size after that, which helps what ended beside its optimum."""
    search = many.search
    assert isinstance(search, library_search.LibrarySearch)
    shared = search._shared
    goes_on = shared._goes_on(1)
    assert goes_on is not None
    poses = np.stack([placed(0.0, 1.0, (100.0, 100.0), MANY[1].centre)] * 3)
    fits = PlaneFits(poses, np.array((0.79, 0.81, 0.91)) * shared.searches[1].threshold, np.ones(3))
    assert goes_on(fits, False).tolist() == [False, False, True]
    assert goes_on(fits, True).tolist() == [False, True, True]
