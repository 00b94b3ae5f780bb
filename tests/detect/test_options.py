"""What a user can ask of a search: a region, overlap, polarity, candidates, and the defaults."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from detecting import detector, empty, made_up, noise, off, painted, photo, ready, scene, toy, walker
from wherein import ArgumentError, Detector, PictureError, TemplateError
from wherein.detect import Calibration, preparation
from wherein.detect.calibration import measure
from wherein.detect.calibration.store import Progress
from wherein.detect.search_range import Range
from wherein.errors import RegionError
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import placed
from wherein.video.source import open_video

PATCH = Template.rigid("patch", Motif.whole(noise(40, 50, 3)))


@pytest.fixture(scope="module")
def two() -> torch.Tensor:
    """Two patches on a photograph, at (60, 70) and (200, 90)."""
    on = photo("coffee", 260, 160)
    for x, y in ((60.0, 70.0), (200.0, 90.0)):
        on, _ = painted(PATCH, placed(0.0, 1.0, (x, y), PATCH.centre), on=on)
    return on


@pytest.fixture(scope="module")
def patches() -> Detector:
    return ready(PATCH, rotation=20.0)


def places(found: object) -> list[tuple[int, int]]:
    return sorted((round(item.center[0]), round(item.center[1])) for item in found)  # type: ignore[attr-defined]


def test_only_the_region_is_searched_and_places_are_those_of_the_scene(
    patches: Detector, two: torch.Tensor
) -> None:
    assert places(patches(two)) == [(60, 70), (200, 90)]
    assert places(patches(two, region=(130, 20, 130, 140))) == [(200, 90)]
    assert places(patches(two, region=(0, 0, 120, 160))) == [(60, 70)]
    (whole,), (cut,) = patches(two)[:1], patches(two, region=(20.5, 30.5, 240, 130))[:1]
    assert cut.score == pytest.approx(whole.score, abs=0.02)
    np.testing.assert_allclose(cut.matrix, whole.matrix, atol=0.1)
    np.testing.assert_allclose(cut.parts["patch"].polygon, whole.parts["patch"].polygon, atol=0.2)


def test_a_region_is_cut_to_the_scene(patches: Detector, two: torch.Tensor) -> None:
    found = patches(two, region=(-50, -50, 1000, 1000))
    assert found.to_dict()["detections"] == patches(two).to_dict()["detections"]
    assert found.size == (260, 160), "of the whole scene"


@pytest.mark.parametrize(
    "region",
    [(300, 0, 50, 50), (0, 0, 0, 50), (0, 0, -5, 50), (float("nan"), 0, 50, 50)],
    ids=str,
)
def test_a_region_outside_of_the_scene_is_refused(
    patches: Detector, two: torch.Tensor, region: object
) -> None:
    with pytest.raises(
        ArgumentError, match=r"region must be \(x, y, width, height\) within the scene of 260"
    ):
        Detector.__call__.__wrapped__(patches, two, region)  # without the type check of the tests


def test_a_followed_object_is_found_in_a_region(patches: Detector, two: torch.Tensor) -> None:
    near = placed(3.0, 1.0, (196.0, 93.0), PATCH.centre)
    (found,) = patches.follow(two, near[None], region=(120, 20, 140, 140))
    assert places([found]) == [(200, 90)]


@pytest.mark.parametrize(("overlap", "count"), [(0.1, 1), (0.9, 2)])
def test_how_much_one_object_may_cover_another(overlap: float, count: int) -> None:
    """The second covers a third of the first."""
    on = photo("coffee", 260, 160)
    for x in (100.0, 133.0):
        on, _ = painted(PATCH, placed(0.0, 1.0, (x, 80.0), PATCH.centre), on=on)
    known = made_up(PATCH, rotation=20.0, threshold=0.4)
    assert len(ready(PATCH, rotation=20.0, calibration=known, overlap=overlap)(on)) == count


def test_an_object_in_other_polarity_is_found_only_if_asked_for() -> None:
    made = walker()
    picture, where = painted(made, placed(20.0, 1.0, (160.0, 120.0), made.centre), {"arm": 20.0})
    negative = 1 - picture
    assert len(ready(made)(negative)) == 0
    either = ready(made, polarity="any")
    for shown in (picture, negative):
        (item,) = either(shown)
        for name in ("trunk", "upper", "hand", "leg"):
            assert item.parts[name].found, name
            assert np.less(off(made, name, item.parts[name].matrix, where[name]), 1).all(), name


def test_candidates_are_reported_beside_detections() -> None:
    """A walker in plain view, and one of which little is left."""
    made = walker()
    on = photo("coffee", 420, 260)
    on, _ = painted(made, placed(0.0, 1.0, (110.0, 120.0), made.centre), on=on)
    on, _ = painted(
        made, placed(0.0, 1.0, (310.0, 120.0), made.centre), hidden=("upper", "hand", "leg"), on=on
    )
    strict = ready(made, rotation=20.0, threshold=0.85)
    found = strict(on)
    assert [round(item.center[0]) for item in found] == [110]
    assert [round(item.center[0]) for item in found.candidates] == [310]
    assert 0.7 * 0.85 <= found.candidates[0].score < 0.85
    assert found.candidates[0].parts["trunk"].found
    assert len(found.to_dict()["candidates"]) == 1
    assert strict(empty()).candidates == ()


def test_the_defaults_are_for_a_photograph_about_which_nothing_is_known() -> None:
    defaults = {name: parameter.default for name, parameter in inspect.signature(Detector).parameters.items()}
    assert defaults["rotation"] == 180
    assert defaults["scale"] == (0.5, 2.0)
    assert defaults["tilt"] == 40
    assert defaults["polarity"] == "same"


def test_one_number_is_one_scale() -> None:
    one = Detector(toy(), 0, 1, 0, calibration=detector(toy()).calibration, threads=1)
    assert one.ranges.scale == (1.0, 1.0)
    assert len(one(scene(toy()))) == 1


def test_many_scenes_are_searched_one_by_one() -> None:
    made, template = detector(toy()), toy()
    asked: list[int] = []

    def scenes() -> Iterator[torch.Tensor]:
        for number in range(3):
            asked.append(number)
            yield scene(template) if number else empty()

    results = made(scenes())
    assert asked == []
    assert (len(next(results)), asked) == (0, [0])
    assert [len(found) for found in results] == [1, 1]
    assert [len(found) for found in made([scene(template), empty()])] == [1, 0]
    assert len(made(scene(template))) == 1  # an array is one scene, not a list of rows
    with pytest.raises(ArgumentError):
        next(made([[empty()]]))


def test_one_bad_picture_of_many_ends_nothing(tmp_path: Path) -> None:
    made, template = detector(toy()), toy()
    bad, missing, tiny = tmp_path / "bad.png", str(tmp_path / "missing.png"), torch.full((3, 9, 9), 0.5)
    bad.write_bytes(b"no picture")
    given = [bad, scene(template), missing, tiny]
    results = list(made(given, region=(20, 20, 300, 300)))
    assert [len(found) for found in results] == [0, 1, 0, 0]
    assert [found.error is None for found in results] == [False, True, False, False]
    assert [found.name for found in results] == [str(bad), "scene.png", missing, "scene.png"]
    assert (results[0].error or "").startswith("the content is not PNG")
    assert results[2].error == "file not found"
    assert (results[3].error or "").startswith(
        "region must be (x, y, width, height) within the scene of 9 × 9"
    )
    assert made.fit_traces(results[0]) == ()
    for one in (bad, missing):
        with pytest.raises(PictureError):
            made(one)
    with pytest.raises(RegionError):
        made(tiny, region=(20, 20, 300, 300))
    with pytest.raises(ArgumentError, match="bgr"):  # a wrong argument, whatever the scenes are
        next(made([bad], color="bgr"))


def test_a_path_of_many_pictures_says_how_to_search_them(tmp_path: Path) -> None:
    made, frames = detector(toy()), [Image.new("L", (60, 50), grey) for grey in (90, 120, 200)]
    moving, still, film = (tmp_path / name for name in ("moving.gif", "still.gif", "walk.mp4"))
    frames[0].save(moving, save_all=True, append_images=frames[1:])
    frames[0].save(still)
    scan = tmp_path / "scan.tif"
    frames[0].save(scan, save_all=True, append_images=frames[1:])
    film.write_bytes(b"\0" * 99)
    for path, words in (
        (
            tmp_path,
            rf'a folder, .* detector\(sorted\(Path\("{tmp_path}"\)\.glob\("\*\.png"\)\)\); `wherein det',
        ),
        (moving, "this GIF has 3 frames: open_video .* wherein.Tracker .* PIL.Image.open gives the first"),
        (scan, "this TIFF has 3 frames: open_video"),
        (film, "this is a video: open_video of wherein.video.source gives its frames"),
    ):
        with pytest.raises(PictureError, match=words):
            made(path)
        assert "this " in (next(made([str(path)])).error or "")
    with Image.open(moving) as first:
        assert len(made(still)) == len(made(first)) == 0
    with open_video(str(moving)) as video:  # as the message says
        assert [len(found) for found in made(video)] == [0, 0, 0]


def test_an_open_file_and_a_dictionary_are_no_scenes(tmp_path: Path) -> None:
    """A generator of the lines of a file would fail when it is used, if it is."""
    (tmp_path / "a.png").write_bytes(b"")
    with (tmp_path / "a.png").open("rb") as file:
        for given in (file, {"a.png": 1}):
            with pytest.raises(ArgumentError, match="cannot load a picture from"):
                Detector.__call__.__wrapped__(detector(toy()), given)


def test_a_template_without_anything_to_see_is_named_before_anything_is_calibrated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "calibrate", lambda *_, **__: pytest.fail("a calibration was begun"))
    wall = Template.rigid("wall", Motif.whole(torch.full((3, 40, 50), 0.5)))
    for given in (wall, [toy("a"), toy("b"), toy("c"), wall]):
        with pytest.raises(TemplateError, match=r'the template "wall" has neither texture nor an outline'):
            Detector(given)


def test_progress_is_shown_where_someone_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(template: Template, ranges: Range, *_: object, progress: Progress) -> Calibration:
        progress(0.5, "clutter")
        return made_up(template, ranges.rotation, ranges.scale, tilt=ranges.tilt)

    monkeypatch.setattr(measure, "calibrate", measured)
    cases = ((True, None, True), (True, False, False), (False, None, False))
    for rotation, (watched, given, shown) in enumerate(cases, 50):  # each has a calibration of its own
        monkeypatch.setattr(preparation, "is_watched", lambda watched=watched: watched)
        Detector(replace(toy(), source=None), rotation=rotation, progress=given)
        assert ("Calibrating" in capsys.readouterr().err) == shown
