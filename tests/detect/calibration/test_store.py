"""Where calibrations are stored."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from detecting import made_up, walker
from wherein.detect import Calibration, methods
from wherein.detect.calibration import measure, store
from wherein.detect.paper.tuning import PaperCalibration
from wherein.detect.search_range import Range
from wherein.template import Template


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Calibration]:
    """Every new calibration; the cache is a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    all_made: list[Calibration] = []

    def calibrate(template: Template, ranges: Range, progress: object = None) -> Calibration:
        all_made.append(
            made_up(template, ranges.rotation, ranges.scale, tilt=ranges.tilt, polarity=ranges.polarity)
        )
        return all_made[-1]

    monkeypatch.setattr(measure, "calibrate", calibrate)
    return all_made


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield walker().save(tmp_path / "walker")


def test_beside_the_template(made: list[Calibration], folder: Path, tmp_path: Path) -> None:
    first = measure.calibration_for(Template.load(folder), Range())
    again = measure.calibration_for(Template.load(folder), Range())
    assert len(made) == 1
    assert first == again
    assert (folder / "calibration.json").exists()
    assert not (tmp_path / "cache").exists()
    assert sorted(p.name for p in folder.iterdir() if p.name.startswith(".")) == []


def test_calibrations_for_several_ranges_share_a_file(made: list[Calibration], folder: Path) -> None:
    ranges = [
        Range(),
        Range(30.0),
        Range(30.0, (0.5, 2.0)),
        Range(30.0, (0.5, 2.0), 40.0),
        Range(30.0, (0.5, 2.0), 40.0, "any"),
    ]
    for each in (*ranges, *ranges):
        assert measure.calibration_for(Template.load(folder), each).range == each
    assert len(made) == len(ranges)
    assert len(json.loads((folder / "calibration.json").read_text())) == len(ranges)


def test_the_calibration_of_a_zip_is_beside_it(made: list[Calibration], tmp_path: Path) -> None:
    archive = walker().save(tmp_path / "walker.zip")
    for _ in range(2):
        measure.calibration_for(Template.load(archive), Range())
    assert len(made) == 1
    assert (tmp_path / "walker.calibration.json").exists()


def test_the_calibration_of_a_read_only_folder_is_in_the_cache(
    made: list[Calibration], folder: Path, tmp_path: Path
) -> None:
    folder.chmod(0o555)
    try:
        for _ in range(2):
            template = Template.load(folder)
            measure.calibration_for(template, Range())
    finally:
        folder.chmod(0o755)
    assert len(made) == 1
    assert not (folder / "calibration.json").exists()
    assert (tmp_path / "cache/wherein/calibrations" / f"{template.fingerprint}.json").exists()


def test_the_calibration_of_a_template_in_memory_is_in_the_cache(made: list[Calibration]) -> None:
    for _ in range(2):
        measure.calibration_for(walker(), Range())
    assert len(made) == 1


