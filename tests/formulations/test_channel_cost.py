"""`Channels`: its definition, derivatives, what lies outside the motif, and known poses under other light.

`test_gradients`, `test_solvers` and `test_unroll` have it among all formulations.
"""

from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.formulations import Channels, FieldObjective, MotionObjective, Plain, Robust
from wherein.images.gaussian import blur
from wherein.images.masked_channels import MaskedChannels
from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Affine, Euclidean, Homography, Motion, Translation
from wherein.motion.field import centre_of, lattice, shift_matrix, transform
from wherein.solve import (
    GaussNewtonLayers,
    ProximalLayers,
    Status,
    Step,
    Unrolled,
    UnrolledStage,
    gauss_newton,
    proximal_gradient,
)
from wherein.solve.unroll import Settings
from wherein.warp import warp

CORNER = torch.tensor([[28.0, 25.0]], dtype=torch.float64)
BASE = shift_matrix(CORNER)
SIZE = (37, 41)
POSES = {
    "translation": (1.8, -1.4),
    "euclidean": (0.1, 1.8, -1.4),
    "similarity": (0.1, 0.08, 1.8, -1.4),
    "affine": (0.08, -0.09, 0.07, 0.06, 1.8, -1.4),
    "homography": (0.08, -0.09, 0.07, 0.06, 1.8, -1.4, 6e-4, -8e-4),
}
MOVING = pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)


CLEAN = {"floor": 0.004, "noise": 0.002}
"""For scenes without noise and with little contrast: with what photographs need, channels of weak edges are
weaker than those of strong ones, and the cost does not vanish at the right pose."""


def photograph(seed: int = 2, height: int = 90, width: int = 100) -> Tensor:
    """Discs that cover each other, with some texture: edges and areas as in photographs."""
    generator = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(torch.arange(height).double(), torch.arange(width).double(), indexing="ij")
    scene = torch.full((3, height, width), 0.5, dtype=torch.float64)
    for _ in range(150):
        right, down, size = torch.rand(3, generator=generator, dtype=torch.float64)
        inside = (x - right * width) ** 2 + (y - down * height) ** 2 < (3 + 12 * size**3) ** 2
        scene = torch.where(inside, torch.rand(3, 1, 1, generator=generator, dtype=torch.float64), scene)
    texture = torch.rand(3, height, width, generator=generator, dtype=torch.float64) - 0.5
    return blur(scene, 0.7) + 0.2 * blur(texture, 1.0)


def in_other_light(scene: Tensor) -> Tensor:
    """Less than half as bright on the left as on the right, and a glare in the middle."""
    height, width = scene.shape[-2:]
    y, x = torch.meshgrid(
        torch.linspace(-1, 1, height).double(), torch.linspace(-1, 1, width).double(), indexing="ij"
    )
    glare = 0.6 * torch.exp(-((x - 0.1) ** 2 + (y + 0.1) ** 2) / 0.02)
    return scene * (0.55 + 0.35 * x - 0.1 * y) + 0.05 + glare


class Known(NamedTuple):
    """A motif cut out of a scene at a known pose."""

    scene: Tensor
    motif: Motif
    truth: Tensor


def known(motion: Motion, size: float = 1.0) -> Known:
    scene = photograph()
    centre = centre_of(*SIZE, scene)
    pose = motion.matrix(size * torch.tensor(POSES[motion.name], dtype=torch.float64))
    truth = BASE[0] @ shift_matrix(centre) @ pose @ shift_matrix(-centre)
    return Known(scene, Motif.whole(warp(scene, transform(truth, lattice(*SIZE, scene)))), truth)


def error(found: Tensor, truth: Tensor) -> float:
    """The largest distance of a corner from where it belongs, in pixels."""
    corners = torch.tensor(
        [[0.0, 0], [SIZE[1] - 1, 0], [0, SIZE[0] - 1], [SIZE[1] - 1, SIZE[0] - 1]]
    ).double()
    return float((transform(found, corners) - transform(truth, corners)).norm(dim=-1).max())


def error_of_newton(settings: Settings, scene: Tensor, motif: Motif, motion: Motion, truth: Tensor) -> float:
    objective = MotionObjective(settings.bind(scene, motif), motion, BASE)
    found = gauss_newton(objective, objective.start(), 60, tolerance=1e-5)
    return error(objective.matrix(found.variables)[0], truth)


def masked(motif: Motif) -> Motif:
    """The motif with a corner cut off, a hole, and a soft row."""
    mask = torch.ones_like(motif.mask)
    mask[:12, :9], mask[20:25, 20:26], mask[-3] = 0, 0, 0.5
    return Motif(motif.pixels, mask)


