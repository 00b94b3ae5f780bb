"""Makes the pictures of docs/photographs.md and docs/howto/dial.md: `python -m tools.doc_pictures docs`.

The photographs are those of scikit-image that are in the public domain (brick, camera, coffee, gravel); the
objects painted over them are drawn by code. Each picture has one fixed seed, so none is chosen by its result.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import typer
from jaxtyping import Float
from PIL import Image, ImageDraw
from skimage import data
from torch import Tensor

from tools.robot.shapes import ellipse, polygon, ring
from tools.robot.sheet import Sheet
from wherein import Calibration, Detections, Detector, Template
from wherein.demo import GAUGE
from wherein.demo.dial_pictures import overexposed
from wherein.demo.gauge_scene import NEEDLE, gauge_scene
from wherein.images.eight_bit import to_image
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.motion.homography import mapped
from wherein.template.paint import paint
from wherein.template.pose import placed, tilted
from wherein.template.tree import Matrix

Pixels = Float[Tensor, "3 H W"]

Box = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels of a scene."""

NEAR_GAUGE: Box = (10, 70, 440, 330)

HEIGHT = 400
"""Height of each panel in pixels. A choice: with it, each picture has less than 60 kB."""

MISSED = (255, 60, 60)
"""The colour of the true outline of an object that was missed."""


def gauge() -> Template:
    """The gauge of the demonstration."""
    # Without a source, its calibration is stored in the cache and not inside the package.
    return replace(Template.load(GAUGE), source=None)


def glass() -> Motif:
    """A drinking glass: colourless and see-through, with a rim, a bottom and two streaks of light."""
    sheet = Sheet(0, 0, 130, 190, seed=0)
    u, v = sheet.frame(65, 95)
    wall = polygon(u, v, [(-55, -75), (55, -75), (40, 75), (-40, 75)])
    sheet.paint(wall, (0.85, 0.9, 0.92), 0.12)
    sheet.paint(ring(wall, 2.5), (0.95, 0.97, 1.0), 0.35)
    sheet.paint(ring(ellipse(u, v + 75, 55, 12), 2.5), (0.95, 0.97, 1.0), 0.4)
    sheet.paint(ellipse(u, v - 70, 38, 9), (0.2, 0.25, 0.28), 0.25)
    sheet.paint(polygon(u, v, [(-40, -55), (-33, -55), (-26, 50), (-31, 50)]), (1.0, 1.0, 1.0), 0.4)
    picture = load_picture(sheet.image())
    assert picture.mask is not None
    return Motif(picture.pixels, picture.mask)


def filled(motif: Motif, backdrop: float) -> Template:
    """The template of a see-through motif, cut out of a photograph in front of an even wall."""
    wall = torch.full((3, motif.height, motif.width), backdrop)
    seen = paint(wall, motif, torch.eye(3))
    return Template.rigid("glass", Motif(seen, (motif.mask > 0).float()))


def print_on_a_desk() -> tuple[Template, Pixels]:
    """The template of a cup, cut out of a photograph; and a scene with a print of that photograph, tilted and
    half in shadow, on another photograph."""
    coffee = load_picture(np.asarray(data.coffee())).pixels
    cup = Template.rigid("cup", Motif.whole(coffee[:, 90:310, 190:440].contiguous()))
    desk = load_picture(np.asarray(data.camera())).pixels[:, :448]
    middle = ((coffee.shape[2] - 1) / 2, (coffee.shape[1] - 1) / 2)
    root = placed(14, 0.72, (256, 224), middle) @ tilted(35, 200, 2000, middle)
    scene = paint(desk, Motif.whole(coffee), torch.from_numpy(root))
    height, width = scene.shape[-2:]
    y, x = torch.meshgrid(torch.arange(height) / height, torch.arange(width) / width, indexing="ij")
    shadow = torch.sigmoid((x + 0.5 * y - 0.8) * 40)
    glare = torch.sigmoid((0.1 - torch.hypot(x - 0.44, (y - 0.42) * 1.5)) * 60)
    lit = scene * (1 - 0.6 * shadow) * torch.tensor((1.0, 0.85, 0.65))[:, None, None] + 0.45 * glare
    noise = torch.randn(scene.shape, generator=torch.Generator().manual_seed(0))
    return cup, (lit + 0.02 * noise).clamp(0, 1)


