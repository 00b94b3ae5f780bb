"""The suite "library": its templates, its scenes, and how detections are judged."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import library
from benchmarks.geometry import apply


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    monkeypatch.setattr(library, "STAMPS", library.Path("nowhere"))
    return library.cutouts(3, 10)


def test_a_library_has_so_many_templates_with_twins(pictures: dict[str, np.ndarray]) -> None:
    assert len(pictures) == 10
    twins = [name for name in pictures if name.endswith("(twin)")]
    assert len(twins) == 2
    for name in twins:
        original = pictures[name.removesuffix(" (twin)")]
        changed = (pictures[name] != original).any(-1).mean()
        assert 0.02 < changed < 0.2


def test_scenes_are_the_same_for_the_same_seed(pictures: dict[str, np.ndarray]) -> None:
    first, truths = library.made(pictures, 0, 5)
    again, _ = library.made(pictures, 0, 5)
    np.testing.assert_array_equal(first, again)
    assert first.shape == (480, 640, 3)
    assert len(truths) <= library.MAX_OBJECTS


def test_detections_are_judged_by_place_and_name(pictures: dict[str, np.ndarray]) -> None:
    one, other = list(pictures)[:2]
    matrix = np.array(((1.0, 0, 100), (0, 1, 80)))
    height, width = pictures[one].shape[:2]
    middle = apply(matrix, np.array([((width - 1) / 2, (height - 1) / 2)]))[0]
    truths = [library.Truth(one, matrix)]

    def verdict(*found: tuple[str, tuple[float, float]]) -> list[int]:
        items = [SimpleNamespace(template=name, center=at, score=0.9) for name, at in found]
        return library.judged(items, truths, pictures)[0].tolist()

    assert verdict((one, tuple(middle))) == [1, 1, 0, 0]
    assert verdict((other, tuple(middle))) == [0, 1, 1, 0]
    assert verdict((one, (600.0, 400.0))) == [0, 1, 0, 1]
    assert verdict() == [0, 1, 0, 0]