def small() -> tuple[Tensor, Motif]:
    """A scene and a motif for derivatives."""
    mask = torch.ones(9, 8, dtype=torch.float64)
    mask[0, :3], mask[-1, 5] = 0, 0.5
    return torch.rand(2, 21, 23, dtype=torch.float64), Motif(torch.rand(2, 9, 8, dtype=torch.float64), mask)


def test_it_is_its_definition() -> None:
    """½ Σ w |F(y∘τ) − F(x)|² with the scene warped first."""
    scene, motif, _ = known(Affine())
    motif, settings = masked(motif), Channels(1.1, window=7)
    objective = MotionObjective(settings.bind(scene, motif), Affine(), BASE)
    features = MaskedChannels(motif.mask, settings)
    warped = warp(scene, lattice(*SIZE, scene) + CORNER[0])
    residual = features(warped).values - features(motif.pixels).values
    expected = 0.5 * (features.weight * residual**2).sum()
    torch.testing.assert_close(objective.evaluate(objective.start()).cost[0], expected)


@pytest.mark.parametrize("settings", [Channels(), Channels(lighting=True)], ids=["plain", "lighting"])
def test_the_right_pose_is_the_minimum(settings: Channels) -> None:
    scene, motif, truth = known(Affine())
    objective = MotionObjective(settings.bind(scene, motif), Affine(), truth[None])
    best = objective.linearise(objective.start())
    assert best.cost < 1e-20
    assert best.gradient.abs().max() < 1e-8
    assert best.hessian is not None
    assert torch.linalg.eigvalsh(best.hessian).min() > 0
    for index in range(6):
        for step in (0.01, -0.01):
            moved = torch.zeros(1, 6, dtype=torch.float64)
            moved[:, index] = step
            assert objective.evaluate(objective.start(moved)).cost > best.cost


@pytest.mark.parametrize("settings", [Channels(1.0, window=5), Channels(robust=Robust(scale=0.3))], ids=repr)
def test_gauss_newton_matrix_is_that_of_autograds_jacobian(settings: Channels) -> None:
    scene, motif = small()
    formulation = settings.bind(scene, motif)
    base = shift_matrix(torch.tensor([[7.3, 6.4]], dtype=torch.float64))
    objective = MotionObjective(formulation, Homography(), base)
    pose = 0.02 * torch.randn(8, dtype=torch.float64)
    pose[6:] *= 0.1

    def residual(pose: Tensor) -> Tensor:
        field = transform(objective.matrix(objective.start(pose[None]))[0], lattice(9, 8, scene))
        return (formulation.features(warp(scene, field)).values - formulation.target(None)).flatten(1)

    found = objective.linearise(objective.start(pose[None]))
    jacobian = torch.autograd.functional.jacobian(residual, pose)
    misfit, weight = residual(pose), formulation.weight.flatten()
    if settings.robust is not None:
        _, weight = settings.robust(misfit.square().sum(0), weight)
    assert found.hessian is not None
    torch.testing.assert_close(found.hessian[0], torch.einsum("knp,n,knq->pq", jacobian, weight, jacobian))
    torch.testing.assert_close(found.gradient[0], torch.einsum("knp,n,kn->p", jacobian, weight, misfit))


def test_gradient_in_a_free_field() -> None:
    scene, motif = small()
    base = shift_matrix(torch.tensor([[7.3, 6.4]], dtype=torch.float64))
    objective = FieldObjective(Channels().bind(scene, motif), strength=0.0, base=base)
    start = objective.start()
    pose = (0.2 * torch.randn_like(start.pose)).requires_grad_()
    found = objective.evaluate(replace(start, pose=pose))
    (expected,) = torch.autograd.grad(found.cost.sum(), pose)
    torch.testing.assert_close(found.gradient, expected, rtol=1e-9, atol=1e-10)


def test_a_free_field_follows_a_bend() -> None:
    """With other gain and bias. At the motif's border nothing is compared, so only the inside counts."""
    scene = photograph()
    grid = lattice(*SIZE, scene)
    bend = torch.stack((1.2 * torch.sin(grid[..., 1] / 9), torch.cos(grid[..., 0] / 9)), -1)
    motif = Motif.whole(warp(scene, grid + CORNER[0] + bend))
    formulation = Channels(**CLEAN).bind(0.4 * scene + 0.3, motif)
    objective = FieldObjective(formulation, strength=0.1, base=BASE)
    found = proximal_gradient(objective, objective.start(), [Step(2.0)] * 200, history=True)
    inner = (slice(4, -4), slice(4, -4))
    missed = (found.variables.pose[0] - bend)[inner].norm(dim=-1).mean()
    assert found.history[-1] < 0.1 * found.history[0]
    assert missed < 0.3 * bend[inner].norm(dim=-1).mean()


