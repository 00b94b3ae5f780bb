"""Valid inputs from which mutations start."""

import base64
import copy
import io
import json
import zipfile
from functools import cache
from typing import Any

import numpy as np
import torch
from PIL import Image, features

from wherein.detect.calibration.model import Calibration
from wherein.detect.paper.tuning.paper_model import PaperCalibration
from wherein.detect.search_range import Range
from wherein.images.load import load_bytes
from wherein.images.motif import Motif
from wherein.images.run_lengths import encode_run_lengths
from wherein.studio.calibrations import default_calibration
from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree

WIDTH, HEIGHT = 32, 24
"""Size of the pictures in pixels: small, so that thousands are decoded in a minute."""

RANGE = Range(20.0, (0.9, 1.1), 0.0)
"""A narrow range of poses, so that a search is quick."""


def texture(width: int = WIDTH, height: int = HEIGHT, seed: int = 0) -> Image.Image:
    """Smooth random colours."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """A picture as the bytes of a file."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@cache
def pictures() -> tuple[bytes, ...]:
    """Files of every format and kind that is read."""
    image = texture()
    grey, alpha = image.convert("L"), image.copy()
    alpha.putalpha(grey)
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    frames = {"save_all": True, "append_images": [texture(seed=1), texture(seed=2)]}
    made = [encoded(one, "png") for one in (image, alpha, grey, grey.convert("1"), image.quantize(9), deep)]
    made += [encoded(image, "jpeg"), encoded(grey, "jpeg"), encoded(image.convert("CMYK"), "jpeg")]
    made += [encoded(image, "jpeg", progressive=True, exif=_upside_down())]
    made += [encoded(alpha, "webp", lossless=True), encoded(image, "webp", quality=60)]
    made += [encoded(image, "gif"), encoded(image, "gif", **frames), encoded(image, "png", **frames)]
    made += [encoded(one, "bmp") for one in (image, grey, image.quantize(5))]
    made += [encoded(one, "tiff") for one in (image, alpha, deep, grey.convert("F"))]
    made += [encoded(image, "tiff", compression=how) for how in ("tiff_lzw", "tiff_adobe_deflate", "jpeg")]
    if features.check("avif"):
        made.append(encoded(image, "avif"))
    return tuple(made)


def _upside_down() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 3
    return exif


@cache
def template() -> Template:
    """A body with an arm that turns and has a reading, and a group."""
    body, arm = (load_bytes(encoded(texture(seed=seed), "png")).pixels for seed in (3, 4))
    parts = (
        Part("toy", None, None, (0.0, 0.0), (31.5, 23.5), 30.0, False),
        Part("body", "toy", Motif.whole(body), (8.0, 12.0), (16.0, 12.0), 30.0, True),
        Part("pair", "toy", None, (0.0, 0.0), (40.0, 20.0), 20.0, False),
        Part(
            "arm", "pair", Motif.whole(arm[:, :10, :16].contiguous()), (40.0, 16.0), (1.0, 5.0), 30.0, False
        ),
    )
    canvas = load_bytes(encoded(texture(64, 48, 5), "png"))
    return Template("toy", canvas, Tree({part.name: part for part in parts}), ("body", "arm"))


@cache
def archive() -> bytes:
    """The template as a .zip."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files().items():
            made.writestr(name, content)
    return file.getvalue()


@cache
def files() -> dict[str, bytes]:
    """The files of the template by name. Pictures are small, so that mutations often hit headers."""
    spec = {
        "format": "wherein-template/1",
        "name": "toy",
        "canvas": "canvas.png",
        "paint_order": ["body", "arm"],
        "parts": {
            "toy": {"parent": None},
            "body": {"parent": "toy", "image": "body.png", "at": [8, 12], "static": True},
            "pair": {"parent": "toy", "pivot": [40, 20], "turn": 20},
            "arm": {
                "parent": "pair",
                "image": "arm.png",
                "at": [40, 16],
                "pivot": [1, 5],
                "turn": 30,
                "reading": {"unit": "bar", "at": [[-30, 0], [30, 10]]},
            },
        },
    }
    return {
        "template.json": json.dumps(spec).encode(),
        "canvas.png": encoded(texture(64, 48, 5), "png"),
        "body.png": encoded(texture(seed=3), "png"),
        "arm.png": encoded(texture(16, 10, 4), "png"),
    }


@cache
def annotations() -> tuple[dict[str, Any], ...]:
    """Annotation files of the picture scene.png: labelme, COCO, and COCO with compressed run lengths."""
    square = [[2, 2], [20, 2], [20, 16], [2, 16]]
    mask = base64.b64encode(encoded(Image.new("L", (9, 7), 255), "png")).decode()
    labelme: dict[str, Any] = {
        "version": "5.0.1",
        "imagePath": "scene.png",
        "imageData": None,
        "imageWidth": WIDTH,
        "imageHeight": HEIGHT,
        "shapes": [
            {"label": "body", "points": square, "shape_type": "polygon", "group_id": None, "flags": {}},
            {
                "label": "arm",
                "points": [[18, 8], [30, 12]],
                "shape_type": "rectangle",
                "description": "turn=40",
            },
            {"label": "eye", "points": [[5, 5], [8, 8]], "shape_type": "circle", "flags": {"static": True}},
            {"label": "patch", "points": [[20, 15], [28, 21]], "shape_type": "mask", "mask": mask},
            {"label": "arm joint", "points": [[18, 10]], "shape_type": "point"},
        ],
    }
    counts = [50, 100, WIDTH * HEIGHT - 150]
    size = [HEIGHT, WIDTH]
    coco: dict[str, Any] = {
        "images": [{"id": 1, "file_name": "scene.png", "width": WIDTH, "height": HEIGHT}],
        "categories": [{"id": 1, "name": "body"}, {"id": 2, "name": "arm"}, {"id": 3, "name": "eye"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "segmentation": [[2, 2, 20, 2, 20, 16, 2, 16]]},
            {"id": 2, "image_id": 1, "category_id": 2, "segmentation": {"counts": counts, "size": size}},
            {"id": 3, "image_id": 1, "category_id": 3, "bbox": [4, 4, 6, 6], "pivot": [5, 5], "turn": 20},
        ],
    }
    text = encode_run_lengths(np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH) % 50 < 20)
    compressed = copy.deepcopy(coco)
    compressed["annotations"][1]["segmentation"] = {"counts": text, "size": size}
    return labelme, coco, compressed


@cache
def scene() -> torch.Tensor:
    """A picture to search in."""
    return load_bytes(encoded(texture(96, 80, 6), "png")).pixels


@cache
def paper_calibration() -> PaperCalibration:
    """A calibration of the paper's network with invented values, since measuring one takes long."""
    node = {"stride": 16, "sigma": 9.0, "alpha": 1.0, "gamma": 1.0, "found": [0.1], "elsewhere": [0.2]}
    return PaperCalibration.model_validate(
        {
            "fingerprint": "0",
            "rotation": RANGE.rotation,
            "scale": RANGE.scale,
            "sigma0": 3.0,
            "nodes": {
                name: node | {"covered": None if part.motif is None else 0.9, "taken_for": None}
                for name, part in template().parts.items()
            },
            "threshold": 0.5,
            "clutter": [0.0],
            "present": [1.0],
        }
    )


@cache
def calibration() -> Calibration:
    """A calibration of the template with default values, since measuring one takes long."""
    return default_calibration(template(), RANGE)
