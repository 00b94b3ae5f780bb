"""The work of `wherein demo`: find robots in a photograph, read a gauge, and register a cat's face."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.cli.console import Console
from wherein.cli.output_files import check_folder, check_new
from wherein.demo import GAUGE, ROBOT
from wherein.demo.cup_scenes import CUP, cup_scenes
from wherein.demo.dial_pictures import DIAL, GAUGES, dial_pictures
from wherein.demo.gauge_scene import NEEDLE, GaugeScene, gauge_scene
from wherein.demo.pose_errors import closest_truth, pose_errors
from wherein.demo.robot_scene import SCALE, DemoScene, Truth, demo_scene, photograph
from wherein.detect.detector import Detector
from wherein.detect.result import Detection, Detections
from wherein.drawing.registrations import draw_registration
from wherein.errors import require
from wherein.files import save, write_errors
from wherein.images.eight_bit import to_image
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.motion.field import lattice
from wherein.motion.homography import mapped
from wherein.motion.models import rotation
from wherein.registration.register import register
from wherein.report.page import page
from wherein.template.bundle import Template
from wherein.template.paint import paint

FILES = {
    "scene": "scene.png",
    "detections": "robot.png",
    "report": "report.html",
    "gauge scene": "gauge_scene.png",
    "gauge detection": "gauge.png",
    "gauge report": "gauge.html",
    "registration": "register.png",
}
"""The files that the demo writes, by their contents."""

_SCENES = "photographs"
"""The folder of the scenes with a cup. The picture for the template is outside, since it is not a scene."""


def check_target(out: Path, overwrite: bool) -> None:
    """Check, before any work, that the files of the demo can be written to a folder.

    Raises:
        ArgumentError: a file exists and must not be replaced, or the folder is a file.
        UnwritableError: the folder cannot be written.
    """
    require(out.is_dir() or not out.exists(), f"--out {out} is a file: choose a folder")
    for path in (out / name for name in FILES.values()):
        free = overwrite or not path.exists()
        require(free, f"{path} already exists: choose another --out or use --overwrite")
    check_folder(out)


def write_pictures(folder: Path, overwrite: bool) -> Iterator[str]:
    """Write example pictures to a folder, and yield lines of text about them.

    Raises:
        ArgumentError: a picture exists and must not be replaced, or the folder is a file.
        UnwritableError: the folder cannot be written.
    """
    require(folder.is_dir() or not folder.exists(), f"--pictures {folder} is a file: choose a folder")
    pictures = {folder / _SCENES / name: to_image(scene) for name, scene in cup_scenes().items()}
    pictures[folder / CUP.name] = to_image(load_picture(CUP).pixels)
    gauge = dial_pictures(Template.load(GAUGE))
    pictures |= {folder / name: to_image(picture) for name, picture in gauge.items()}
    for path in pictures:
        check_new(path, overwrite)
    check_folder(folder)
    for path, picture in pictures.items():
        save(picture, path)
    yield f"photograph of a cup: {folder / CUP.name}"
    yield f"scenes, with and without the cup: {folder / _SCENES}"
    yield f"photograph of a pressure gauge: {folder / DIAL}"
    yield f"others to read it in: {folder / GAUGES}"


def run_demo(out: Path, seed: int, console: Console) -> Iterator[str]:
    """Run the demo and write its files to a folder; yields each line of text when it is known.

    Arguments:
        out: the folder.
        seed: the seed of poses, lighting and noise.
        console: shows the progress of a calibration.
    """
    # Without a source, the calibration is stored in the cache folder: the package may be read-only.
    template = replace(Template.load(ROBOT), source=None)
    background, real = photograph(seed)
    if not real:
        yield "scikit-image is not installed (pip install 'wherein[photos]'): using a synthetic background"
    shown = demo_scene(template, background, seed)
    with console.progress("Calibrating (first use)") as progress:
        # The robots are painted without tilt. A search without tilt has fewer parameters, and is more
        # accurate.
        detector = Detector(template, scale=SCALE, tilt=0, progress=progress)
    detector(shown.pixels)  # not timed: the first call makes data that later calls reuse
    found = detector(shown.pixels)
    yield from compare(found, shown, template)
    written = {what: out / name for what, name in FILES.items()}
    save(to_image(shown.pixels), written["scene"])
    save(found.draw(legend=True), written["detections"])
    with write_errors(written["report"]), page(written["report"], template) as report:
        report.add("scene.png", found, detector, maps=True)
    yield read_gauge(written, seed, console)
    if real:
        yield register_cat(written["registration"], seed)
    else:
        del written["registration"]
    yield from (f"{what}: {path}" for what, path in written.items())


def read_gauge(written: dict[str, Path], seed: int, console: Console) -> str:
    """Find the gauge in its scene with a detector's default arguments; returns a line about its value.

    Arguments:
        written: the files of the demo, by their contents.
        seed: the seed of pose, value, lighting and noise.
        console: shows the progress of a calibration.
    """
    template = replace(Template.load(GAUGE), source=None)
    shown = gauge_scene(template, seed)
    with console.progress("Calibrating (first use)") as progress:
        detector = Detector(template, progress=progress)
    found = detector(shown.pixels)
    save(to_image(shown.pixels), written["gauge scene"])
    save(found.draw(legend=True), written["gauge detection"])
    with write_errors(written["gauge report"]), page(written["gauge report"], template) as report:
        report.add(FILES["gauge scene"], found, detector, maps=True)
    return f"gauge: {describe_gauge(found, shown)}"


def describe_gauge(found: Detections, shown: GaugeScene) -> str:
    """The measured value of the gauge and the true value; or a message that it was not found."""
    if not found:
        return "not found"
    item = found[0]
    needle = item.parts[NEEDLE]
    pose = f"score {item.score:.2f}, scale {item.scale:.2f}, tilt {item.tilt:.0f}°"
    if needle.value is None:
        return f"needle not found ({pose})"
    return f"{needle.value:.2f} {needle.unit} (true value {shown.value:.2f} {needle.unit}; {pose})"


def compare(found: Detections, shown: DemoScene, template: Template) -> Iterator[str]:
    """A line about the scene, and one about each detection, numbered as in the drawing."""
    width, height = found.size
    truths = [closest_truth(item, shown.truths, template) for item in found]
    correct = sum(truth in truths for truth in shown.truths)
    yield (
        f"{correct} of {len(shown.truths)} robots found in {found.seconds:.2f} s "
        f"({width} × {height} pixels, any rotation, scale {SCALE[0]} to {SCALE[1]}, no tilt)"
    )
    for number, (item, truth) in enumerate(zip(found, truths, strict=True), 1):
        text = "false alarm" if truth is None else _describe(item, truth, template)
        yield f"robot {number}: {text}"


def _describe(item: Detection, truth: Truth, template: Template) -> str:
    errors = pose_errors(item, truth, template)
    visible = sum(part.found for part in item.parts.values() if part.leaf)
    return (
        f"score {item.score:.2f}, rotation {item.angle:.1f}°, scale {item.scale:.3f}; "
        f"{visible} of {len(template.parts.leaves)} parts found"
        + (f", hidden: {', '.join(sorted(truth.hidden))}" if truth.hidden else "")
        + (f", wrong pose: {', '.join(errors.wrong)}" if errors.wrong else "")
        + f"; error {errors.pixels[0]:.2f} px and {errors.degrees[0]:.2f}° on average, "
        f"{errors.pixels[1]:.2f} px and {errors.degrees[1]:.2f}° at most"
    )


def register_cat(target: Path, seed: int) -> str:
    """Paint a transformed cat's face into a photograph, and register it; returns a line about the result.

    Arguments:
        target: the file for a drawing of the result.
        seed: the seed of pose and noise.
    """
    from skimage import data

    rng = np.random.default_rng(seed)
    motif = cat_face(np.asarray(data.chelsea()))
    scene, truth = hide(np.asarray(data.coffee()), motif, rng)
    rgba = torch.cat((motif.pixels, motif.mask[None]))
    found = register(scene, rgba, motion="affine")
    corners = np.array([(x, y) for x in (0, motif.width - 1) for y in (0, motif.height - 1)])
    error = float(np.linalg.norm(mapped(found.matrix, corners) - mapped(truth, corners), axis=1).max())
    height, width = scene.shape[-2:]
    start = np.array([[1.0, 0, (width - motif.width) / 2], [0, 1, (height - motif.height) / 2]])
    lines = (
        f"{found.status} after {found.steps} steps",
        f"ZNCC {found.zncc:.3f}, rotation {found.angle:.1f}°",
        f"corner error {error:.3f} px",
        "orange: start, green: found",
    )
    save(draw_registration(scene, motif, found.matrix, start, lines), target)
    return f"registration of a cat's face: {', '.join(lines[:3])}"


def cat_face(photograph: NDArray[np.uint8]) -> Motif:
    """Cut an ellipse out of scikit-image's photograph of a cat."""
    pixels = load_picture(photograph[15:265, 95:375]).pixels
    height, width = pixels.shape[-2:]
    # The picture becomes the square [−1, 1]², in which the ellipse is a circle.
    unit = (lattice(height, width, pixels) + 0.5) / torch.tensor((width, height)) * 2 - 1
    return Motif(pixels, (unit.norm(dim=-1) < 0.97).float())


