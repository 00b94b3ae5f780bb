"""The C functions that compare pixels, against their references in torch: same costs, steps and fits."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import wherein
from wherein.errors import ArgumentError
from wherein.formulations import CorrelationObjective, Variables
from wherein.formulations.motif_side import motif_side
from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Affine, motion_named
from wherein.native import kernel
from wherein.pyramid import descent
from wherein.pyramid.descent import Stage
from wherein.pyramid.motif_levels import Level
from wherein.solve import Damping, Status, gauss_newton
from wherein.warp import Surface

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


_SHIFT = torch.tensor([[1.0, 0, 31.3], [0, 1, 21.6], [0, 0, 1]])


def _noise(channels, height, width, seed):
    """Smooth noise in [0, 1]."""
    rng = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, channels, height // 4 + 3, width // 4 + 3, generator=rng)
    fine = F.interpolate(coarse, size=(height, width), mode="bicubic", align_corners=True)[0]
    return (fine + 0.05 * torch.rand(channels, height, width, generator=rng)).clamp(0, 1)


def _motif(scene, matrix=_SHIFT, height=31, width=37):
    """What the scene shows at a pose, in an ellipse with a soft edge."""
    y, x = torch.meshgrid(torch.arange(float(height)), torch.arange(float(width)), indexing="ij")
    at = torch.stack((x, y, torch.ones_like(x)), -1) @ matrix.mT
    pixels = Surface(scene)(at[..., :2] / at[..., 2:]).movedim(-1, 0)
    away = ((x / (width - 1) * 2 - 1) ** 2 + (y / (height - 1) * 2 - 1) ** 2).sqrt()
    return Motif(0.7 * pixels.clamp(0, 1) + 0.1, ((1.05 - away) * 8).clamp(0, 1))


def _objective(motion, channels=3, limit=None, dtype=torch.float32, scene=None, robust=False):
    scene = _noise(channels, 83, 101, 1) if scene is None else scene
    if robust:
        scene = scene.clone()
        scene[:, 21:36, 31:57] = _noise(channels, 15, 26, 8)
    motif = _motif(_noise(channels, 83, 101, 1))
    motif = Motif(motif.pixels.to(dtype), motif.mask.to(dtype))
    return CorrelationObjective(Surface(scene.to(dtype)), motif, motion_named(motion), limit, robust)


def _align(objective, *rest):
    """`align` at the level that has this objective."""
    level = Level(objective.surface.scene, objective.side, objective.motion, robust=objective.robust)
    return descent.align(level, *rest)


def _starts():
    """Near; turned; partly outside, to four sides; outside; not a number; in perspective; far outside."""
    poses = _SHIFT.repeat(10, 1, 1)
    poses[0, :2, 2] += torch.tensor((1.2, -0.8))
    c, s = math.cos(0.12), math.sin(0.12)
    poses[1, :2, :2] = torch.tensor(((c, -s), (s, c)))
    poses[2, 0, 2] = -9.3
    poses[3, 1, 2] = -7.9
    poses[4, :2, 2] = torch.tensor((78.7, 60.2))
    poses[5, 0, 2] = -24.4
    poses[6, 0, 2] = 400.0
    poses[7, 0, 2] = math.nan
    poses[8, 2, :2] = torch.tensor((1e-3, -5e-4))
    poses[9, 0, 2] = 1e30
    return poses


def _corners(objective, at):
    """Where the motif's corners lie, (B, 4, 2)."""
    corners = torch.tensor(((0.0, 0, 1), (36, 0, 1), (0, 30, 1), (36, 30, 1)), dtype=torch.float64)
    moved = corners @ objective.matrix(at).double().mT
    return moved[..., :2] / moved[..., 2:]


ROBUST = pytest.mark.parametrize("robust", [False, True], ids=["all alike", "robust"])


