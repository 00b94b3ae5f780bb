"""Unrolled networks: the solver itself, with gradients to everything that sets it."""

import inspect

import pytest
import torch
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.formulations import Channels, CostSmoothed, MotionObjective, Plain, Spikes, WithBackground
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.motion import Affine, Euclidean, Translation
from wherein.motion.field import shift_matrix
from wherein.solve import (
    GaussNewtonLayers,
    ProximalLayers,
    Status,
    Step,
    Unrolled,
    UnrolledStage,
    proximal_gradient,
)

SIZES = torch.tensor([1e-4, 0.05, 0.05], dtype=torch.float64)
BASE = shift_matrix(torch.tensor([[10.6, 8.7], [11.2, 9.4]], dtype=torch.float64))


@pytest.fixture
def scene() -> Tensor:
    return blur(torch.rand(2, 31, 37, dtype=torch.float64), 2.0) * 5


@pytest.fixture
def motif(scene: Tensor) -> Motif:
    mask = torch.ones(13, 15, dtype=torch.float64)
    mask[:2, :3] = 0
    return Motif(scene[:, 9:22, 11:26].clone(), mask)


def test_it_is_the_solver(scene: Tensor, motif: Motif) -> None:
    stage = UnrolledStage(CostSmoothed(1.5), ProximalLayers(6, SIZES))
    network = Unrolled(motif, Euclidean(), [stage]).double()
    found = network(scene, BASE)
    objective = MotionObjective(CostSmoothed(1.5).bind(scene, motif), Euclidean(), BASE)
    expected = proximal_gradient(objective, objective.start(), [Step(SIZES)] * 6)
    torch.testing.assert_close(found.pose, expected.variables.pose)
    torch.testing.assert_close(found.cost, expected.cost)


@pytest.mark.parametrize(
    "stage",
    [
        lambda: UnrolledStage(CostSmoothed(1.5, 0.5), ProximalLayers(4, SIZES)),
        lambda: UnrolledStage(Plain(1.0), ProximalLayers(4, SIZES)),
        lambda: UnrolledStage(WithBackground(1.0), ProximalLayers(4, SIZES, hold=1)),
        lambda: UnrolledStage(Spikes(2.5, 1.0), ProximalLayers(4, SIZES)),
        lambda: UnrolledStage(CostSmoothed(1.5, lighting=True), GaussNewtonLayers(4)),
        lambda: UnrolledStage(Plain(1.0), GaussNewtonLayers(4)),
        lambda: UnrolledStage(Spikes(2.5, 1.0), GaussNewtonLayers(3)),
        lambda: UnrolledStage(Channels(), ProximalLayers(4, SIZES)),
        lambda: UnrolledStage(Channels(1.0, lighting=True), GaussNewtonLayers(3)),
    ],
    ids=[
        "cost-smoothed",
        "plain",
        "background",
        "spikes",
        "newton lighting",
        "newton plain",
        "newton spikes",
        "channels",
        "newton channels",
    ],
)
def test_gradients_reach_steps_smoothing_motif_and_scene(stage: object, scene: Tensor, motif: Motif) -> None:
    network = Unrolled(motif, Euclidean(), [stage()], learn_motif=True).double()  # type: ignore[operator]
    scene.requires_grad_()
    found = network(scene, BASE)
    (found.matrix[:, :2].pow(2).sum() + found.cost.sum()).backward()
    assert scene.grad is not None
    assert scene.grad.isfinite().all() and scene.grad.abs().max() > 0
    for name, parameter in network.named_parameters():
        if name.endswith("log_background"):
            continue  # checked below, where there is a background
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_gradients_are_right(scene: Tensor, motif: Motif) -> None:
    """Finite differences through the whole network, along a direction in each of its inputs."""
    stages = [
        UnrolledStage(WithBackground(1.1), ProximalLayers(3, SIZES, hold=1)),
        UnrolledStage(CostSmoothed(0.8), GaussNewtonLayers(2)),
    ]
    network = Unrolled(motif, Euclidean(), stages, learn_motif=True).double()
    names, values = zip(*network.named_parameters(), strict=True)
    mix = torch.randn(3, dtype=torch.float64)

    def run(inputs: list[Tensor]) -> Tensor:
        parameters = dict(zip(names, inputs[1:], strict=True))
        return (torch.func.functional_call(network, parameters, (inputs[0], BASE[:1])).pose @ mix).sum()

    inputs = [v.detach().clone().requires_grad_() for v in (scene, *values)]
    gradients = torch.autograd.grad(run(inputs), inputs)
    for index, (name, gradient) in enumerate(zip(("scene", *names), gradients, strict=True)):
        along, step = torch.randn_like(gradient), 1e-6
        ends = [[*inputs[:index], inputs[index] + s * along, *inputs[index + 1 :]] for s in (step, -step)]
        measured = (run(ends[0]) - run(ends[1])) / (2 * step)
        torch.testing.assert_close((gradient * along).sum(), measured, rtol=1e-4, atol=1e-7, msg=name)


