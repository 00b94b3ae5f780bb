"""A scene seen through a pose: exact for whole pixels, the same in C and in torch."""

import numpy as np
import pytest
import torch

from wherein.native import kernel
from wherein.planes.rectify import rectify

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


def _scene(channels=3, height=31, width=37, seed=0):
    return torch.rand(channels, height, width, generator=torch.Generator().manual_seed(seed))


def test_a_shift_by_whole_pixels_is_a_crop():
    scene = _scene()
    found, inside = rectify(scene, np.array(((1, 0, 5), (0, 1, 7), (0, 0, 1.0))), 10, 12)
    torch.testing.assert_close(found, scene[:, 7:17, 5:17], rtol=0, atol=1e-6)
    assert inside.all()


def test_outside_the_border_is_continued_and_marked():
    scene = _scene()
    found, inside = rectify(scene, np.array(((1, 0, -4), (0, 1, 0), (0, 0, 1.0))), 5, 10)
    torch.testing.assert_close(found[:, :, :4], scene[:, :5, :1].expand(-1, -1, 4), rtol=0, atol=1e-6)
    assert not inside[:, :3].any()
    assert inside[:, 4:].all()


def test_nothing_behind_the_camera_is_inside():
    _, inside = rectify(_scene(), np.array(((1, 0, 5), (0, 1, 5), (-0.2, 0, 1.0))), 8, 20)
    assert inside[:, 0].all()
    assert not inside[:, 6:].any()  # the horizon is at column 5


@compiled
@pytest.mark.parametrize("size", [(31, 37), (1, 9), (2, 2)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_c_is_torch(size, channels, monkeypatch):
    scene = _scene(channels, *size, seed=1)
    matrix = np.array(((0.9, -0.2, 3.3), (0.15, 1.1, -1.7), (2e-3, -1e-3, 1.0)))
    in_c = rectify(scene, matrix, 25, 23)
    monkeypatch.setattr(kernel, "accepts", lambda *_: False)
    in_torch = rectify(scene, matrix, 25, 23)
    torch.testing.assert_close(in_c[0], in_torch[0], rtol=0, atol=2e-5)
    assert torch.equal(in_c[1], in_torch[1])


def test_the_scene_is_not_touched():
    scene = _scene()
    before = scene.clone()
    rectify(scene, np.diag((0.5, 0.5, 1.0)), 9, 9)
    assert torch.equal(scene, before)