@compiled
@ROBUST
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("motion", MOTIONS)
def test_one_evaluation_and_one_step_are_those_of_the_reference(motion, channels, robust):
    ours = _objective(motion, channels, robust=robust)
    exact = _objective(motion, channels, dtype=torch.float64, robust=robust)
    at = ours.at(_starts())
    looked = _align(ours, at, 0)
    expected = exact.linearise(Variables(at.pose.double())).cost
    seen = torch.isfinite(expected)
    assert seen.tolist() == [True] * 6 + [False, False, True, False]
    assert torch.equal(torch.isfinite(looked.cost), seen)
    torch.testing.assert_close(looked.cost[seen].double(), expected[seen], atol=3e-6, rtol=1e-5)
    assert torch.equal(looked.variables.pose.nan_to_num(), at.pose.nan_to_num())
    ended = [Status.OUTSIDE, Status.DIVERGED, Status.STEP_LIMIT, Status.OUTSIDE]
    assert list(looked.status) == [Status.STEP_LIMIT] * 6 + ended
    assert _align(exact, Variables(at.pose.double()), 0).status == looked.status

    stepped = _align(ours, at, 1, Damping(1e-2), 0.0)
    reference = gauss_newton(exact, Variables(at.pose.double()), 1, Damping(1e-2), 0.0)
    assert torch.equal(stepped.steps, reference.steps)
    assert torch.equal(stepped.evaluations, reference.evaluations)
    assert stepped.steps.sum() > 3
    moved = _corners(ours, stepped.variables) - _corners(exact, reference.variables)
    assert moved[seen].abs().max() < 5e-4
    assert stepped.status == reference.status


@compiled
@ROBUST
@pytest.mark.parametrize("limit", [None, 150])
@pytest.mark.parametrize("motion", MOTIONS)
def test_fits_end_where_the_reference_ends(motion, limit, robust):
    ours = _objective(motion, limit=limit, robust=robust)
    exact = _objective(motion, limit=limit, dtype=torch.float64, robust=robust)
    at = ours.at(_starts()[:4])
    found = _align(ours, at, 30, Damping(1e-3), 1e-3)
    reference = gauss_newton(exact, Variables(at.pose.double()), 30, Damping(1e-3), 1e-3)
    arrived = reference.cost < 0.02
    assert arrived[0]
    assert (_corners(ours, found.variables) - _corners(exact, reference.variables))[
        arrived
    ].abs().max() < 2e-3
    torch.testing.assert_close(found.cost[arrived].double(), reference.cost[arrived], atol=1e-5, rtol=1e-3)
    for index in arrived.nonzero().flatten().tolist():
        assert found.status[index] == reference.status[index] == Status.CONVERGED


@compiled
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("limit", [None, 200])
def test_the_motifs_side_is_that_of_the_reference(motion, limit):
    motif = _motif(_noise(3, 83, 101, 1))
    exact = motif_side(Motif(motif.pixels.double(), motif.mask.double()), motion_named(motion), limit)
    ours = motif_side(motif, motion_named(motion), limit)
    for name in ("centre", "radius", "unit", "points", "known"):
        ours_part, part = getattr(ours, name), getattr(exact, name)
        torch.testing.assert_close(ours_part.double(), part, atol=2e-5, rtol=1e-5)


@compiled
def test_a_thin_motif_that_fills_no_reduced_pixel_still_has_a_side(monkeypatch):
    mask = torch.zeros(40, 40)
    mask[::5] = mask[:, ::5] = 1
    motif = Motif(_noise(3, 40, 40, 5), mask).pooled(4)
    assert float(motif.mask.max()) < 0.5
    ours = motif_side(motif, Affine())
    _turn_off(monkeypatch)
    reference = motif_side(motif, Affine())
    torch.testing.assert_close(ours.points, reference.points)
    torch.testing.assert_close(ours.known, reference.known, atol=1e-4, rtol=1e-4)


