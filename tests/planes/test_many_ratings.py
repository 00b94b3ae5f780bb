"""Poses of many motifs together: the same numbers as motif by motif."""

import numpy as np
import pytest

from detecting import noise, photo
from wherein.images.motif import Motif
from wherein.motion.models import motion_named
from wherein.native import kernel, plane_calls
from wherein.planes import many_ratings, scene_parts
from wherein.planes.many_ratings import rate_many, refine_many
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rating import rate_poses, refine_poses
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.pose import placed

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")

STAGE = PlaneStage(rounds=1, steps=3)
SIMILARITY = motion_named("similarity")


def motifs() -> list[PlaneMotif]:
    return [
        PlaneMotif.of(Motif.whole(noise(40 + 9 * k, 70, k)), 12.0 + k, any_polarity=k == 1).thinned(60)
        for k in range(4)
    ]


def poses(counts: tuple[int, ...] = (5, 0, 9, 40)) -> list[Poses]:
    rng = np.random.default_rng(3)

    def pose() -> np.ndarray:
        at = float(rng.uniform(0, 300)), float(rng.uniform(0, 220))
        return placed(rng.uniform(-180, 180), rng.uniform(0.4, 2.5), at, (35.0, 20.0))

    return [np.array([pose() for _ in range(count)]).reshape(-1, 3, 3) for count in counts]


def scene(threads: int = 1) -> ScenePyramid:
    return ScenePyramid(photo("coffee", 300, 220), threads=threads)


def assert_same(found: list[PlaneFits], expected: list[PlaneFits]) -> None:
    for one, other in zip(found, expected, strict=True):
        for name in ("poses", "zncc", "visible"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("threads", [1, 2])
def test_they_are_those_of_each_motif_alone(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_ratings, "_SHARE", 8)  # so that there are several shares
    some, own = motifs(), poses()
    each = [rate_poses(scene(), motif, at) for motif, at in zip(some, own, strict=True)]
    for one, other in zip(rate_many(scene(threads), some, own), each, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (
        max(values.max(initial=-1.0) for values in each) > 0 > min(values.min(initial=0.0) for values in each)
    )
    alone = [refine_poses(scene(), motif, SIMILARITY, STAGE, at) for motif, at in zip(some, own, strict=True)]
    assert_same(refine_many(scene(threads), some, SIMILARITY, STAGE, own), alone)


def test_they_are_in_a_scene_that_is_divided_too(monkeypatch: pytest.MonkeyPatch) -> None:
    some, own = motifs(), poses()
    whole = rate_many(scene(), some, own)
    monkeypatch.setattr(scene_parts, "_MAX_KEPT", 100)
    monkeypatch.setattr(scene_parts, "_SQUARE", 64)
    for one, other in zip(rate_many(scene(), some, own), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=0.02)


def test_no_poses_are_no_work() -> None:
    nothing = poses((0, 0, 0, 0))
    assert [len(one) for one in rate_many(scene(), motifs(), nothing)] == [0] * 4
    assert [len(one) for one in refine_many(scene(), motifs(), SIMILARITY, STAGE, nothing)] == [0] * 4


@compiled
def test_numbers_of_motifs_and_pictures_are_checked() -> None:
    motif = motifs()[0]
    picture = motif.channels.movedim(0, -1).contiguous()
    first, second = (np.array([k], dtype=np.int32) for k in (0, 1))
    for at, of in ((first, second), (second, first)):
        kinds = plane_calls.PoseKinds([picture], [motif.in_c], at, of)
        with pytest.raises(ValueError, match="but there are 1"):
            kinds.in_c(1)
