"""Helpers for tests of the studio: a running server, a client, and an object to outline."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from PIL import Image

from detecting import made_up, noise
from wherein.detect import Calibration
from wherein.detect.calibration.store import Progress
from wherein.detect.search_range import Range
from wherein.studio.server import Studio, prepare
from wherein.template import Template

Record = dict[str, Any]


def at_once(template: Template, ranges: Range, progress: Progress) -> Calibration:
    """A calibration without measurement."""
    progress(0.5, "looking where it is not")
    return made_up(template, ranges.rotation, ranges.scale, tilt=ranges.tilt, polarity=ranges.polarity)


@contextmanager
def served(calibrate: Callable[..., Calibration] = at_once, **options: Any) -> Iterator[Studio]:
    """A running studio."""
    studio = prepare(calibrate=calibrate, **options)
    thread = threading.Thread(target=studio.serve)
    thread.start()
    try:
        yield studio
    finally:
        studio.server.should_exit = True
        thread.join()


@dataclass
class Page:
    """A client that sends the requests of the page."""

    client: httpx.Client
    address: str
    token: str

    def get(self, path: str) -> Record:
        return self._json(self.client.get(path))

    def post(self, path: str, message: Record | None = None) -> Record:
        return self._json(self.client.post(path, json=message))

    def upload(self, kind: str, content: bytes, name: str) -> Record:
        return self._json(self.client.post(f"/api/upload/{kind}", params={"name": name}, content=content))

    def add_scene(self, content: bytes, name: str) -> Record:
        """Upload a scene of one frame."""
        answer = self.upload("scene", content, name)
        (scene,) = answer["scenes"]
        assert answer["frames"] == 1
        return dict(scene)

    def refused(self, answer: httpx.Response, status: int) -> str:
        """The message of an error."""
        assert answer.status_code == status, answer.text
        assert list(answer.json()) == ["error"]
        return str(answer.json()["error"])

    @staticmethod
    def _json(answer: httpx.Response) -> Record:
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@contextmanager
def asked(studio: Studio) -> Iterator[Page]:
    address, token = studio.address.split("#")
    headers = {"x-wherein-token": token}
    with httpx.Client(base_url=address, headers=headers, timeout=60, trust_env=False) as client:
        yield Page(client, address, token)


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def crane() -> np.ndarray:
    """A picture of an object with a body and an arm, (120, 161, 3)."""
    sheet = np.full((120, 161, 3), 200, dtype=np.uint8)
    for (x, y, width, height), seed in ((BODY, 1), (ARM, 2)):
        texture = noise(height, width, seed).movedim(0, -1).numpy()
        sheet[y : y + height, x : x + width] = (texture * 255).astype(np.uint8)
    return sheet


BODY, ARM = (20, 40, 60, 60), (70, 50, 70, 22)
"""Left, top, width and height."""


def box(x: int, y: int, width: int, height: int) -> list[list[float]]:
    right, bottom = x + width - 0.5, y + height - 0.5
    return [[x - 0.5, y - 0.5], [right, y - 0.5], [right, bottom], [x - 0.5, bottom]]


def draft(picture: str) -> Record:
    """The crane as a user outlines it."""
    return {
        "name": "crane",
        "picture": picture,
        "parts": [
            {"name": "body", "points": box(*BODY), "static": True},
            {"name": "arm", "parent": "body", "points": box(*ARM), "pivot": [75.0, 61.0], "turn": 40},
        ],
        "paint_order": ["body", "arm"],
    }
