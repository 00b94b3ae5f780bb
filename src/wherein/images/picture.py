"""Pictures inside the package: samples as they were stored, converted to floats on demand."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import torch
from jaxtyping import Float, Shaped
from numpy.typing import NDArray
from torch import Tensor

from wherein.threads import one_thread

Samples: TypeAlias = Shaped[Tensor, "C H W"]
"""A picture in floats in [0, 1], or in bytes, where 255 means 1; one plane if it is grey."""

FULL = {torch.bool: 1, torch.uint8: 255, torch.uint16: 65535}
"""The highest value of each sample type that is not a float."""


def unit(samples: Shaped[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """Samples as floats in [0, 1]; floats are returned as they are."""
    if samples.dtype not in FULL:
        return samples
    return samples.to(torch.float32).div_(FULL[samples.dtype])


@dataclass(frozen=True, eq=False)  # tensors do not compare to one bool
class Picture:
    """A picture in the form that the whole package uses.

    A photograph of 12 megapixels has 144 MB as floats, 36 MB as bytes and 12 MB if it is grey. So samples
    are converted to floats only on demand: a search needs most of a large scene only at a reduced size.

    Attributes:
        samples: RGB, or one plane if it is grey; floats in [0, 1], or bytes, where 255 means 1. Do not write
            to it: it may be shared.
        mask: alpha in [0, 1], where 1 is opaque; None if the source has no alpha channel.
    """

    samples: Samples
    mask: Float[Tensor, "H W"] | None

    @cached_property
    def pixels(self) -> Float[Tensor, "3 H W"]:
        """RGB in [0, 1]; grey is repeated. Do not write to it: it may be shared."""
        # Cached for later callers, so it must not depend on the gradient mode of the first one. With one
        # thread, since a forked process does not have torch's other threads and would wait for them forever.
        with one_thread(), torch.inference_mode(False), torch.enable_grad():
            pixels = unit(self.samples)
            return pixels if len(pixels) == 3 else pixels.expand(3, -1, -1).contiguous()

    def __getstate__(self) -> dict[str, object]:
        """The state for pickling, without `pixels`, which can be computed again."""
        return {name: value for name, value in vars(self).items() if name != "pixels"}

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.samples.shape[-1], self.samples.shape[-2]


@dataclass(frozen=True, eq=False)
class Overview(Picture):
    """A reduced picture of a scene that is too large to be loaded.

    Attributes:
        reduction: the factor by which it is reduced, a power of 2.
        full_size: width and height of the scene.
    """

    reduction: int = 1
    full_size: tuple[int, int] = (0, 0)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the scene."""
        return self.full_size


def is_reduced(picture: Picture) -> bool:
    """Return whether a picture is an overview with fewer pixels than its scene."""
    return isinstance(picture, Overview) and picture.reduction > 1


_SAMPLE, _ROWS = 16, 64
"""To find out whether a picture has colours or bright pixels, every 16th pixel along each axis is compared
first; for colours then bands of 64 rows, which fit into the cache. Choices."""

_DIM = 1 / 8
"""Brightest value of a picture, as a fraction of the full range, below which its contrast is weak. A choice:
with 12 bits in a file of 16 it is 1/16, and edges become as weak as the noise of photographs."""


def dimness(picture: Picture) -> str | None:
    """A message if a picture uses little of the range of its values, as 12 bits in a file of 16 do.

    What counts as noise is a fraction of the full range (`images.channels`), so such a picture scores less.

    >>> dimness(Picture(torch.tensor([[[0.0, 0.25]]]), None)) is None
    True
    >>> dimness(Picture(torch.tensor([[[0.0, 0.0625]]]), None))
    'its brightest value is 6.2 % of the full range, so its edges count as noise: rescale its values'
    """
    samples = picture.samples.detach()
    if samples.dtype == torch.uint8:  # then it is dark: nothing is wrong with its range
        return None
    # Nearly every picture has a bright pixel among a few.
    if float(unit(samples[:, ::_SAMPLE, ::_SAMPLE].amax())) >= _DIM:
        return None
    lowest, highest = (float(unit(end)) for end in samples.aminmax())
    if highest >= _DIM or lowest == highest:  # a picture of one grey has no edges
        return None
    share = f"{100 * highest:.2g} % of the full range"
    return f"its brightest value is {share}, so its edges count as noise: rescale its values"


def is_grey(planes: "Tensor | NDArray[Any]") -> bool:
    """Whether all planes of a picture (C, H, W), a tensor or an array, are equal."""
    first, others = planes[0], planes[1:]
    if not all(_equal(plane[::_SAMPLE, ::_SAMPLE], first[::_SAMPLE, ::_SAMPLE]) for plane in others):
        return False
    bands = [slice(k, k + _ROWS) for k in range(0, len(first), _ROWS)]
    return all(_equal(plane[band], first[band]) for band in bands for plane in others)


def _equal(some: "Tensor | NDArray[Any]", others: "Tensor | NDArray[Any]") -> bool:
    same: Any = some == others
    return bool(same.all())