@compiled
@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_a_scene_without_texture_has_no_cost_in_either(level, monkeypatch):
    scene = torch.full((3, 83, 101), level)
    objective = _objective("affine", scene=scene)
    at = objective.at(_starts()[:2])
    found = _align(objective, at, 4)
    assert found.cost.isinf().all()
    assert found.status == gauss_newton(objective, at, 4).status == (Status.FLAT,) * 2
    assert objective.linearise(at).cost.isinf().all()
    picture = np.full((83, 101, 3), level)
    motif = _motif(_noise(3, 83, 101, 1))
    statuses = [str(wherein.register(picture, motif.pixels, "euclidean").status)]
    _turn_off(monkeypatch)
    statuses.append(str(wherein.register(picture, motif.pixels, "euclidean").status))
    assert statuses == ["no texture", "no texture"]


@compiled
@ROBUST
def test_a_batch_has_the_bits_of_its_items_on_any_number_of_threads(robust):
    objective = _objective("affine", robust=robust)
    at = objective.at(_starts())
    whole = _align(objective, at, 5)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if threads > 1 else 2)
        again = _align(_objective("affine", robust=robust), at, 5)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(whole.variables.pose.nan_to_num(), again.variables.pose.nan_to_num())
    for index in range(len(at.pose)):
        one = _align(objective, Variables(at.pose[index : index + 1]), 5)
        assert torch.equal(one.variables.pose[0].nan_to_num(), whole.variables.pose[index].nan_to_num())
        assert torch.equal(one.cost[0], whole.cost[index])
        assert (one.steps[0], one.evaluations[0]) == (whole.steps[index], whole.evaluations[index])


@ROBUST
@pytest.mark.parametrize("motion", MOTIONS)
def test_the_reference_too_gives_a_batch_what_it_gives_its_items(motion, robust):
    """Also where a descent has little to go by, and rounding would decide where it ends."""
    objective = _objective(motion, robust=robust)
    at = objective.at(_starts())
    whole = gauss_newton(objective, at, 20, Damping(1e-3))
    for index in range(len(at.pose)):
        one = gauss_newton(objective, Variables(at.pose[index : index + 1]), 20, Damping(1e-3))
        pose, expected = one.variables.pose[0].nan_to_num(), whole.variables.pose[index].nan_to_num()
        torch.testing.assert_close(pose, expected, rtol=1e-6, atol=1e-6)
        assert (one.steps[0], one.status[0]) == (whole.steps[index], whole.status[index])


@compiled
def test_a_view_of_a_scene_is_as_good_as_a_copy_and_nothing_is_written_to():
    large = _noise(3, 120, 140, 3)
    large[:, 20:103, 20:121] = _noise(3, 83, 101, 1)
    before, part = large.clone(), large[:, 20:103, 20:121]
    view, copy = _objective("affine", scene=part), _objective("affine", scene=part.clone())
    turned = _objective("affine", scene=part.mT.contiguous().mT)
    at = view.at(_starts()[:4])
    kept = at.pose.clone()
    fits = [_align(objective, at, 5) for objective in (view, copy, turned)]
    assert torch.equal(fits[0].variables.pose, fits[1].variables.pose)
    assert torch.equal(fits[0].variables.pose, fits[2].variables.pose)
    assert torch.equal(large, before)
    assert torch.equal(at.pose, kept)


@compiled
def test_what_c_does_not_know_goes_the_plain_way(monkeypatch):
    class Mine(Affine):
        pass

    monkeypatch.setattr(kernel, "call", lambda *_: pytest.fail("C was called"))
    surface, motif = Surface(_noise(3, 83, 101, 1).double()), _motif(_noise(3, 83, 101, 1))
    double = Motif(motif.pixels.double(), motif.mask.double())
    _align(CorrelationObjective(surface, double, Affine()), Variables(_SHIFT[None].double()), 1)
    single = Surface(_noise(3, 83, 101, 1))
    _align(CorrelationObjective(single, motif, Mine()), Variables(_SHIFT[None]), 1)
    learned = Motif(motif.pixels.clone().requires_grad_(), motif.mask)
    found = _align(CorrelationObjective(single, learned, Affine()), Variables(_SHIFT[None]), 1)
    assert found.cost.requires_grad


