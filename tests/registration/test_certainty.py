"""Is the motif there? Where ZNCC cannot say, its cells can."""

import inspect
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import ndimage

import wherein
from benchmarks import photographs, scenes
from benchmarks.geometry import centred, homogeneous
from wherein import Registration, Status

Picture = NDArray[np.uint8]
ENOUGH = 0.25


def pictures() -> Iterator[tuple[Picture, Picture, Picture, NDArray[np.float64]]]:
    """A background, a motif, the scene with the motif in it, and where it is."""
    names = ("coffee", "chelsea", "astronaut", "rocket")
    for index, name in enumerate(names):
        rng = np.random.default_rng([index, 77])
        cut = photographs.textured_crop(names[index - 1], 90, 80, rng)
        motif = np.dstack((cut, np.full(cut.shape[:2], 255, np.uint8)))
        background = photographs.crop(name, 256, 192, rng)
        place = homogeneous(centred((256, 192), (90, 90)))
        turned, shifted = scenes.LINEAR["euclidean"](rng), rng.uniform(-5, 5, 2)
        truth = scenes.about_centre(turned, (90, 90), place, shifted)[:2]
        yield background, motif, scenes.paint(background, motif, truth), truth


def sure(scene: Picture, motif: Picture) -> float:
    return wherein.certainty(scene, motif, wherein.register(scene, motif))


def known(matrix: NDArray[np.float64]) -> Registration:
    return Registration(matrix, 1.0, 1.0, 0.0, 0, Status.CONVERGED)


def test_a_motif_that_is_there() -> None:
    rng = np.random.default_rng(0)
    for _, motif, scene, _ in pictures():
        assert sure(scene, motif) > 0.5
        noisy = (0.6 * scene + 40 + rng.normal(0, 6, scene.shape)).clip(0, 255).astype(np.uint8)
        assert sure(noisy, motif) > ENOUGH
        assert sure(ndimage.gaussian_filter(scene, (1.2, 1.2, 0)), motif) > ENOUGH


def test_a_motif_that_is_not_there_or_mirrored() -> None:
    for background, motif, scene, _ in pictures():
        assert sure(background, motif) < ENOUGH
        assert sure(scene, np.ascontiguousarray(motif[:, ::-1])) < ENOUGH


def test_half_covered() -> None:
    """ZNCC falls to what motifs that are not there have; half of the cells still agree."""
    for background, motif, scene, truth in pictures():
        covered = motif.copy()
        covered[:, 45:, :3] = background[:90, :45]
        half = scenes.paint(scene, covered, truth)
        assert 0.35 < wherein.certainty(half, motif, known(truth)) < 0.65


def test_masks_borders_and_nothing_to_see() -> None:
    _, motif, scene, truth = next(pictures())
    mask = np.zeros((90, 90), bool)
    mask[:, :45] = True
    whole = wherein.certainty(scene, motif[..., :3], known(truth))
    assert wherein.certainty(scene, motif[..., :3], known(truth), mask) == pytest.approx(whole, abs=0.15)
    cut = known(truth - np.array([[0, 0, 100.0], [0, 0, 0]]))  # the scene loses what is left of column 100
    assert wherein.certainty(scene[:, 100:], motif, cut) == pytest.approx(whole, abs=0.15)
    assert wherein.certainty(scene, np.full((40, 40), 0.5), known(truth)) == 0
    assert wherein.certainty(scene, motif, known(np.array([[1, 0, 1e6], [0, 1, 0.0]]))) == 0
    assert 0 <= wherein.certainty(scene, motif[:7, :3], known(truth)) <= 1


def test_large_motifs_are_sampled_and_tensors_will_do() -> None:
    picture = torch.from_numpy(photographs.load("coffee").copy()).permute(2, 0, 1)
    found = known(np.array([[1, 0, 20.0], [0, 1, 30]]))
    assert wherein.certainty(picture, picture[:, 30:380, 20:560], found) > 0.9
    assert wherein.certainty(picture, picture[:, 40:390, 20:560], found) < ENOUGH


def test_a_large_motif_may_be_a_pixel_off() -> None:
    """As a pose that edges found: its error grows with the motif, as the cells do."""
    picture = torch.from_numpy(photographs.load("coffee").copy()).permute(2, 0, 1)
    near = known(np.array([[1, 0, 21.0], [0, 1, 29.5]]))
    assert wherein.certainty(picture, picture[:, 30:380, 20:560], near) > 0.5


@pytest.mark.parametrize("wrong", [3, None, np.eye(3)])
def test_only_registrations_are_tested(wrong: object) -> None:
    with pytest.raises(wherein.ArgumentError, match="must be what `register` returned"):
        # Without the type checker of the tests, as users call it.
        inspect.unwrap(wherein.certainty)(np.zeros((20, 20)), np.zeros((5, 5)), wrong)
