"""The demonstration: robots in a photograph, found with all their parts, and a cat's face, registered."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from wherein.cli.places import check_folder, writing
from wherein.cli.register_cat import registered_cat
from wherein.cli.waiting import progress
from wherein.cli.work import save
from wherein.demo import ROBOT
from wherein.demo.pose_errors import closest_truth, pose_errors
from wherein.demo.robot_scene import SCALE, DemoScene, Truth, demo_scene, photograph
from wherein.detect import Detection, Detections, Detector
from wherein.drawing.registrations import to_image
from wherein.errors import require
from wherein.report.page import page
from wherein.template import Template

FILES = {
    "the scene": "scene.png",
    "what was found": "robot.png",
    "the page about it": "report.html",
    "a registration": "register.png",
}
"""What is written, by what it shows."""


def check(out: Path, overwrite: bool) -> None:
    """Before any work: `ArgumentError` where a file exists and may not be replaced, or is no folder;
    `UnwritableError` where none can be written."""
    require(out.is_dir() or not out.exists(), f"--out {out} is a file; give a folder")
    for name in FILES.values():
        require(
            overwrite or not (out / name).exists(), f"{out / name} exists; give another --out or --overwrite"
        )
    check_folder(out)


def demo(out: Path, seed: int, say: Callable[[str], None], quiet: bool = False) -> None:
    """Find everything, say how that went, and write pictures and a page into a folder.

    Arguments:
        out: the folder.
        seed: of poses, light and noise.
        say: is given each line as it comes.
        quiet: no progress.
    """
    template = replace(Template.load(ROBOT), source=None)  # so that its calibration is kept in the cache
    background, real = photograph(seed)
    if not real:
        say("no photographs here (pip install 'wherein[photos]' brings some): the scene is made by rule")
    shown = demo_scene(template, background, seed)
    with progress("calibrating, once for this template", quiet) as told:
        detector = Detector(template, scale=SCALE, progress=told)
    detector(shown.pixels)  # the first call also prepares what all others use
    found = detector(shown.pixels)
    for line in compared(found, shown, template):
        say(line)
    written = {what: out / name for what, name in FILES.items()}
    save(to_image(shown.pixels), written["the scene"])
    save(found.draw(), written["what was found"])
    _page(detector, found, written["the page about it"])
    if real:
        say(registered_cat(written["a registration"], seed))
    else:
        del written["a registration"]
    for what, path in written.items():
        say(f"{what}: {path}")


def compared(found: Detections, shown: DemoScene, template: Template) -> Iterator[str]:
    """A line about the whole, and one about each robot, numbered as in the picture."""
    width, height = found.size
    met = [closest_truth(item, shown.truths, template) for item in found]
    there = sum(truth in met for truth in shown.truths)
    yield (
        f"{there} of {len(shown.truths)} robots found in {width} × {height} px, at any rotation and "
        f"scales {SCALE[0]} to {SCALE[1]}, in {found.seconds:.2f} s"
    )
    for number, (item, truth) in enumerate(zip(found, met, strict=True), 1):
        yield f"robot {number}: {'there is none' if truth is None else _told(item, truth, template)}"


def _told(item: Detection, truth: Truth, template: Template) -> str:
    off = pose_errors(item, truth, template)
    seen = sum(part.found for part in item.parts.values() if part.leaf)
    return (
        f"score {item.score:.2f}, turned {item.angle:.1f}°, scale {item.scale:.3f}; "
        f"{seen} of {len(template.parts.leaves)} parts found"
        + (f", hidden: {', '.join(sorted(truth.hidden))}" if truth.hidden else "")
        + (f", wrong about {', '.join(off.wrong)}" if off.wrong else "")
        + f"; off by {off.pixels[0]:.2f} px and {off.degrees[0]:.2f}° on average, "
        f"{off.pixels[1]:.2f} px and {off.degrees[1]:.2f}° at most"
    )


def _page(detector: Detector, found: Detections, path: Path) -> None:
    with writing(path), page(path, detector.template) as made:
        made.add("scene.png", found, detector, maps=True)
