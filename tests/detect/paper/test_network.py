"""The paper's network: it finds the toy, it is one differentiable module, and pieces change nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from wherein.detect.paper.network import PaperNetwork
from wherein.detect.paper.nodes import Hyperparameters, Occurrences, curvature_steps
from wherein.detect.paper.occurrence import Aggregate
from wherein.errors import ArgumentError, TemplateError
from wherein.formulations import CostSmoothed
from wherein.images.motif import Motif
from wherein.template import Part, Template, Tree
from wherein.template.tree import Matrix


def best(found: Occurrences) -> Tensor:
    return found.matrix[found.cost.argmin()]


@torch.no_grad()
def test_every_node_is_found_where_it_is(
    template: Template, tiny: Hyperparameters, scene: Tensor, truth: dict[str, Matrix]
) -> None:
    seen = PaperNetwork(template, tiny)(scene)
    assert set(seen.nodes) == set(template.parts) and seen.root == "toy"
    assert seen.map.shape == scene.shape[1:]
    for name, found in seen.nodes.items():
        expected = torch.from_numpy(truth[name]).float()
        torch.testing.assert_close(best(found)[:2, :2], expected[:2, :2], atol=0.02, rtol=0, msg=name)
        torch.testing.assert_close(best(found)[:2, 2], expected[:2, 2], atol=0.5, rtol=0, msg=name)
        assert found.weight[found.cost.argmin()] > 0.9, name
    # The root's spike stands on its pivot, one pixel of many.
    row, column = divmod(int(seen.map.argmax()), scene.shape[2])
    pivot = truth["toy"] @ (*template.parts["toy"].pivot, 1.0)
    assert abs(column - pivot[0]) < 1 and abs(row - pivot[1]) < 1


@torch.no_grad()
def test_nothing_is_found_where_nothing_is(template: Template, tiny: Hyperparameters, scene: Tensor) -> None:
    network = PaperNetwork(template, tiny)
    full = network(scene).map.max()
    for empty in (torch.zeros(3, 57, 75), torch.rand(3, 57, 75), scene.flip(0).flip(2)):
        assert network(empty).map.max() < 0.01 * full


def gradients(network: PaperNetwork, scene: Tensor) -> dict[str, Tensor | None]:
    """Of a mixture of the pixels of ω_0."""
    mix = torch.rand(scene.shape[1:], generator=torch.Generator().manual_seed(5)).to(scene)
    (network(scene).map * mix).sum().backward()
    return {name: parameter.grad for name, parameter in network.named_parameters()}


@pytest.mark.parametrize("filters", [False, True], ids=["smoothing", "filters"])
@pytest.mark.parametrize("aggregate", list(Aggregate))
def test_the_roots_map_has_gradients_in_everything(
    template: Template, tiny: Hyperparameters, scene: Tensor, filters: bool, aggregate: Aggregate
) -> None:
    # Costs are above γ = 0 and weights away from 0 and 1, so that α and γ matter too.
    chosen = replace(
        tiny, steps=4, fine_steps=4, spike_steps=4, gamma=0.0, alpha=50.0, spike_gamma=0.0,
        spike_alpha=1.0, filters=filters, aggregate=aggregate,
    )  # fmt: skip
    network = PaperNetwork(template, chosen).double()
    scene = scene.double().requires_grad_()
    found = gradients(network, scene)
    assert len(found) > 30
    for kind in ("log_alpha", "gamma", "log_pose", "log_sigma0", "pixels", "log_scene_sigma"):
        assert any(name.endswith(kind) for name in found), kind
    assert any("half_taps" in name or "log_sigma" in name for name in found)
    for name, gradient in {**found, "scene": scene.grad}.items():
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        assert gradient.abs().max() > 0, name


def test_the_gradients_are_right(template: Template, tiny: Hyperparameters, scene: Tensor) -> None:
    """Finite differences of ω_0 through the whole network, along a direction in the parameters.

    Relief interpolates Dy, so that a step follows a gradient that is not quite its cost's; of the steps as
    they are, autograd still gives the exact derivative.
    """
    chosen = replace(
        tiny, stride=12, steps=2, fine_steps=2, spike_steps=2, gamma=0.0, alpha=50.0, spike_gamma=0.0,
        spike_alpha=1.0, keep=1.0, aggregate=Aggregate.SUM,
    )  # fmt: skip
    network = PaperNetwork(template, chosen).double()
    scene = scene.double()
    found = gradients(network, scene)
    mix = torch.rand(scene.shape[1:], generator=torch.Generator().manual_seed(5)).to(scene)
    values = {name: p.detach().clone() for name, p in network.named_parameters()}
    for kind in ("log_alpha", "gamma", "log_pose", "log_sigma0", "pixels", "log_sigma", "log_scene_sigma"):
        along = {n: torch.randn_like(v) * (n.endswith(kind)) for n, v in values.items()}

        def at(step: float, along: dict[str, Tensor] = along) -> Tensor:
            moved = {name: value + step * along[name] for name, value in values.items()}
            with torch.no_grad():
                return (torch.func.functional_call(network, moved, (scene,)).map * mix).sum()

        analytic = sum((g * along[name]).sum() for name, g in found.items() if g is not None)
        measured = (at(1e-6) - at(-1e-6)) / 2e-6
        torch.testing.assert_close(measured, analytic, rtol=1e-3, atol=1e-9, msg=kind)


@pytest.mark.parametrize(("kind", "close"), [(torch.float32, 1e-4), (torch.float64, 1e-10)])
@torch.no_grad()
def test_pieces_do_not_change_the_result(
    template: Template, tiny: Hyperparameters, scene: Tensor, kind: torch.dtype, close: float
) -> None:
    chosen = replace(tiny, stride=10)
    whole, pieces = (
        PaperNetwork(template, chosen, memory).to(kind)(scene.to(kind)) for memory in (1e9, 1.5e6)
    )
    for name, one in whole.nodes.items():
        other, sure = pieces.nodes[name], one.weight > 0.1
        assert torch.equal(other.weight > 0.1, sure), name
        torch.testing.assert_close(other.matrix[sure], one.matrix[sure], atol=30 * close, rtol=0, msg=name)
        torch.testing.assert_close(other.map, one.map, atol=close, rtol=0, msg=name)


def test_a_state_can_be_kept(template: Template, tiny: Hyperparameters, scene: Tensor) -> None:
    one, other = PaperNetwork(template, tiny), PaperNetwork(template, tiny)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.mul_(1 + 0.01 * torch.rand_like(parameter))
        other.load_state_dict(one.state_dict())
        assert torch.equal(one(scene).map, other(scene).map)
        assert not torch.equal(one(scene).map, PaperNetwork(template, tiny)(scene).map)


@torch.no_grad()
def test_motifs_taken_from_the_canvas_are_those_of_the_joints(
    template: Template, tiny: Hyperparameters, scene: Tensor
) -> None:
    measured, known = PaperNetwork(template, tiny), PaperNetwork(template, tiny)
    measured.extract()
    for name, one, other in zip(measured.order, measured.nodes, known.nodes, strict=True):
        if template.parts[name].motif is None:
            # The same spikes, wherever the box was cut: their mass and their places agree.
            for mine, theirs in zip(one.network.pixels, other.network.pixels, strict=True):
                assert mine.sum().item() == pytest.approx(theirs.sum().item(), rel=0.05)
                places = [centroid(mine, one.at), centroid(theirs, other.at)]
                torch.testing.assert_close(*places, atol=0.2, rtol=0)
    torch.testing.assert_close(
        best(measured(scene).nodes["toy"]), best(known(scene).nodes["toy"]), atol=0.3, rtol=0
    )


def centroid(spike: Tensor, at: tuple[float, float]) -> Tensor:
    y, x = torch.meshgrid(*(torch.arange(n).float() for n in spike.shape), indexing="ij")
    return torch.stack(((spike * x).sum(), (spike * y).sum())) / spike.sum() + torch.tensor(at)


def test_a_part_that_the_canvas_does_not_show(template: Template, tiny: Hyperparameters) -> None:
    dark = Template(
        template.name, replace(template.canvas, samples=torch.zeros(3, 36, 48)), template.parts, ()
    )
    with pytest.raises(TemplateError, match=r'children .* of the group "pair" were not found'):
        PaperNetwork(dark, tiny).extract()


def test_a_group_of_one_is_refused(template: Template) -> None:
    parts = {n: p for n, p in template.parts.items() if n not in ("left", "arm")}
    with pytest.raises(ArgumentError, match='"pair" has one part'):
        PaperNetwork(Template("toy", template.canvas, Tree(parts), ("right",)))


def test_steps_follow_size_and_contrast(template: Template) -> None:
    motif = template.parts["arm"].motif
    assert motif is not None
    steps = curvature_steps(CostSmoothed(1.5), motif)
    dim = curvature_steps(CostSmoothed(1.5), Motif(motif.pixels / 2, motif.mask))
    torch.testing.assert_close(dim, 4 * steps)
    assert steps[0] < steps[1] == steps[2]  # a turn moves the border by many pixels
    flat = curvature_steps(CostSmoothed(1.5), Motif.whole(torch.full((3, 9, 9), 0.3)))
    assert flat.isfinite().all()


@pytest.mark.shared
@torch.no_grad()
def test_the_crab_of_the_paper_on_its_canvas(shared: Path) -> None:
    """Joints and measured spikes agree on the real template too; the canvas is at rest."""
    crab = Template.load(shared / "crab")
    parts: dict[str, Part] = {n: p for n, p in crab.parts.items() if n in ("crab", "claw_left", "claw_right")}
    parts["crab"] = replace(parts["crab"])
    pair = Template("claws", crab.canvas, Tree(parts), ("claw_left", "claw_right"))
    assert crab.canvas.mask is not None
    seen = PaperNetwork(pair)(crab.canvas.pixels * crab.canvas.mask)
    torch.testing.assert_close(best(seen.nodes["crab"]), torch.eye(3), atol=0.3, rtol=0)