def glass_scenes() -> tuple[list[Pixels], Matrix]:
    """Scenes with the glass in front of an even wall and of gravel, and its pose, the same in both."""
    motif = glass()
    root = placed(8, 1.2, (224, 210), motif.centre)
    gravel = load_picture(np.asarray(data.gravel())).pixels[:, :420, :448]
    noise = torch.randn(gravel.shape, generator=torch.Generator().manual_seed(1))
    walls = (torch.full_like(gravel, 0.42), gravel)
    return [(paint(w, motif, torch.from_numpy(root)) + 0.015 * noise).clamp(0, 1) for w in walls], root


def panel(found: Detections, around: Box | None = None) -> Image.Image:
    """The drawing of the detections: the whole scene, or a box of it with the legend below."""
    drawn = found.draw(legend=True).convert("RGB")
    if around is None:
        return drawn
    # The scene has its own size in the drawing; the legend below it may be wider.
    scene, legend = drawn.crop(around), drawn.crop((0, found.size[1], drawn.width, drawn.height))
    legend = legend.resize((scene.width, round(legend.height * scene.width / legend.width)))
    cut = Image.new("RGB", (scene.width, scene.height + legend.height), "white")
    cut.paste(scene, (0, 0))
    cut.paste(legend, (0, scene.height))
    return cut


def missed(found: Detections, outline: np.ndarray, words: str) -> Image.Image:
    """The scene with the true outline of the missed object, and a line of text."""
    picture = to_image(found.scene.pixels).resize([2 * side for side in found.size])
    pen = ImageDraw.Draw(picture)
    points = [(2 * float(x) + 0.5, 2 * float(y) + 0.5) for x, y in outline]
    pen.line([*points, points[0]], fill=MISSED, width=3)
    pen.rectangle((0, picture.height - 42, picture.width, picture.height), fill="white")
    pen.text((12, picture.height - 36), words, fill="black", font_size=24)
    return picture


def save(panels: Sequence[Image.Image], path: Path) -> None:
    """Save panels side by side as a JPEG."""
    shown = [p.convert("RGB").resize((round(p.width * HEIGHT / p.height), HEIGHT)) for p in panels]
    sheet = Image.new("RGB", (sum(p.width for p in shown) + 8 * (len(shown) - 1), HEIGHT), "white")
    left = 0
    for one in shown:
        sheet.paste(one, (left, 0))
        left += one.width + 8
    sheet.save(path, quality=75, optimize=True)
    typer.echo(f"wrote {path}: {path.stat().st_size // 1000} kB")


def needles(folder: Path) -> None:
    """The gauge as the demo reads it, and with its needle under glare."""
    template = gauge()
    detector, shown = Detector(template), gauge_scene(template, 0)
    save([panel(detector(shown.pixels), NEAR_GAUGE)], folder / "gauge.jpg")
    hidden = detector(overexposed(shown, template))
    typer.echo(f"needle under glare: {[(item.parts[NEEDLE].found, item.score) for item in hidden]}")
    save([panel(hidden, NEAR_GAUGE)], folder / "glare.jpg")


def prints(folder: Path) -> None:
    """The cup in a print that is tilted and lit unevenly."""
    cup, scene = print_on_a_desk()
    found = Detector(cup)(scene)
    typer.echo(f"print: {[(item.score, item.tilt, item.scale) for item in found]}")
    canvas = to_image(cup.canvas.pixels)
    save([canvas, panel(found)], folder / "print.jpg")


def glasses(folder: Path) -> None:
    """The glass, found in front of an even wall and missed in front of gravel."""
    template = filled(glass(), 0.42)
    detector, panels = Detector(template), []
    scenes, root = glass_scenes()
    for scene in scenes:
        found = detector(scene)
        typer.echo(f"glass: {[item.score for item in found]}, {len(found.candidates)} candidates")
        outline = mapped(root, template.outlines[template.parts.leaves[0]])
        words = f"not found (threshold {detector.threshold:.2f})"
        panels.append(panel(found) if found else missed(found, outline, words))
    known = detector.calibration
    assert isinstance(known, Calibration)  # of the default method
    for item in Detector(template, threshold=0.3)(scenes[1]):
        rate = known.describe_false_alarms(item.score)
        typer.echo(f"glass on gravel, threshold 0.3: {item.score:.2f} at {item.center}: {rate}")
    save(panels, folder / "glass.jpg")


def main(out_folder: Path) -> None:
    """Write the pictures into OUT_FOLDER. Calibrates three templates, which takes a minute or two."""
    needles(out_folder)
    prints(out_folder)
    glasses(out_folder)


if __name__ == "__main__":
    typer.run(main)