def hide(
    photograph: NDArray[np.uint8], motif: Motif, rng: np.random.Generator
) -> tuple[torch.Tensor, NDArray[np.float64]]:
    """The photograph with the motif painted into it, with other light and noise; and the true matrix."""
    background = load_picture(photograph).pixels
    height, width = background.shape[-2:]
    # A random linear map by its singular value decomposition: a rotation, a scaling of the axes, and another
    # rotation. The angles are −b and a + b: without the scaling, the map would be a rotation by a.
    first, second = rng.uniform(-1, 1, 2)
    outer, inner = rotation(torch.tensor((first + second, -second), dtype=torch.float64)).numpy()
    linear = outer @ np.diag(rng.uniform(0.8, 1.25, 2)) @ inner
    centre = np.array((width - 1, height - 1)) / 2 + rng.uniform(-30, 30, 2)
    shift = centre - linear @ (np.array((motif.width - 1, motif.height - 1)) / 2)
    matrix = np.eye(3)
    matrix[:2, :2], matrix[:2, 2] = linear, shift
    painted = paint(background, motif, torch.from_numpy(matrix))
    noise = torch.from_numpy(rng.normal(0, 0.03, painted.shape)).float()
    return (0.75 * painted + 0.1 + noise).clamp(0, 1), matrix[:2]
