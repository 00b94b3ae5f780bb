"""The subject of an experiment: a template, the motif that represents it, and a photograph behind it."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.demo import ROBOT
from wherein.demo.robot_scene import photograph
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.paint import paint

BACKGROUND = "beach.jpg"
"""File name of a photograph beside a template, as in the paper's data."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A template and the photograph that it is painted into.

    Attributes:
        template: the object.
        photograph: the picture from which backgrounds are cropped.
        origin: a description of the photograph's source.
    """

    template: Template
    photograph: Float[Tensor, "3 H W"]
    origin: str

    @staticmethod
    def load(folder: Path | None = None) -> "Subject":
        """The robot of the demonstration, or the template in a folder, with the folder's photograph.

        Without one in the folder, the photograph is one of scikit-image's, or synthetic clutter if that is
        not installed.
        """
        template = replace(Template.load(folder or ROBOT), source=None)
        if folder is not None and (folder / BACKGROUND).is_file():
            return Subject(template, load_picture(folder / BACKGROUND).pixels, BACKGROUND)
        pixels, real = photograph(seed=0)
        return Subject(template, pixels, "coffee, of scikit-image" if real else "clutter, made by rule")

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the template and the photograph."""
        digest = hashlib.sha256(self.template.fingerprint.encode())
        digest.update(repr(tuple(self.photograph.shape)).encode())
        digest.update((self.photograph * 255).round().to(torch.uint8).contiguous().numpy().tobytes())
        return digest.hexdigest()[:32]

    @cached_property
    def body(self) -> tuple[str, Motif]:
        """Name and motif of the object of Figures 1 and 5: the visible part of the largest rigid leaf.

        A leaf is rigid if it never turns; if all leaves turn, all are candidates. Other leaves that cover it
        in rest position are cut out of its mask. Nothing covers the crab's body, which is the paper's motif.
        """
        parts = self.template.parts
        rigid = [name for name in parts.leaves if not parts[name].moves] or list(parts.leaves)
        name = max(rigid, key=lambda leaf: float(self._motif(leaf).mask.sum()))
        motif, to_body = self._motif(name), np.linalg.inv(parts[name].rest)
        mask = motif.mask
        # Leaves later in the paint order lie above this one.
        for above in self.template.paint_order[self.template.paint_order.index(name) + 1 :]:
            shape = self._motif(above).mask
            white = Motif(torch.ones_like(shape)[None], shape)
            place = torch.from_numpy(to_body @ parts[above].rest)
            mask = mask * (1 - paint(torch.zeros_like(mask)[None], white, place)[0])
        return name, Motif(motif.pixels, mask)

    def _motif(self, leaf: str) -> Motif:
        motif = self.template.parts[leaf].motif
        assert motif is not None, f"the leaf {leaf} has no picture"
        return motif

    def background(self, width: int, height: int, rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
        """A random crop of the photograph, which is enlarged first if it is smaller than the crop."""
        picture = self.photograph
        factor = max(width / picture.shape[-1], height / picture.shape[-2])
        if factor > 1:
            size = (
                max(height, round(picture.shape[-2] * factor)),
                max(width, round(picture.shape[-1] * factor)),
            )
            picture = F.interpolate(picture[None], size, mode="bicubic", antialias=True)[0].clamp(0, 1)
        left = int(rng.integers(picture.shape[-1] - width + 1))
        top = int(rng.integers(picture.shape[-2] - height + 1))
        return picture[:, top : top + height, left : left + width].clone()
