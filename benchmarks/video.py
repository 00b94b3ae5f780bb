"""The suite "video": speed and accuracy of tracking a template through a video.

The robot of the demo and, if ../shared is beside the checkout, the crab move over a photograph of
scikit-image with all their limbs, with changing light and noise, at 640 × 480 px. The clip is written to a
file. Then it is processed as by `wherein detect`: decoded, searched, converted to JSON and, if requested,
drawn and encoded.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from benchmarks import photographs
from benchmarks.busy import busy_process
from benchmarks.measure import machine, set_threads
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.subjects import body, crab, robot
from benchmarks.workload import aim, section
from wherein.detect import Detector
from wherein.images.eight_bit import to_image
from wherein.images.load import load_picture
from wherein.motion.homography import mapped
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.video.source import open_video
from wherein.video.tracking import VideoFrame, track_frames
from wherein.video.video_writer import write_video

SIZE, RATE = (640, 480), 25.0
NOISE = 0.02  # standard deviation, for levels in [0, 1]
ABOUT = (
    "Clips of 640 × 480 px with one object; default arguments except max_instances=1. With drawing, the "
    "annotated video is written as WebM. Busy process: a process that never waits runs at the same time. CPU "
    "is the time of the whole process per frame. Error: the distance of the centres of all found parts from "
    "the truth. Jitter: the RMS change of the body's error from frame to frame, divided by √2."
)
COLUMNS = (
    ("template", "template", "text"),
    ("drawing", "drawing", "text"),
    ("busy process", "busy", "text"),
    ("frames", "frames", "number"),
    ("found", "found", "of frames"),
    ("parts found", "parts", "of all_parts"),
    ("frames/s", "fps", "number"),
    ("CPU ms", "cpu", "ms"),
    ("error px", "error", "number"),
    ("error px, 95 %", "error_95", "number"),
    ("jitter px", "jitter", "number"),
)


@dataclass(frozen=True)
class Clip:
    """A video of a moving template.

    Attributes:
        template: the template.
        pixels: the frames, (H, W, 3) each.
        truths: for each frame, the true matrix of every part by its name.
    """

    template: Template
    pixels: Sequence[NDArray[np.uint8]]
    truths: Sequence[dict[str, NDArray[np.float64]]]


def clip(template: Template, frames: int, seed: int) -> Clip:
    """A clip in which the object moves on a closed curve, rotates and changes its scale; its limbs swing."""
    rng = np.random.default_rng((seed, 0x71DE0))
    ground = photographs.crop(
        "coffee" if "coffee" in photographs.names() else photographs.names()[0], *SIZE, rng
    )
    background = load_picture(ground).pixels
    limbs = [name for name, part in template.parts.items() if part.moves]
    phases, speeds = rng.uniform(0, 2 * np.pi, len(limbs)), rng.uniform(0.06, 0.16, len(limbs))
    pixels, truths = [], []
    for index in range(frames):
        around = 2 * np.pi * index / 150
        at = SIZE[0] / 2 + 140 * np.sin(around), SIZE[1] / 2 + 60 * np.sin(2 * around)
        root = placed(
            40 * np.sin(around + 0.5) + 10 * np.sin(5 * around),
            0.9 + 0.07 * np.sin(3 * around),
            at,
            template.centre,
        )
        swing = np.sin(phases + speeds * index)
        turns = {
            name: 0.8 * min(template.parts[name].turn, 60.0) * float(part)
            for name, part in zip(limbs, swing, strict=True)
        }
        where = matrices(template.parts, root, turns)
        light = torch.linspace(
            0.75 + 0.2 * float(np.sin(2 * around)), 0.75 + 0.2 * float(np.cos(3 * around)), SIZE[0]
        )
        noise = torch.from_numpy(rng.normal(0, NOISE, (3, SIZE[1], SIZE[0]))).float()
        scene = (render(background, template, where) * light + 0.03 + noise).clamp(0, 1)
        pixels.append(np.asarray(to_image(scene)))
        truths.append(where)
    return Clip(template, pixels, truths)


def run(settings: Settings, step: Step = silent, frames: int | None = None) -> dict[str, Any]:
    """Measure all templates; `step` is called with the progress."""
    set_threads(settings.threads)
    at, count = machine(settings.threads), frames or (25 if settings.quick else 150)
    shown = [template for template in (robot(), crab()) if template is not None]
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        for number, template in enumerate(shown):
            step(f"video: {template.name}", number / len(shown))
            made = clip(template, count, settings.seed)
            source = Path(folder) / f"{template.name}.webm"
            _write(made, source)
            detector = Detector(template, max_instances=1, threads=settings.threads)
            _followed(detector, source, None)  # not timed: data that is made on first use
            for busy in (False, True):
                for drawing in (False, True):
                    step(f"video: {template.name}", (number + (2 * busy + drawing) / 4) / len(shown))
                    rows.append(_row(made, detector, source, drawing, busy))
    missing = [] if crab() else ["../shared/crab: the robot alone is measured"]
    return {
        "format": FORMAT,
        "suite": "video",
        "command": "python -m benchmarks video" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings) | {"frames": count},
        "machine": at,
        "data": {"missing": missing + list(photographs.missing())},
        "sections": [section("video", ABOUT, COLUMNS, rows=rows, targets=_aims(rows))],
    }


def _aims(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        aim(
            f"{row['template']}: frames per second, drawing {row['drawing']}, busy process {row['busy']}",
            ">=",
            RATE,
            row["fps"],
        )
        for row in rows
    ]


def _write(made: Clip, path: Path) -> None:
    with write_video(path, SIZE, RATE) as add:
        for pixels in made.pixels:
            add(partial(Image.fromarray, pixels))


def _followed(detector: Detector, source: Path, out: Path | None) -> list[VideoFrame]:
    """All frames of a video with their detections; each is converted to JSON, as by the command line."""
    with open_video(str(source)) as video:
        frames = []
        for frame in track_frames(video, detector, out):
            json.dumps(frame.to_dict())
            frames.append(frame)
        return frames


def _row(made: Clip, detector: Detector, source: Path, drawing: bool, busy: bool) -> dict[str, Any]:
    out = source.with_name("drawn.webm") if drawing else None
    with busy_process(busy):
        began, used = perf_counter(), process_time()
        frames = _followed(detector, source, out)
        seconds, used = perf_counter() - began, process_time() - used
    return {
        "template": made.template.name,
        "drawing": "yes" if drawing else "no",
        "busy": "yes" if busy else "no",
        "frames": len(frames),
        "fps": len(frames) / seconds,
        "cpu": used / max(1, len(frames)),
        **_exactness(made, frames),
    }


def _exactness(made: Clip, frames: Sequence[VideoFrame]) -> dict[str, Any]:
    """The numbers of objects and parts that were found, and their errors."""
    off, ends, found = [], [], 0
    leaves = made.template.parts.leaves
    first = body(made.template)[0]
    for frame, truth in zip(frames, made.truths, strict=True):
        for item in frame.frame.found[:1]:
            found += 1
            errors = {
                name: mapped(item.parts[name].matrix, item.parts[name].middle)
                - mapped(truth[name], item.parts[name].middle)
                for name in leaves
                if item.parts[name].found
            }
            off += [float(np.linalg.norm(error)) for error in errors.values()]
            if first in errors:
                ends.append(errors[first])
    # If the errors of frames are independent, their differences have √2 times the standard deviation.
    moved = np.diff(np.array(ends), axis=0) if len(ends) > 1 else np.zeros((1, 2))
    return {
        "found": found,
        "parts": len(off),
        "all_parts": len(frames) * len(leaves),
        "error": float(np.median(off)) if off else None,
        "error_95": float(np.quantile(off, 0.95)) if off else None,
        "jitter": float(np.sqrt((moved**2).sum(1).mean() / 2)),
    }