@compiled
@pytest.mark.parametrize("motion", MOTIONS)
def test_register_finds_the_same_with_and_without(motion, monkeypatch):
    scene = _noise(3, 131, 173, 4)
    matrix = torch.tensor([[1.0, 0, 60.4], [0, 1, 41.7], [0, 0, 1]])
    motif = _motif(scene, matrix, 53, 57)
    start = [[1, 0, 58.0], [0, 1, 43.0]]
    fast = wherein.register(scene, motif.pixels, motion, motif.mask, start)
    _turn_off(monkeypatch)
    plain = wherein.register(scene, motif.pixels, motion, motif.mask, start)
    assert str(fast.status) == str(plain.status) == "converged"
    np.testing.assert_allclose(fast.matrix[:2, 2], plain.matrix[:2, 2], atol=5e-3)
    np.testing.assert_allclose(fast.matrix[:2, 2], matrix[:2, 2], atol=0.02)
    assert fast.zncc > 0.999


def _turn_off(monkeypatch):
    monkeypatch.setattr(kernel, "_loaded", lambda: (None, "turned off by a test"))


def test_scene_and_motif_must_agree_before_c_reads_them() -> None:
    with pytest.raises(ArgumentError, match="the same number of channels, but have 3 and 1"):
        CorrelationObjective(Surface(torch.rand(3, 40, 40)), Motif.whole(torch.rand(1, 12, 12)), Affine())
    for limit in (0, -3):
        with pytest.raises(ArgumentError, match=f"a number of pixels or None, but is {limit}"):
            motif_side(Motif.whole(torch.rand(3, 12, 12)), Affine(), limit)
    side = motif_side(Motif.whole(torch.rand(3, 12, 12)), motion_named("translation"))
    with pytest.raises(ArgumentError, match="linearised for 2 parameters, but motion affine has 6"):
        CorrelationObjective(Surface(torch.rand(3, 40, 40)), side, Affine())
    with pytest.raises(ArgumentError, match="linearised for 2 parameters, but motion affine has 6"):
        descent.align(Level(torch.rand(3, 40, 40), side, Affine()), Variables(_SHIFT[None]), 1)
    with pytest.raises(ArgumentError, match="the same number of channels, but have 1 and 3"):
        descent.align(
            Level(torch.rand(1, 40, 40), side, motion_named("translation")), Variables(_SHIFT[None]), 1
        )


@compiled
def test_poses_with_scenes_of_their_own_have_the_bits_of_each_alone():
    scenes = [_noise(3, 83 + k, 101 - 2 * k, 1) for k in range(4)]
    whole = _objective("affine")
    levels = [Level(scene, whole.side, whole.motion, 1, 1, (0.25 * k, 0.0)) for k, scene in enumerate(scenes)]
    poses = _starts()[:4].double().numpy()
    stage = Stage(1, 5)
    together, costs = descent.solve_each(levels, stage, poses)
    for level, pose, moved, cost in zip(levels, poses, together, costs, strict=True):
        (alone,), ended = descent.solve_stage(level, stage, pose[None])
        np.testing.assert_array_equal(alone, moved)
        assert float(ended.cost[0]) == cost
    start = Variables(_starts()[:4])
    with pytest.raises(ArgumentError, match="2 scenes for 4 poses"):
        descent._align_in_c(levels[:2], start, 5, Damping(1e-2), 1e-2)


def test_in_torch_poses_with_scenes_of_their_own_are_those_of_each_alone(monkeypatch):
    monkeypatch.setattr(kernel, "available", lambda: False)
    scenes, whole = [_noise(3, 83, 101, 1), _noise(3, 90, 95, 1)], _objective("affine")
    levels = [Level(scene, whole.side, whole.motion) for scene in scenes]
    poses, stage = _starts()[:2].double().numpy(), Stage(1, 3)
    together, costs = descent.solve_each(levels, stage, poses)
    for level, pose, moved, cost in zip(levels, poses, together, costs, strict=True):
        (alone,), ended = descent.solve_stage(level, stage, pose[None])
        np.testing.assert_array_equal(alone, moved)
        assert float(ended.cost[0]) == cost
