"""The gauge of the demonstration is what tools/gauge draws, and its scale is what its reading says."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tools.gauge.glyphs import GLYPHS, HEIGHT, WIDTH, text
from tools.gauge.parts import AXLE, GAUGE, RANGE, SWEEP, turn_of
from tools.robot.template import SEED, write
from wherein.demo import GAUGE as FOLDER
from wherein.making import Severity, findings
from wherein.template import Template


def test_drawing_again_gives_the_same_template(tmp_path: Path) -> None:
    write(tmp_path, SEED, GAUGE)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in FOLDER.iterdir()}
    assert json.loads((tmp_path / "template.json").read_text()) == json.loads(
        (FOLDER / "template.json").read_text()
    )
    for path in sorted(tmp_path.glob("*.png")):
        with Image.open(path) as drawn, Image.open(FOLDER / path.name) as kept:
            np.testing.assert_array_equal(np.asarray(drawn), np.asarray(kept), err_msg=path.name)


@pytest.mark.parametrize("value", [0.0, 1.0, 5.0, 10.0])
def test_there_is_a_mark_where_the_needle_shows_a_value(value: float) -> None:
    template = Template.load(FOLDER)
    reading = template.parts["needle"].reading
    assert reading is not None
    assert reading(turn_of(value)) == pytest.approx(value)
    with Image.open(FOLDER / "dial.png") as picture:
        grey = np.asarray(picture.convert("L")).astype(float)
    left, top = template.parts["dial"].at

    def brightness(turn: float) -> float:
        """On the circle of the marks."""
        angle = np.radians(turn)
        x, y = AXLE[0] + 80 * np.sin(angle) - left, AXLE[1] - 80 * np.cos(angle) - top
        return float(grey[round(y), round(x)])

    assert brightness(turn_of(value)) < 80
    assert brightness(turn_of(value) + 4) > 180


def test_the_needle_can_reach_the_ends_of_the_scale() -> None:
    part = Template.load(FOLDER).parts["needle"]
    assert part.turn > SWEEP
    assert (turn_of(0), turn_of(RANGE)) == (-SWEEP, SWEEP)
    assert part.joint == pytest.approx(AXLE)


def test_no_problem_makes_it_hard_to_find() -> None:
    wrong = [f for f in findings(Template.load(FOLDER)) if f.severity is Severity.PROBLEM]
    assert not wrong


@pytest.mark.parametrize("letter", sorted(GLYPHS))
def test_a_glyph_fills_its_box(letter: str) -> None:
    points = np.concatenate([np.array(stroke) for stroke in GLYPHS[letter]])
    assert points.min() >= -0.01
    assert (points.max(0) <= np.array((WIDTH, HEIGHT)) + 0.01).all()
    u, v = np.meshgrid(np.linspace(-20, 20, 41), np.linspace(-20, 20, 41))
    inside = text(u, v, letter, 20, 3) < 0
    assert inside[9:32].sum() == inside.sum() > 20


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 150_000