def test_filters_can_be_learned_and_stay_symmetric(scene: Tensor, motif: Motif) -> None:
    stage = UnrolledStage(CostSmoothed(1.2), ProximalLayers(3, SIZES), filters=True)
    network = Unrolled(motif, Euclidean(), [stage]).double()
    plain = Unrolled(
        motif, Euclidean(), [UnrolledStage(CostSmoothed(1.2), ProximalLayers(3, SIZES))]
    ).double()
    torch.testing.assert_close(network(scene, BASE).pose, plain(scene, BASE).pose, rtol=1e-6, atol=1e-6)
    network(scene, BASE).cost.sum().backward()
    assert stage.half_taps is not None and stage.half_taps.grad is not None
    assert (stage.half_taps.grad != 0).all()
    taps = stage.settings(scene).taps  # type: ignore[union-attr]
    assert taps is not None and torch.equal(taps, taps.flip(0))
    with pytest.raises(ArgumentError, match="filter of Spikes depends on the pose"):
        UnrolledStage(Spikes(), GaussNewtonLayers(1), filters=True)
    with pytest.raises(ArgumentError, match="smoothing of Channels is a Gaussian"):
        UnrolledStage(Channels(), GaussNewtonLayers(1), filters=True)


def test_learning_steps_helps(scene: Tensor, motif: Motif) -> None:
    """A few steps of Adam on the step sizes lower the error after three layers."""
    network = Unrolled(
        motif, Translation(), [UnrolledStage(CostSmoothed(1.0), ProximalLayers(3, SIZES[1:]))]
    ).double()
    truth = torch.tensor([11.0, 9.0], dtype=torch.float64)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
    errors = []
    for _ in range(15):
        optimiser.zero_grad()
        error = (network(scene, BASE).matrix[:, :2, 2] - truth).pow(2).sum()
        error.backward()
        optimiser.step()
        errors.append(error.item())
    assert errors[-1] < 0.5 * errors[0]


def test_many_scenes_with_a_start_each(scene: Tensor, motif: Motif) -> None:
    other = scene.roll((1, -2), (-2, -1))
    network = Unrolled(motif, Affine(), [UnrolledStage(Plain(1.0), GaussNewtonLayers(5))]).double()
    together = network(torch.stack((scene, other)), BASE)
    for index, one in enumerate((scene, other)):
        torch.testing.assert_close(network(one, BASE[index : index + 1]).matrix[0], together.matrix[index])
    assert network(torch.stack((scene, other))).matrix.shape == (2, 3, 3)  # without a start: the identity


def test_state_dict_and_wrong_arguments(motif: Motif) -> None:
    network = Unrolled(motif, Euclidean(), [UnrolledStage(CostSmoothed(2.0), ProximalLayers(2, SIZES))])
    other = Unrolled(motif, Euclidean(), [UnrolledStage(CostSmoothed(1.0), ProximalLayers(2, 2 * SIZES))])
    other.load_state_dict(network.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), other.parameters(), strict=True))
    with pytest.raises(ArgumentError, match="hold is 2 and depth is 2"):
        ProximalLayers(2, SIZES, hold=2)
    with pytest.raises(ArgumentError, match="step sizes must be positive"):
        ProximalLayers(2, SIZES * 0)
    with pytest.raises(ArgumentError, match="at least one stage"):
        Unrolled(motif, Euclidean(), [])


@pytest.mark.parametrize(
    "layers", [lambda: ProximalLayers(3, SIZES), lambda: GaussNewtonLayers(3)], ids=["proximal", "newton"]
)
def test_an_item_without_a_number_leaves_the_others_gradients_alone(
    layers: object, scene: Tensor, motif: Motif
) -> None:
    def gradients(base: Tensor) -> list[Tensor]:
        network = Unrolled(motif, Euclidean(), [UnrolledStage(CostSmoothed(1.2), layers())]).double()  # type: ignore[operator]
        found = network(scene, base)
        assert len(base) == 1 or found.status[1] is Status.DIVERGED
        found.cost[0].backward()
        return [p.grad for p in network.parameters() if p.grad is not None]

    lost = BASE.clone()
    lost[1, 0, 0] = torch.nan
    for together, alone in zip(gradients(lost), gradients(BASE[:1]), strict=True):
        torch.testing.assert_close(together, alone)


def test_what_is_given_is_checked(scene: Tensor, motif: Motif) -> None:
    stage = UnrolledStage(Plain(sigma=1.0), GaussNewtonLayers(2))
    network = Unrolled(motif, Translation(), [stage])
    start = torch.eye(3, dtype=scene.dtype)[None]
    assert torch.equal(network(scene, start[:, :2]).matrix, network(scene, start).matrix)
    plain = {name: inspect.unwrap(getattr(Unrolled, name)) for name in ("__init__", "forward")}
    with pytest.raises(ArgumentError, match=r"motif must be a Motif, but is a Tensor: use Motif\.whole"):
        plain["__init__"](network, motif.pixels, Translation(), [stage])
    with pytest.raises(ArgumentError, match="scene must be a tensor, but is a ndarray"):
        plain["forward"](network, scene.numpy(), start)
    with pytest.raises(ArgumentError, match=r"base must have shape .* but has \(3, 3\)"):
        plain["forward"](network, scene, start[0])
