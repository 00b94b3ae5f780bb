"""A short video of a template that moves through a photograph."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from detecting import photo, walker
from wherein.images.eight_bit import to_image
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.video.video_writer import write_video

SIZE, RATE, FRAMES = (360, 250), 12.5, 8

FrameOf = Callable[[int], tuple[Tensor, dict[str, np.ndarray]]]


@pytest.fixture(scope="session")
def template() -> Template:
    return walker()


@pytest.fixture(scope="session")
def frame(template: Template) -> FrameOf:
    """The pixels of frame k and the true matrices. The object enters at frame 2."""
    background = photo("coffee", *SIZE)

    def made(k: int) -> tuple[Tensor, dict[str, np.ndarray]]:
        root = placed(5.0 * k, 1.0, (120 + 8.0 * k, 110 + 3.0 * k), template.centre)
        where = matrices(template.parts, root, {"arm": 6.0 * k - 15})
        return (render(background, template, where) if k >= 2 else background), where

    return made


@pytest.fixture(scope="session")
def video_file(frame: FrameOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "walk.webm"
    with write_video(path, SIZE, RATE) as add:
        for k in range(FRAMES):
            add(partial(to_image, frame(k)[0]))
    return path
