"""What a template is rehearsed on: the user's pictures, or clutter."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration.clutter import clutter


class Backgrounds:
    """The user's pictures in turn, cut to size or continued by their mirror images, or clutter; each is made
    once.

    Arguments:
        pictures: without the template; none: clutter.
        seed: of where they are cut, and of the clutter.
        size: width and height.
    """

    def __init__(self, pictures: Sequence[Float[Tensor, "3 H W"]], seed: int, size: tuple[int, int]) -> None:
        self.pictures, self.seed, self.size = pictures, seed, size
        self._made: dict[int, Tensor] = {}

    def __call__(self, index: int) -> Float[Tensor, "3 H W"]:
        """The background of this number."""
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]

    def _make(self, index: int) -> Float[Tensor, "3 H W"]:
        across, down = self.size
        if not self.pictures:
            return clutter(across, down, seed=self.seed + index)
        picture = self.pictures[index % len(self.pictures)]
        height, width = picture.shape[-2:]
        rng = np.random.default_rng((self.seed, index))
        left, top = rng.integers(max(1, width - across + 1)), rng.integers(max(1, height - down + 1))
        cut = picture[:, top : top + down, left : left + across].numpy()
        missing = ((0, 0), (0, down - cut.shape[1]), (0, across - cut.shape[2]))
        return torch.from_numpy(np.pad(cut, missing, "symmetric"))
