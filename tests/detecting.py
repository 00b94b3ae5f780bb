"""Helpers for tests of detection: pictures, small templates, scenes, and invented calibrations."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks import photographs
from wherein.detect import Calibration, Detector
from wherein.detect.calibration.reach import Reach
from wherein.detect.fast.pieces import Pieces
from wherein.images.eight_bit import to_image
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.making import Outline
from wherein.motion.homography import angle_at, mapped
from wherein.template import Part, Template, Tree
from wherein.template.pose import matrices, placed
from wherein.template.render import render

Array = NDArray[np.float64]

BODY, ARM, TURN = "body", "arm", 20.0
"""The parts of the toy, and how far its arm may turn, in degrees."""


def photo(name: str, width: int, height: int, seed: int = 0) -> Tensor:
    """A crop of a photograph, (3, H, W) in [0, 1]."""
    crop = photographs.crop(name, width, height, np.random.default_rng(seed))
    return torch.from_numpy(crop).movedim(-1, 0).float() / 255


def noise(height: int, width: int, seed: int = 0, channels: int = 3) -> Tensor:
    """Smooth noise in [0, 1]."""
    rng = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, channels, height // 5 + 3, width // 5 + 3, generator=rng)
    return torch.nn.functional.interpolate(coarse, size=(height, width), mode="bicubic")[0].clamp(0, 1)


def texture(width: int, height: int, seed: int, block: int = 6) -> Tensor:
    """Blocks of random colours, (3, H, W)."""
    rng = np.random.default_rng(seed)
    rows, columns = -(-height // block), -(-width // block)
    blocks = np.kron(rng.random((3, rows, columns)), np.ones((1, block, block)))
    return torch.from_numpy(blocks[:, :height, :width]).float().contiguous()


def group(
    name: str,
    parent: str | None = None,
    pivot: tuple[float, float] = (0.0, 0.0),
    turn: float = 30.0,
    static: bool = False,
) -> Part:
    return Part(name, parent, None, (0.0, 0.0), pivot, turn, static)


def leaf(
    name: str,
    parent: str | None,
    pixels: Tensor,
    at: tuple[float, float] = (0.0, 0.0),
    pivot: tuple[float, float] | None = None,
    turn: float = 30.0,
    static: bool = False,
) -> Part:
    middle = ((pixels.shape[2] - 1) / 2, (pixels.shape[1] - 1) / 2)
    return Part(name, parent, Motif.whole(pixels), at, pivot or middle, turn, static)


def template(*parts: Part, size: tuple[int, int]) -> Template:
    """A template of parts, painted in the given order; it is named after its root."""
    canvas = Picture(torch.zeros(3, size[1], size[0]), None)
    order = tuple(part.name for part in parts if part.motif is not None)
    tree = Tree({part.name: part for part in parts})
    return Template(tree.root, canvas, tree, order)


def walker() -> Template:
    """A static trunk, an arm in two links (three levels of groups), and a leg."""
    return template(
        group("walker"),
        leaf("trunk", "walker", noise(60, 50, 1), (40.0, 20.0), static=True),
        group("arm", "walker", (90.0, 40.0), turn=40.0),
        leaf("upper", "arm", noise(20, 50, 2), (86.0, 30.0), static=True),
        group("wrist", "arm", (136.0, 40.0), turn=40.0),
        leaf("hand", "wrist", noise(26, 36, 3), (134.0, 27.0), (2.0, 13.0), static=True),
        leaf("leg", "walker", noise(44, 24, 4), (52.0, 76.0), (12.0, 4.0), turn=25.0),
        size=(172, 122),
    )


def toy(name: str = "toy", body: str = BODY, arm: str = ARM) -> Template:
    """A body with an arm that turns about its left end; the names of the parts can be chosen."""
    parts = {
        name: Part(name, None, None, (0.0, 0.0), (40.0, 24.0), 0.0, False),
        body: Part(body, name, Motif.whole(texture(48, 48, 1)), (0.0, 0.0), (23.5, 23.5), 0.0, True),
        arm: Part(arm, name, Motif.whole(texture(36, 18, 2)), (44.0, 15.0), (4.0, 8.5), TURN, False),
    }
    canvas = Picture(torch.zeros(3, 48, 80), torch.ones(48, 80))
    return Template(name, canvas, Tree(parts), (body, arm))


def made_up(
    of: Template,
    rotation: float = 180.0,
    scale: tuple[float, float] = (1.0, 1.0),
    chance: float = 0.28,
    threshold: float = 0.5,
    tilt: float = 0.0,
    polarity: str = "same",
    crowd_from: float = 0.0,
) -> Calibration:
    """A calibration with invented, plausible values, since measuring one takes half a minute."""
    names = [piece.name for piece in Pieces.of(of).pieces]
    return Calibration(
        fingerprint=of.fingerprint,
        rotation=rotation,
        scale=scale,
        tilt=tilt,
        polarity=polarity,
        chance=dict.fromkeys(names, chance),
        threshold=threshold,
        clutter=[0.2, 0.22, 0.25, 0.3],
        present=[0.85, 0.9, 0.95],
        confused=[],
        limits=Reach(rotation=rotation, scale=scale),
        megapixels=0.2,
        crowd_from=crowd_from,
    )


def ready(
    of: Template,
    rotation: float = 180.0,
    scale: tuple[float, float] = (1.0, 1.0),
    tilt: float = 0.0,
    polarity: str = "same",
    calibration: Calibration | None = None,
    threads: int = 1,
    **more: Any,
) -> Detector:
    """A detector with an invented calibration; by default at one scale and without tilt, which is faster."""
    known = calibration or made_up(of, rotation, scale, tilt=tilt, polarity=polarity)
    ranges = {"rotation": rotation, "scale": scale, "tilt": tilt, "polarity": polarity}
    return Detector(of, **ranges, calibration=known, threads=threads, **more)


def upright(of: Template) -> Calibration:
    """An invented calibration for an object that is neither rotated nor tilted, at its own size."""
    return made_up(of, rotation=0.0, threshold=0.6)


def detector(of: Template) -> Detector:
    """A detector for an upright object, with an invented calibration."""
    return ready(of, rotation=0.0, calibration=upright(of))


def scene(of: Template, at: tuple[float, float] = (80.0, 60.0), turn: float = 10.0) -> Tensor:
    """A scene with the template on a smooth background, centred at a position, with its arm turned."""
    where = matrices(of.parts, placed(0.0, 1.0, at, of.centre), {of.paint_order[1]: turn})
    return render(empty(), of, where)


def empty() -> Tensor:
    """A scene without the object."""
    return torch.linspace(0.3, 0.6, 160).expand(3, 120, 160).contiguous()


def write_template(folder: Path, of: Template) -> Path:
    """Write a template to disk, with two invented calibrations beside it, for `--rotation 0` and for
    `--rotation 0 --scale 1 1 --tilt 0`."""
    loaded = Template.load(of.save(folder))
    known = (upright(loaded), made_up(loaded, 0.0, (0.5, 2.0), threshold=0.6, tilt=40.0))
    (folder / "calibration.json").write_text(json.dumps([one.model_dump(mode="json") for one in known]))
    return folder


def write_picture(path: Path, pixels: Tensor) -> Path:
    """Write a picture to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    to_image(pixels).save(path)
    return path


