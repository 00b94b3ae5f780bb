"""Readings: values by the turn of a part, in memory and in template.json."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wherein.errors import TemplateError
from wherein.template import Reading, Template

Spec = dict[str, Any]
Write = Callable[[Spec], Path]

DIAL = {"unit": "°C", "at": [[60, 120], [-60, 0], [0, 40]]}


def test_values_are_linear_between_the_points_and_go_on_beyond_them() -> None:
    dial = Reading.of(DIAL, "it")
    assert dial.at == ((-60, 0), (0, 40), (60, 120))
    turns = (-60, -30, 0, 30, 60, 75, -90)
    assert [dial(float(turn)) for turn in turns] == pytest.approx([0, 20, 40, 80, 120, 140, -20])
    falling = Reading.of({"unit": "", "at": [[-10, 5.0], [10, -5.0]]}, "it")
    assert falling(2.0) == pytest.approx(-1)


def test_a_reading_is_saved_and_loaded(spec: Spec, write: Write, tmp_path: Path) -> None:
    plain = Template.load(write(spec))
    spec["parts"]["arm"]["reading"] = DIAL
    spec["parts"]["pair"]["reading"] = {"at": [[0, 1], [9.5, -2.5]]}  # a group, without a unit
    loaded = Template.load(write(spec))
    again = Template.load(loaded.save(tmp_path / "again.zip"))
    for template in (loaded, again):
        assert template.parts["arm"].reading == Reading.of(DIAL, "it")
        assert template.parts["pair"].reading == Reading("", ((0.0, 1.0), (9.5, -2.5)))
        assert template.parts["left"].reading is None
        assert template.fingerprint == plain.fingerprint, "it looks and moves the same"


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ("bar", r"the part \"arm\" has reading='bar': use \{\"unit\""),
        ([[0, 1], [2, 3]], r"has reading=\[\[0, 1\], \[2, 3\]\]: use"),
        ({"unit": "bar"}, r"has a reading with \"at\": None: use"),
        ({"unit": "bar", "at": []}, r"with 0 of the points that it needs: use"),
        ({"unit": "bar", "at": [[0, 1]]}, r"with 1 of the points that it needs: use .* two or more"),
        ({"unit": "bar", "at": [[0, 1], [0.0, 2]]}, r"two values at turn 0: keep one"),
        ({"unit": "bar", "at": [[0, 1], [5]]}, r"the point \[5\]: use \[turn, value\], two numbers"),
        ({"unit": "bar", "at": [[0, 1], [5, "6"]]}, r"the point \[5, '6'\]: use"),
        ({"unit": "bar", "at": [[0, 1], [math.inf, 6]]}, r"the point \[inf, 6\]: use"),
        ({"unit": "bar", "at": [[0, 1], 7]}, r"the point 7: use"),
        ({"unit": 5, "at": [[0, 1], [2, 3]]}, r"the unit 5: use text"),
        ({"units": "bar", "at": [[0, 1], [2, 3]]}, r"a reading with \"units\": use"),
    ],
)
def test_errors_say_what_to_write(reading: object, words: str, spec: Spec, write: Write) -> None:
    spec["parts"]["arm"]["reading"] = reading
    with pytest.raises(TemplateError, match=words):
        Template.load(write(spec))


@pytest.mark.parametrize("part", ["toy", "body"])
def test_a_part_that_cannot_turn_has_no_reading(part: str, spec: Spec, write: Write) -> None:
    spec["parts"][part]["reading"] = DIAL
    with pytest.raises(TemplateError, match=f'the part "{part}" has a reading, but cannot turn: remove'):
        Template.load(write(spec))
