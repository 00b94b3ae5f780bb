"""A program that uses pictures, templates and detectors in a forked process; run by tests/test_threads.py.

The parent process has used the threads of torch. A forked process does not have these threads, so work that
is given to them would never be done.
"""

import os
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import wherein
from detecting import made_up
from wherein.detect import Calibration
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.template import Template


def work(folder: Path, calibration: Calibration) -> None:
    """Use the functions of the package that may use threads."""
    scene = np.asarray(Image.open(folder / "scene.png"))
    motif = scene[100:180, 200:300]
    load_picture(scene)
    load_picture(folder / "scene.png")
    load_picture(torch.from_numpy(scene.transpose(2, 0, 1).astype(np.float32) / 255))
    wherein.register(scene, motif, start=[[1, 0, 202], [0, 1, 99]])
    template = Template.load(folder / "template")
    detector = wherein.Detector(template, 0, 1, 0, calibration=calibration)
    found = detector(scene)
    assert len(found) > 0
    found.draw()
    found.to_json()
    detector.fit_traces(found)
    template.save(folder / "copy")


def main(folder: Path) -> None:
    """Use the threads of torch in this process, then `work` in a forked one."""
    torch.set_num_threads(4)
    blocks = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    scene = np.kron(blocks, np.ones((8, 8, 1), np.uint8))
    Image.fromarray(scene).save(folder / "scene.png")
    motif = torch.from_numpy(scene[100:180, 200:300].copy()).permute(2, 0, 1).float() / 255
    template = Template.load(Template.rigid("noise", Motif.whole(motif)).save(folder / "template"))
    calibration = made_up(template, 0.0, (1.0, 1.0))
    torch.rand(3000, 3000).mul(2).sum()
    wherein.register(scene, scene[100:180, 200:300])
    child = os.fork()
    if child == 0:
        work(folder, calibration)
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
