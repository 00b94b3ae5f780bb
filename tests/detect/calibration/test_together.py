"""Many templates calibrated together: stored one by one, and measured once."""

from pathlib import Path

import pytest

from detecting import noise, walker
from wherein import Template
from wherein.detect.calibration import together
from wherein.detect.calibration.together import TOGETHER, calibrate_together, calibrations_together, suits
from wherein.detect.search_range import Range
from wherein.images.motif import Motif

RANGES = Range(180.0, (1.0, 1.0), 0.0)
TEMPLATES = [Template.rigid(f"t{seed}", Motif.whole(noise(60, 70, seed))) for seed in range(2)]


@pytest.fixture(autouse=True)
def _few_scenes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, count in (
        ("_CHANCE_SCENES", 1),
        ("_EMPTY_SCENES", 4),
        ("_PRESENT_SCENES", 2),
        ("_LOOK_SCENES", 2),
    ):
        monkeypatch.setattr(together, name, count)


def test_objects_score_higher_than_clutter() -> None:
    steps: list[float] = []
    made = calibrate_together(TEMPLATES, RANGES, progress=lambda done, _: steps.append(done))
    for template, known in zip(TEMPLATES, made, strict=True):
        assert known.serves(template, RANGES)
        assert known.present[0] > known.clutter[-1]
        assert known.clutter[-1] < known.threshold < known.present[-1]
    assert steps == sorted(steps)
    assert steps[-1] == 1.0


def test_each_is_measured_once_and_stored_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    first = calibrations_together(TEMPLATES[:1], RANGES)
    assert TOGETHER.load(TEMPLATES[0], RANGES) is not None
    assert TOGETHER.load(TEMPLATES[1], RANGES) is None
    asked: list[str] = []
    measure = together.calibrate_together

    def noted(templates: list[Template], *rest: object, **more: object) -> object:
        asked.extend(one.name for one in templates)
        return measure(templates, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(together, "calibrate_together", noted)
    both = calibrations_together(TEMPLATES, RANGES)
    assert asked == ["t1"]
    assert both["t0"] == first["t0"]


def test_templates_with_limbs_are_left_to_the_usual_calibration() -> None:
    assert suits(TEMPLATES[0], RANGES)
    assert not suits(walker(), RANGES)
    assert calibrations_together([walker()], RANGES) == {}


def test_nothing_to_calibrate() -> None:
    assert calibrate_together([], RANGES) == []
