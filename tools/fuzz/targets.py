"""The targets of fuzzing. Each makes a random input, and passes it to the functions that read such inputs.

A target returns whether the input was accepted. It may raise a `WhereinError`; any other exception is a
finding.
"""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import torch

from tools.fuzz import seeds
from tools.fuzz.mutations import mutated, mutated_json, with_checksums
from tools.fuzz.requests import studio
from wherein.detect.calibration.model import STORE
from wherein.detect.calibration.store import CalibrationStore
from wherein.detect.detector import Detector
from wherein.detect.paper.tuning.paper_model import VERSION, PaperCalibration
from wherein.formats.annotation import read
from wherein.images.load import load_bytes, load_picture
from wherein.making.checks import findings
from wherein.making.cutout import cut
from wherein.template.bundle import Template

Target = Callable[[Random, Path], bool]
"""Takes the generator of a case, and an empty folder."""

MAX_PIXELS = 1_000_000
"""Maximum number of pixels of a picture. As floats these take 12 MB, so a case that needs far more memory has
ignored the limit."""

_SEARCHED = 0.05
"""Fraction of the loaded templates that are also searched for: a search takes as long as many cases."""


def pictures(rng: Random, folder: Path) -> bool:
    """A picture file, as a scene, as bytes and as a template."""
    contents = mutated(rng.choice(seeds.pictures()), rng, seeds.pictures())
    if contents.startswith(b"\x89PNG") and rng.random() < 0.7:
        contents = with_checksums(contents)
    path = folder / rng.choice(("scene.png", "scene.tif", "scene"))
    path.write_bytes(contents)
    if rng.random() < 0.2:
        load_bytes(contents, max_pixels=MAX_PIXELS)
    elif rng.random() < 0.2:
        Template.load(path, MAX_PIXELS)
    else:
        load_picture(path, max_pixels=MAX_PIXELS)
    return True


def templates(rng: Random, folder: Path) -> bool:
    """A folder with template.json. A template that loads is saved, and sometimes searched for."""
    made = folder / "template"
    made.mkdir()
    for name, content in seeds.files().items():
        (made / name).write_bytes(content)
    spec = json.loads(seeds.files()["template.json"])
    (made / "template.json").write_text(mutated_json(spec, rng), encoding="utf-8", errors="surrogatepass")
    if rng.random() < 0.2:
        victim = made / rng.choice(("canvas.png", "body.png", "arm.png"))
        victim.write_bytes(with_checksums(mutated(victim.read_bytes(), rng, seeds.pictures())))
    _use(Template.load(made, MAX_PIXELS), rng, folder)
    return True


def archives(rng: Random, folder: Path) -> bool:
    """A .zip of a template, with damaged bytes, or with members that have hostile names and contents."""
    path = folder / "template.zip"
    path.write_bytes(_archive(rng))
    _use(Template.load(path, MAX_PIXELS), rng, folder)
    return True


def _archive(rng: Random) -> bytes:
    if rng.random() < 0.5:
        return mutated(seeds.archive(), rng, [seeds.archive(), *seeds.pictures()])
    file = io.BytesIO()
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(file, "w", packing) as made:
        for name, content in seeds.files().items():
            info = zipfile.ZipInfo(name)
            info.compress_type = packing
            if rng.random() < 0.2:
                info.filename = rng.choice(
                    ("../secret.png", "/evil", "C:/evil", "a\\b", "sub/" + name, name + "/", "\u202e", "..")
                )
            if rng.random() < 0.2:
                info.external_attr = rng.choice((0o120777 << 16, 0, 0xFFFFFFFF))  # the first is a link
            made.writestr(info, bytes(3_000_000) if rng.random() < 0.02 else content)
    contents = file.getvalue()
    return contents if rng.random() < 0.7 else mutated(contents, rng, [contents])


def annotations(rng: Random, folder: Path) -> bool:
    """An annotation file of another program, and the template that is cut out by it."""
    (folder / "scene.png").write_bytes(seeds.pictures()[0])
    text = mutated_json(rng.choice(seeds.annotations()), rng)
    (folder / "scene.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    found = read(folder / "scene.json")
    _use(cut(found.picture, found.outlines, "toy"), rng, folder)
    return True


def calibrations(rng: Random, folder: Path) -> bool:
    """A calibration of either method beside a template; one of the default method is then replaced."""
    for name, content in seeds.files().items():
        (folder / name).write_bytes(content)
    template = Template.load(folder)
    if rng.random() < 0.3:
        return _paper_calibration(rng, folder, template)
    record = seeds.calibration().model_dump(mode="json") | {"fingerprint": template.fingerprint}
    path = folder / "calibration.json"
    path.write_text(mutated_json([record], rng), encoding="utf-8", errors="surrogatepass")
    before, known = path.read_bytes(), STORE.load(template, seeds.RANGE)
    if known is not None and rng.random() < _SEARCHED:
        _search(template, known[0])
    STORE.save(template, seeds.calibration().model_copy(update={"fingerprint": template.fingerprint}))
    foreign = known is None and b'"wherein-calibration/1"' not in before and before not in (b"", b"[]")
    assert not foreign or path.read_bytes() == before, "a file of another program was replaced"
    return known is not None


def _paper_calibration(rng: Random, folder: Path, template: Template) -> bool:
    record = seeds.paper_calibration().model_dump(mode="json") | {"fingerprint": template.fingerprint}
    text = mutated_json([record], rng)
    (folder / "calibration.paper.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    store = CalibrationStore(PaperCalibration, VERSION, "paper.json")
    known = store.load(template, seeds.RANGE)
    if known is not None:
        known[0].network(template)
    return known is not None


def _use(template: Template, rng: Random, folder: Path) -> None:
    """Save a loaded template, load it again, and sometimes search for it."""
    again = Template.load(template.save(folder / "saved"), MAX_PIXELS)
    assert again.fingerprint == template.fingerprint, "a template changed when it was saved"
    if rng.random() < _SEARCHED:
        findings(template)
        _search(template, None)


def _search(template: Template, known: object) -> None:
    from wherein.studio.calibrations import default_calibration

    ranges = seeds.RANGE
    calibration = known or default_calibration(template, ranges)
    with torch.no_grad():
        detector = Detector(template, ranges.rotation, ranges.scale, ranges.tilt, calibration=calibration)  # type: ignore[arg-type]
        detector(seeds.scene()).to_json()


TARGETS: dict[str, Target] = {
    "pictures": pictures,
    "templates": templates,
    "archives": archives,
    "annotations": annotations,
    "calibrations": calibrations,
    "requests": studio,
}
"""The targets by their names on the command line."""