def test_where_nothing_can_be_written_calibration_is_repeated(
    made: list[Calibration], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for _ in range(2):
        measure.calibration_for(walker(), Range())
    assert len(made) == 2


def test_without_a_home_calibration_is_repeated(
    made: list[Calibration],
    folder: Path,
    homeless: None,
) -> None:
    for _ in range(2):
        measure.calibration_for(walker(), Range())
    assert len(made) == 2
    for _ in range(2):  # beside the template it is kept all the same
        measure.calibration_for(Template.load(folder), Range())
    assert len(made) == 3


def test_where_writing_fails_nothing_is_left_behind(
    made: list[Calibration], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError("no space left on device")

    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(Path, "replace", full)
    measure.calibration_for(Template.load(folder), Range())
    cache = [tmp_path / name for name in ("cache", "cache/wherein", "cache/wherein/calibrations")]
    assert sorted(tmp_path.rglob("*")) == sorted([*before, *cache])


@pytest.mark.parametrize(
    "text",
    [
        '{"camera_matrix": [[900, 0, 320], [0, 900, 240], [0, 0, 1]]}',
        '[{"format": "other"}]',
        "{",
        "[1, 2]",
        "null",
        "\x00\xff",
        "[" * 100_000,
    ],
    ids=["of a camera", "other format", "cut short", "numbers", "null", "binary", "nested"],
)
def test_a_file_of_another_program_is_left_alone(
    made: list[Calibration], folder: Path, tmp_path: Path, text: str
) -> None:
    (folder / "calibration.json").write_text(text)
    for _ in range(2):
        template = Template.load(folder)
        measure.calibration_for(template, Range())
    assert len(made) == 1
    assert (folder / "calibration.json").read_text() == text
    assert (tmp_path / "cache/wherein/calibrations" / f"{template.fingerprint}.json").exists()


@pytest.mark.parametrize("text", ["", "[]"])
def test_an_empty_file_is_replaced(made: list[Calibration], folder: Path, text: str) -> None:
    (folder / "calibration.json").write_text(text)
    measure.calibration_for(Template.load(folder), Range())
    assert len(json.loads((folder / "calibration.json").read_text())) == len(made) == 1


def test_a_link_is_neither_read_nor_replaced(made: list[Calibration], folder: Path, tmp_path: Path) -> None:
    record = made_up(Template.load(folder)).model_dump(mode="json")
    (tmp_path / "theirs.json").write_text(json.dumps([record]))
    (folder / "calibration.json").symlink_to(tmp_path / "theirs.json")
    measure.calibration_for(Template.load(folder), Range())
    assert len(made) == 1
    assert (folder / "calibration.json").is_symlink()
    assert json.loads((tmp_path / "theirs.json").read_text()) == [record]


def test_a_file_that_is_too_long_is_not_read(
    made: list[Calibration], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = made_up(Template.load(folder)).model_dump(mode="json")
    (folder / "calibration.json").write_text(json.dumps([record]) + " " * 5000)
    monkeypatch.setattr(store, "MAX_BYTES", 5000)
    measure.calibration_for(Template.load(folder), Range())
    assert len(made) == 1


NAMES = ("walker", "arm", "wrist", "leg")


@pytest.mark.parametrize(
    "wrong",
    [
        {"chance": {}},
        {"chance": {"walker": 0.3}},
        {"chance": dict.fromkeys(NAMES, float("nan"))},
        {"basins": {}},
        {"tilt": float("nan")},
        {"threshold": float("nan")},
        {"threshold": 2.0},
        {"threshold": 0.0},
        {"present": []},
        {"clutter": []},
        {"clutter": [float("inf")]},
        {"clutter": [0.5] * 100_001},
        {"suspects": list(range(100_001))},
        {"confused": [["arm", "leg", 0.5]] * 300_000},
        {"chance": dict.fromkeys(NAMES, 1e300)},
        {"tilt_cost": 1e300},
        {"size_power": 1e3},
        {"crowd_from": -7.0},
        {"megapixels": 1e-300},
        {"limits": {"rotation": 1e300, "scale": [1.0, 1.0]}},
        {"limits": {"rotation": 30.0, "scale": [1e-300, 1.0]}},
    ],
    ids=lambda wrong: repr(wrong)[:40],
)
def test_an_invalid_calibration_is_replaced(
    made: list[Calibration], folder: Path, wrong: dict[str, object]
) -> None:
    template = Template.load(folder)
    record = made_up(template).model_dump(mode="json")
    (folder / "calibration.json").write_text(json.dumps([record]))
    measure.calibration_for(template, Range())
    assert not made  # it is valid as it is
    (folder / "calibration.json").write_text(json.dumps([record | wrong]))
    assert measure.calibration_for(template, Range()) == made_up(template)
    assert len(made) == 1


@pytest.mark.parametrize("field", ["version", "fingerprint"])
def test_calibrations_of_another_template_or_version_are_ignored(
    made: list[Calibration], folder: Path, field: str
) -> None:
    measure.calibration_for(Template.load(folder), Range())
    place = folder / "calibration.json"
    (record,) = json.loads(place.read_text())
    place.write_text(json.dumps([record | {field: 0 if field == "version" else "0" * 32}]))
    measure.calibration_for(Template.load(folder), Range())
    assert len(made) == 2
    assert len(json.loads(place.read_text())) == 1


def test_the_template_may_move(made: list[Calibration], folder: Path, tmp_path: Path) -> None:
    measure.calibration_for(Template.load(folder), Range())
    shutil.move(folder, tmp_path / "elsewhere")
    measure.calibration_for(Template.load(tmp_path / "elsewhere"), Range())
    assert len(made) == 1
    assert os.environ["XDG_CACHE_HOME"].startswith(str(tmp_path))


def made_up_paper(template: Template, ranges: Range, progress: object = None) -> PaperCalibration:
    return PaperCalibration(
        fingerprint=template.fingerprint,
        rotation=ranges.rotation,
        scale=ranges.scale,
        sigma0=3.0,
        nodes={},
        threshold=0.4,
        clutter=[0.0],
        present=[1.0],
    )


@pytest.fixture
def rotations(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The rotations for which the paper's network was calibrated."""
    asked: list[float] = []

    def calibrate_paper(template: Template, ranges: Range, progress: object = None) -> PaperCalibration:
        asked.append(ranges.rotation)
        return made_up_paper(template, ranges)

    monkeypatch.setattr(methods, "calibrate_paper", calibrate_paper)
    return asked


def test_the_papers_network_has_a_file_of_its_own(
    made: list[Calibration], rotations: list[float], folder: Path, tmp_path: Path
) -> None:
    archive = walker().save(tmp_path / "walker.zip")
    for source in (folder, archive, folder, archive):
        template = Template.load(source)
        assert methods.paper_calibration_for(template, Range(20.0)) == made_up_paper(template, Range(20.0))
        measure.calibration_for(template, Range(20.0))
    assert rotations == [20.0, 20.0] and len(made) == 2
    files = ["calibration.json", "calibration.paper.json"]
    assert sorted(path.name for path in folder.glob("calibration*")) == files
    assert sorted(path.name for path in tmp_path.glob("walker.cal*")) == [f"walker.{name}" for name in files]


def test_the_papers_network_is_calibrated_for_30_degrees_at_most(
    rotations: list[float], folder: Path
) -> None:
    for rotation in (180.0, 45.0, 30.0):
        methods.paper_calibration_for(Template.load(folder), Range(rotation))
    assert rotations == [30.0]


def test_the_calibration_of_the_papers_network_in_the_cache(
    made: list[Calibration], rotations: list[float], tmp_path: Path
) -> None:
    for _ in range(2):
        methods.paper_calibration_for(walker(), Range(20.0))
    assert rotations == [20.0]
    (place,) = (tmp_path / "cache/wherein/calibrations").iterdir()
    assert place.name == f"{walker().fingerprint}.paper.json"
    place.write_text("[{}]")
    methods.paper_calibration_for(walker(), Range(20.0))
    assert len(rotations) == 2
