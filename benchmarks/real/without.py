"""Photographs without the object of a section: whole photographs, crops and mirrored crops."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks import photographs
from benchmarks.real.common import REAL, Picture, rgb, spread

MAX_SIDE = 1024  # px: larger photographs are reduced to this side
FROM_PAIRS = 80  # maximum number of frames of videos; the rest are crops


def pictures(count: int, rng: np.random.Generator) -> list[tuple[str, Picture]]:
    """`count` photographs with names: whole ones, frames of videos, then crops, half of them mirrored."""
    whole = list(_whole())
    frames = [(path.name, rgb(path)) for path in spread(_files("pairs", "*.jpg"), min(FROM_PAIRS, count))]
    made = spread(whole + frames, count)
    while len(made) < count:
        name, picture = whole[len(made) % len(whole)]
        made.append((f"{name}, crop {len(made)}", _crop(picture, rng)))
    return made


def _whole() -> Iterator[tuple[str, Picture]]:
    for name in photographs.names():
        yield name, _reduced(photographs.load(name))
    for path in (*_files("oxford", "*/img*"), *_files("industrial", "scene*")):
        yield path.relative_to(REAL).as_posix(), _reduced(rgb(path))


def _files(folder: str, pattern: str) -> list[Path]:
    return sorted((REAL / folder).glob(pattern))


def _reduced(picture: Picture) -> Picture:
    factor = MAX_SIDE / max(picture.shape[:2])
    if factor >= 1:
        return picture
    size = round(picture.shape[1] * factor), round(picture.shape[0] * factor)
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX))


def _crop(picture: Picture, rng: np.random.Generator) -> Picture:
    """A random crop of half to nine tenths of each side, mirrored with probability one half."""
    height, width = (int(side * rng.uniform(0.5, 0.9)) for side in picture.shape[:2])
    y, x = rng.integers(picture.shape[0] - height + 1), rng.integers(picture.shape[1] - width + 1)
    part = picture[y : y + height, x : x + width]
    return np.ascontiguousarray(part[:, ::-1] if rng.random() < 0.5 else part)