def test_all_derivatives_are_right() -> None:
    """Cost, gradient and Gauss–Newton matrix, in scene, motif, pose and width of the smoothing."""
    scene, motif = small()
    base = shift_matrix(torch.tensor([[7.3, 6.4]], dtype=torch.float64))

    def run(scene: Tensor, pixels: Tensor, pose: Tensor, sigma: Tensor) -> tuple[Tensor, ...]:
        formulation = Channels(sigma).bind(scene, Motif(pixels, motif.mask))
        objective = MotionObjective(formulation, Euclidean(), base)
        found = objective.linearise(objective.start(pose))
        assert found.hessian is not None
        return found.cost, found.gradient, found.hessian

    pose = torch.tensor([[0.03, 0.12, -0.2]], dtype=torch.float64)
    inputs = (scene, motif.pixels, pose, torch.tensor(1.2, dtype=torch.float64))
    assert torch.autograd.gradcheck(run, [i.clone().requires_grad_() for i in inputs], fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "layers",
    [lambda: ProximalLayers(3, torch.tensor([1e-5, 1e-3, 1e-3])), lambda: GaussNewtonLayers(3)],
    ids=["proximal", "newton"],
)
def test_unrolled_gradients_are_moderate_in_a_saturated_scene(layers: object, dtype: torch.dtype) -> None:
    """From a whole-pixel start, where the gradient of a saturated area is exactly 0."""
    scene, motif, _ = known(Euclidean())
    scene = scene.clamp(0.3, 0.6).to(dtype).requires_grad_()
    motif = Motif(motif.pixels.to(dtype), motif.mask.to(dtype))
    network = Unrolled(motif, Euclidean(), [UnrolledStage(Channels(), layers())], learn_motif=True)  # type: ignore[operator]
    network(scene, BASE.to(dtype)).matrix[:, :2].square().sum().backward()
    assert isinstance(network.pixels.grad, Tensor)
    for gradient in (scene.grad, network.pixels.grad):
        assert gradient is not None
        assert gradient.isfinite().all()
        assert 0 < gradient.abs().max() < 1e5


def test_nothing_outside_the_motif_matters() -> None:
    scene, motif, _ = known(Translation())
    motif = masked(motif)
    field = lattice(*SIZE, scene) + CORNER[0]
    inside = field[motif.mask > 0].long()
    other = torch.rand_like(scene)
    other[:, inside[:, 1], inside[:, 0]] = scene[:, inside[:, 1], inside[:, 0]]
    pixels = torch.where(motif.mask > 0, motif.pixels, torch.rand_like(motif.pixels))
    costs = [
        MotionObjective(Channels().bind(y, Motif(x, motif.mask)), Translation(), BASE)
        for y, x in ((scene, motif.pixels), (other, pixels))
    ]
    first, second = (objective.evaluate(objective.start()).cost for objective in costs)
    assert torch.equal(first, second)
    assert first > 0


@MOVING
def test_newton_finds_the_pose(motion: Motion) -> None:
    scene, motif, truth = known(motion)
    assert error_of_newton(Channels(robust=Robust()), scene, masked(motif), motion, truth) < 0.02


@MOVING
def test_newton_finds_the_pose_under_other_light(motion: Motion) -> None:
    """Less than half a pixel at the corners in spite of a glare, nearer than pixels with gain and bias."""
    scene, motif, truth = known(motion)
    scene = in_other_light(scene)
    found = error_of_newton(Channels(robust=Robust()), scene, motif, motion, truth)
    colours = error_of_newton(Plain(1.3, lighting=True), scene, motif, motion, truth)
    assert found < 0.5
    assert found < 0.5 * colours


@pytest.mark.parametrize("motion", [Translation(), Euclidean(), Affine()], ids=lambda m: m.name)
def test_proximal_gradient_finds_the_pose_under_other_light(motion: Motion) -> None:
    scene, motif, truth = known(motion, 0.6)
    scene = 0.4 * scene + 0.3
    objective = MotionObjective(Channels(2.0, **CLEAN).bind(scene, motif), motion, BASE)
    start = objective.start()
    curvature = objective.linearise(start).hessian
    assert curvature is not None
    steps = [Step(0.5 / curvature[0].diagonal())] * {"translation": 60, "euclidean": 60, "affine": 200}[
        motion.name
    ]
    found = proximal_gradient(objective, start, steps, history=True)
    assert found.history[-1] < 0.05 * found.history[0]
    assert error(objective.matrix(found.variables)[0], truth) < 0.1


