"""One look for many motifs: the places of each are those that a look for it alone would find."""

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import noise, photo
from wherein.images.motif import Motif
from wherein.motion.homography import angles, mapped, scales
from wherein.native import kernel
from wherein.planes.look import responses, shared_look
from wherein.planes.look.shared_look import SharedLook
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import PlaneSearch
from wherein.pyramid.levels import ScenePyramid
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

MOTIFS = [
    Motif.whole(noise(height, width, seed)) for height, width, seed in ((64, 80, 3), (50, 50, 4), (90, 60, 5))
]
RANGES = PlaneRange(180.0, (0.5, 2.0), 40.0)


def searches(motifs: list[Motif] = MOTIFS, ranges: PlaneRange = RANGES) -> list[PlaneSearch]:
    return [PlaneSearch(motif, ranges) for motif in motifs]


def scene(number: int, angle: float, scale: float, at: tuple[float, float]) -> Tensor:
    template = Template.rigid("it", MOTIFS[number])
    root = placed(angle, scale, at, template.centre)
    return render(photo("coffee", 320, 240), template, matrices(template.parts, root, {}))


@pytest.mark.parametrize(
    ("number", "angle", "scale"), [(0, 37.0, 1.0), (1, -120.0, 0.6), (2, 170.0, 1.7), (0, 5.0, 0.75)]
)
def test_what_is_there_comes_first(number: int, angle: float, scale: float) -> None:
    found = SharedLook(searches())(ScenePyramid(scene(number, angle, scale, (160.0, 120.0))))
    middle = MOTIFS[number].centre
    best = found[number][:1]
    assert np.linalg.norm(mapped(best, middle)[0] - (160.0, 120.0)) < 8
    assert abs((angles(best, middle)[0] - angle + 180) % 360 - 180) <= 10
    assert scales(best, middle)[0] == pytest.approx(scale, rel=0.16)


def test_places_of_a_motif_do_not_depend_on_the_others() -> None:
    levels = ScenePyramid(scene(0, 20.0, 1.0, (150.0, 110.0)))
    together = SharedLook(searches())(levels)
    for motif, one in zip(MOTIFS, together, strict=True):
        (alone,) = SharedLook(searches([motif]))(levels)
        np.testing.assert_array_equal(alone, one)


def test_threads_and_scenes_of_another_size_change_nothing() -> None:
    pixels = scene(0, 20.0, 1.0, (150.0, 110.0))
    shared = SharedLook(searches())
    first = shared(ScenePyramid(pixels))
    shared(ScenePyramid(pixels[:, :200, :300].contiguous()))
    for one, other in zip(first, shared(ScenePyramid(pixels, threads=2)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not kernel.available(), reason="no native library")
def test_large_scenes_are_looked_at_level_by_level_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pixels, shared = scene(0, 20.0, 1.0, (150.0, 110.0)), SharedLook(searches())
    together, levels = shared(ScenePyramid(pixels)), ScenePyramid(pixels)
    monkeypatch.setattr(shared_look, "MAX_KEPT", 0)
    monkeypatch.setattr(responses, "MAX_KEPT", 0)
    for one, other in zip(together, shared(levels), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not any(key[0] == "responses" for key in levels.kept if isinstance(key, tuple))


@pytest.mark.skipif(not kernel.available(), reason="no native library")
def test_torch_finds_the_same_as_c(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = scene(1, 20.0, 1.0, (150.0, 110.0))
    in_c = SharedLook(searches())(ScenePyramid(pixels))
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    in_torch = SharedLook(searches())(ScenePyramid(pixels))
    for one, other in zip(in_c, in_torch, strict=True):
        np.testing.assert_allclose(one[0], other[0], atol=1e-6)


def test_a_small_motif_and_a_single_scale() -> None:
    small = Motif.whole(noise(20, 24, 8))
    (found,) = SharedLook(searches([small], PlaneRange(0.0, (1.0, 1.0), 0.0)))(
        ScenePyramid(photo("coffee", 200, 160))
    )
    assert len(found)
    assert np.allclose(scales(found, small.centre), 1.0)


def test_a_flat_scene_has_no_places() -> None:
    found = SharedLook(searches())(ScenePyramid(torch.full((3, 120, 160), 0.5)))
    assert all(len(one) == 0 for one in found)


def test_a_single_small_size_is_looked_for_at_that_size() -> None:
    """Where the motif has fewer pixels in the scene than in the look."""
    (single,), (narrow,) = (
        shared_look._looks(PlaneSearch(MOTIFS[1], PlaneRange(180.0, sizes, 0.0)), shared_look.BRIEF_LOOK)
        for sizes in ((0.2, 0.2), (0.2, 0.2001))
    )
    assert single[0].from_full[0, 0] == pytest.approx(narrow[0].from_full[0, 0], rel=1e-3)
