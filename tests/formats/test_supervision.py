"""Detections for the package `supervision`."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import wherein
from walkers import HEIGHT, WIDTH, found, ring, ring_mask, tilted


def test_supervision_has_a_row_for_the_whole_and_each_part() -> None:
    package = pytest.importorskip("supervision")
    some = found("hand", at=((110.0, 80.0), (20.0, 150.0)))
    made = some.to_supervision()
    assert isinstance(made, package.Detections)
    assert made.class_id.tolist() == [0, 1, 2, 3] * 2
    assert made.data["class_name"].tolist() == ["walker", "trunk", "leg", "upper"] * 2
    assert made.data["instance"].tolist() == [1] * 4 + [2] * 4
    np.testing.assert_allclose(made.confidence[:2], (0.97, 0.9))
    assert made.mask.shape == (8, HEIGHT, WIDTH)
    assert (made.mask[1:4].any(0) == made.mask[0]).all()
    for box, mask in zip(made.xyxy, made.mask, strict=True):
        ys, xs = np.nonzero(mask)
        np.testing.assert_allclose(
            (xs.min(), ys.min(), xs.max(), ys.max()), box, atol=2
        )  # a corner may hold no pixel
    assert len(made[made.class_id == 0]) == 2
    nothing = replace(some, items=()).to_supervision()
    assert len(nothing) == 0
    assert nothing.mask.shape == (0, HEIGHT, WIDTH)


def test_holes_are_not_in_the_mask() -> None:
    pytest.importorskip("supervision")
    made = ring().to_supervision()
    assert made.mask.sum() == pytest.approx(ring_mask().sum(), rel=0.02)


def test_perspective_and_several_templates() -> None:
    pytest.importorskip("supervision")
    some = tilted()
    both = replace(some, items=(some[0], found()[0], some[0]))
    made = both.to_supervision()
    assert made.class_id.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2]
    assert made.data["class_name"].tolist()[:5] == ["gauge", "dial", "needle", "walker", "trunk"]
    left, top, width, height = some[0].parts["dial"].box
    np.testing.assert_allclose(made.xyxy[1], (left, top, left + width, top + height), rtol=1e-5)


def test_without_supervision_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(
        wherein.MissingError, match=r"to_supervision\(\) needs supervision.*pip install"
    ) as caught:
        found().to_supervision()
    assert isinstance(caught.value, ImportError)