def test_similarity_is_highest_at_the_right_pose_and_ignores_light() -> None:
    scene, motif, truth = known(Affine())
    frame = truth[None] @ shift_matrix(centre_of(*SIZE, scene))[None]
    aside = frame @ shift_matrix(torch.tensor([[3.0, 2.0]], dtype=torch.float64))
    bright, dark = (Channels().bind(s, motif) for s in (scene, 0.4 * scene + 0.2))
    torch.testing.assert_close(bright.similarity(frame), torch.ones(1, dtype=torch.float64))
    assert dark.similarity(frame) > 0.99
    assert bright.similarity(aside) < 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_batch_is_its_items(dtype: torch.dtype) -> None:
    scene, motif, _ = known(Affine())
    motif = Motif(motif.pixels.to(dtype), motif.mask.to(dtype))
    scenes = torch.stack((scene, in_other_light(scene))).to(dtype)
    bases = shift_matrix(torch.tensor([[28.0, 25.0], [29.3, 24.6]], dtype=dtype))
    both = MotionObjective(Channels(lighting=True).bind(scenes, motif), Affine(), bases)
    together = both.linearise(both.start())
    solved = gauss_newton(both, both.start(), 4, tolerance=0.0)
    for index in range(2):
        formulation = Channels(lighting=True).bind(scenes[index], motif)
        one = MotionObjective(formulation, Affine(), bases[index : index + 1])
        alone = one.linearise(one.start())
        assert together.hessian is not None and alone.hessian is not None
        torch.testing.assert_close(together.cost[index], alone.cost[0])
        for of_both, of_one in ((together.gradient, alone.gradient), (together.hessian, alone.hessian)):
            rounding = 1e3 * torch.finfo(dtype).eps * of_one.abs().max().item()
            torch.testing.assert_close(of_both[index], of_one[0], rtol=0, atol=rounding)
        single = gauss_newton(one, one.start(), 4, tolerance=0.0).variables.pose
        torch.testing.assert_close(solved.variables.pose[index], single[0], rtol=1e-3, atol=1e-4)


def test_inputs_are_not_touched() -> None:
    scene, motif, _ = known(Euclidean())
    motif = masked(motif)
    before = [tensor.clone() for tensor in (scene, motif.pixels, motif.mask)]
    objective = MotionObjective(Channels(lighting=True).bind(scene, motif), Euclidean(), BASE)
    gauss_newton(objective, objective.start(), 3)
    objective.evaluate(objective.start())
    assert all(torch.equal(a, b) for a, b in zip(before, (scene, motif.pixels, motif.mask), strict=True))


def test_float32_agrees_with_float64() -> None:
    """In float32 without gradients, filters run in C."""
    scene, motif, truth = known(Affine())
    settings = Channels()
    exact = error_of_newton(settings, scene, motif, Affine(), truth)
    objective = MotionObjective(
        settings.bind(scene.float(), Motif(motif.pixels.float(), motif.mask.float())), Affine(), BASE.float()
    )
    found = gauss_newton(objective, objective.start(), 60, tolerance=1e-5)
    assert abs(error(objective.matrix(found.variables)[0].double(), truth) - exact) < 0.02


@pytest.mark.parametrize(
    "settings", [Channels(), Channels(lighting=True), Channels(robust=Robust())], ids=repr
)
def test_a_flat_scene_has_no_texture_and_finite_gradients(settings: Channels) -> None:
    _, motif, _ = known(Euclidean())
    scene = torch.full((3, 90, 100), 0.4, dtype=torch.float64, requires_grad=True)
    objective = MotionObjective(settings.bind(scene, motif), Euclidean(), BASE)
    assert gauss_newton(objective, objective.start(), 3).status == (Status.FLAT,)
    found = proximal_gradient(objective, objective.start(), [Step(1e-4)] * 3)
    assert found.status == (Status.FLAT,)
    (gradient,) = torch.autograd.grad(found.cost.sum(), scene)
    assert gradient.isfinite().all()


def test_a_motif_that_is_too_thin_says_so() -> None:
    with pytest.raises(ArgumentError, match="too thin for channels: at least one pixel must have all of its"):
        Channels().bind(torch.rand(3, 20, 20), Motif.whole(torch.rand(3, 2, 9)))
