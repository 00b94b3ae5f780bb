"""Tensors are made where the scene is. There may be no second device here: one that holds nothing will do."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

import wherein
from detecting import made_up
from wherein.drawing.registrations import draw_registration
from wherein.formulations import Channels, MotionObjective, Variables
from wherein.formulations.motif_side import MotifSide
from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Euclidean
from wherein.motion.field import shift_matrix
from wherein.native import kernel
from wherein.pyramid.motif_levels import Level
from wherein.solve import gauss_newton
from wherein.template import Template


@pytest.fixture
def elsewhere() -> Iterator[None]:
    """What is made without saying where is made elsewhere, and cannot be mixed with the scene."""
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("robust", [True, False])
def test_the_default_device_is_none_of_our_business(
    motion: str, robust: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)  # C is for the CPU, this is for the others
    scene = np.kron(np.random.default_rng(0).random((12, 16)), np.ones((8, 8)))
    motif = np.dstack((*[scene[30:70, 40:90]] * 3, np.ones((40, 50))))
    found = wherein.register(scene, motif, motion, start=[[1, 0, 38], [0, 1, 31]], robust=robust)
    assert np.abs(found.matrix[:2, 2] - (40, 30)).max() < 0.1
    pixels = torch.from_numpy(np.stack([scene] * 3)).float()
    mask = torch.ones(40, 50, device="cpu")
    assert draw_registration(pixels, Motif(pixels[:, 30:70, 40:90], mask), found.matrix, None).height > 96


def set_device() -> None:
    torch.set_default_device("meta")


def set_dtype() -> None:
    torch.set_default_dtype(torch.float64)


@pytest.fixture
def defaults() -> Iterator[None]:
    """Restores torch's defaults."""
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("defaults")
@pytest.mark.parametrize("change", [set_device, set_dtype])
def test_searches_in_c_do_not_depend_on_the_defaults(change: Callable[[], None]) -> None:
    """Tensors that C writes to are made on the CPU and of its types: else it crashes or writes rubbish."""
    scene = np.kron(np.random.default_rng(0).random((12, 16, 3)), np.ones((8, 8, 1)))
    motif = scene[30:70, 40:90]
    template = Template.rigid("noise", Motif.whole(torch.from_numpy(motif).permute(2, 0, 1).float()))
    calibration = made_up(template, 180.0, (0.5, 2.0), tilt=40.0)

    def found() -> list[object]:
        detector = wherein.Detector(template, calibration=calibration)
        detections = detector(scene)
        traces = detector.fit_traces(detections)
        registered = [wherein.register(scene, motif, motion).to_dict() for motion in ("euclidean", "affine")]
        return [detections.to_dict() | {"seconds": 0}, len(traces), detections.draw().size, registered]

    expected = found()
    change()
    assert found() == expected


@pytest.mark.usefixtures("elsewhere")
def test_channels_are_made_where_the_scene_is() -> None:
    scene = torch.from_numpy(np.kron(np.random.default_rng(0).random((1, 12, 16)), np.ones((8, 8))))
    formulation = Channels(lighting=True).bind(scene, Motif.whole(scene[:, 30:70, 40:90]))
    start = shift_matrix(torch.from_numpy(np.array([[39.0, 30.6]])))
    objective = MotionObjective(formulation, Euclidean(), start)
    found = objective.matrix(gauss_newton(objective, objective.start(), 20).variables)
    assert np.abs(found[0, :2, 2].numpy() - (40, 30)).max() < 0.1


def level(device: str) -> Level:
    """A level without a point on a device."""
    none = torch.empty(0, 3, 4, device=device)
    side = MotifSide(torch.zeros(2), torch.ones(()), torch.ones(3), none[:, :2, 0], none)
    return Level(torch.empty(3, 8, 8, device=device), side, Euclidean())


def test_poses_enter_a_level_on_its_device() -> None:
    entered = level("meta").enter(np.eye(3)[None])
    assert (entered.pose.device.type, entered.pose.dtype) == ("meta", torch.float32)


def test_poses_leave_a_level_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: asked.append(tensor.shape) or tensor)
    level("cpu").leave(Variables(torch.eye(3)[None]))
    assert asked == [(1, 3, 3)]


def test_a_start_may_be_a_tensor_that_asks_for_gradients() -> None:
    scene = np.kron(np.random.default_rng(0).random((12, 16)), np.ones((8, 8)))
    start = torch.tensor([[1.0, 0, 38], [0, 1, 31]], requires_grad=True)
    found = wherein.register(scene, scene[30:70, 40:90], start=start)
    assert np.abs(found.matrix[:, 2] - (40, 30)).max() < 0.1
