"""docs/howto/template.md: its code runs, and its limits are those of the code."""

import re
from pathlib import Path

import pytest

from detecting import noise
from wherein.images.eight_bit import to_image
from wherein.making import checks
from wherein.template import Template

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "template.md").read_text(encoding="utf-8")


def test_the_python_blocks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    to_image(noise(100, 180)).save(tmp_path / "toy.png")
    monkeypatch.chdir(tmp_path)
    crane, gauge = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(crane, names)
    made = Template.load("crane")
    assert list(made.parts) == ["crane", "body", "arm"]
    assert made.parts["arm"].joint == (76, 21)
    assert capsys.readouterr().out == ""
    exec(gauge, names)
    assert capsys.readouterr().out == "7.5\n"


def test_limits_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| ([a-z ]+?) \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE))
    numbers = {kind: [float(n) for n in re.findall(r"\d+(?:\.\d+)?", told)] for kind, told in rows.items()}
    assert {kind: told for kind, told in numbers.items() if told} == {
        "too small": [*reversed(checks._OBJECT_PIXELS), *reversed(checks._LIMB_PIXELS)],
        "thin": [checks._MIN_THICKNESS],
        "no texture": [checks._FAINT, checks._FLAT],
        "outline": [checks._MAX_OUTLINE],
        "slides": [checks._MAX_SHIFT_ZNCC],
        "symmetric": [checks._AMBIGUOUS, checks._SAME],
        "alike": [checks.MIN_SIMILARITY],
        "hidden": [checks.MIN_UNCOVERED, checks._GONE],
        "joint": [checks._NEAR_SHARE],
        "minor": [checks._MINOR],
        "large": [max(checks.SCENE_SIZE)],
        "no body": [1],
    }
