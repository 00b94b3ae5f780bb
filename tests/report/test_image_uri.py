"""Images as data URIs: as good as their room allows."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from benchmarks import photographs
from wherein.report.image_uri import cutout_uri, picture_uri


def opened(uri: str) -> Image.Image:
    head, data = uri.split(",")
    assert head == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def photograph(width: int, height: int) -> Image.Image:
    return Image.fromarray(photographs.crop("coffee", width, height, np.random.default_rng(0)))


@pytest.mark.parametrize("room", [60_000, 30_000, 20_000, 12_000])
def test_a_picture_fits_into_its_room_and_uses_it(room: int) -> None:
    image = photograph(640, 480)
    uri = picture_uri(image, room)
    assert 0.6 * room < len(uri) <= room
    assert (opened(uri).size == image.size) == (room >= 30_000), "quality is given up before size"


def test_it_is_reduced_no_further_than_a_thumbnail() -> None:
    assert opened(picture_uri(photograph(640, 480), 1)).size == (320, 240)
    assert opened(picture_uri(photograph(200, 150), 1)).size == (200, 150)


def test_large_images_are_reduced_and_the_given_one_is_not_touched() -> None:
    image = Image.new("RGB", (3200, 1600))
    assert picture_uri(image, 10**6) == picture_uri(Image.new("RGB", (1600, 800)), 10**6)
    assert image.size == (3200, 1600)


def test_cutouts_keep_their_alpha() -> None:
    pixels = np.zeros((60, 1000, 4), dtype=np.uint8)
    pixels[:, 500:] = 255
    small = opened(cutout_uri(Image.fromarray(pixels)))
    assert (small.mode, small.size) == ("RGBA", (480, 29))
    assert np.asarray(small)[14, [5, 475], 3].tolist() == [0, 255]