def painted(
    of: Template,
    root: Array,
    turns: dict[str, float] | None = None,
    hidden: tuple[str, ...] = (),
    on: Tensor | None = None,
) -> tuple[Tensor, dict[str, Array]]:
    """A scene with the template in it, and the matrix of every part."""
    where = matrices(of.parts, root, turns or {})
    return render(photo("coffee", 320, 240) if on is None else on, of, where, hidden), where


def centre(of: Template, name: str) -> tuple[float, float]:
    """The centre of a part's picture in its own pixels, or of the canvas, as (x, y)."""
    motif = of.parts[name].motif
    return of.centre if motif is None else motif.centre


def angle(matrix: Array, at: tuple[float, float] = (0.0, 0.0)) -> float:
    """The direction of the x axis in degrees; with perspective, at a point."""
    return angle_at(matrix, at)


def between(a: float, b: float) -> float:
    """The angle between two directions in degrees, 0 to 180."""
    return abs((a - b + 180) % 360 - 180)


def off(of: Template, name: str, found: Array, truth: Array) -> tuple[float, float]:
    """The error of a pose: pixels at the part's centre, and degrees."""
    middle = centre(of, name)
    pixels = np.linalg.norm(mapped(found, middle) - mapped(truth, middle))
    return float(pixels), between(angle(found, middle), angle(truth, middle))


DIAL_RADIUS, NEEDLE_LENGTH = 80.0, 66.0


def dial() -> Template:
    """A round dial with a needle that points to the right, as seen from in front."""
    side = int(2 * DIAL_RADIUS + 1)
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    middle = (DIAL_RADIUS, DIAL_RADIUS)
    inside = ((rows - DIAL_RADIUS) ** 2 + (columns - DIAL_RADIUS) ** 2 <= DIAL_RADIUS**2).float()
    plate = Part(
        "plate", "dial", Motif(0.5 + noise(side, side, 5) / 2, inside), (0.0, 0.0), middle, 0.0, True
    )
    width = int(NEEDLE_LENGTH) + 13
    # It is pointed, and has a tail.
    along, across = torch.arange(width).float(), torch.arange(11).float() - 5
    mask = (across.abs()[:, None] <= 5 - 4 * along / width).float()
    dark = torch.tensor((0.1, 0.0, 0.05))[:, None, None].expand(3, 11, width).contiguous()
    needle = Part("needle", "dial", Motif(dark, mask), (68.0, 75.0), (12.0, 5.0), 180.0, False)
    return template(group("dial", pivot=middle), plate, needle, size=(side, side))


def dial_photograph(root: Array, turn: float = 0.0) -> Tensor:
    """A photograph of the dial at a pose, with its needle turned."""
    return painted(dial(), root, {"needle": turn}, on=photo("coffee", 320, 280))[0]


def dial_outlines(root: Array) -> list[Outline]:
    """The outlines of its parts in a photograph at that pose, with the needle at rest."""
    parts, around = dial().parts, np.radians(np.arange(0, 360, 5))
    axle = parts["needle"].joint
    rim = DIAL_RADIUS * (1 + np.stack((np.cos(around), np.sin(around)), 1))
    strip = dial().outlines["needle"] + parts["needle"].at
    x, y = mapped(root, axle).tolist()
    return [
        Outline("plate", mapped(root, rim)),
        Outline("needle", mapped(root, strip), parent="plate", pivot=(x, y), turn=180.0),
    ]
