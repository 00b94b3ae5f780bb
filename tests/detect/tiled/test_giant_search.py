"""Scenes in tiles: what is found in one piece, at the same place."""

from pathlib import Path

import numpy as np
import pytest
import tifffile
import torch
import zarr
from torch import Tensor

from detecting import made_up, noise, photo, ready, toy
from wherein import ArgumentError, Detection, Detections, Detector, PictureError
from wherein.detect.tiled import giant_search, overview
from wherein.detect.tiled.giant_search import GiantSearch, object_size
from wherein.detect.tiled.tiles import plan
from wherein.giant.region_source import ArraySource
from wherein.images.eight_bit import to_image, to_levels
from wherein.images.motif import Motif
from wherein.images.picture import Overview
from wherein.images.pool import pool
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

SIDE = 256
PATCH = Template.rigid("patch", Motif.whole(noise(44, 60, 5)))
OTHER = Template.rigid("other", Motif.whole(noise(50, 50, 8)))

Place = tuple[float, float, tuple[float, float]]
"""Degrees, scale and where the middle is."""


def ground(width: int = 560, height: int = 460) -> Tensor:
    """Photographs beside each other."""
    rows = [
        torch.cat([photo(name, 400, 320) for name in pair], 2)
        for pair in (("coffee", "rocket"), ("chelsea", "china"))
    ]
    return torch.cat(rows, 1)[:, :height, :width].contiguous()


def with_them(template: Template, places: list[Place], on: Tensor | None = None, turn: float = 0.0) -> Tensor:
    scene = ground() if on is None else on
    turns = {name: turn for name, part in template.parts.items() if part.moves and turn}
    for angle, scale, at in places:
        scene = render(
            scene, template, matrices(template.parts, placed(angle, scale, at, template.centre), turns)
        )
    return scene


def as_array(scene: Tensor) -> np.ndarray:
    return to_levels(scene).movedim(0, -1).numpy()


def in_tiles(detector: Detector, array: np.ndarray, side: int = SIDE, count: int | None = None) -> Detections:
    """What a search in tiles of this side finds."""
    search = GiantSearch(detector.search, detector.searches)  # type: ignore[arg-type]
    found, overview = search(ArraySource(array), (0, 0, array.shape[1], array.shape[0]), count, side=side)
    several = tuple(detector.searches) if detector.library.several else ()
    return Detections(found.items, detector.library.name, overview, 0.0, "it", found.candidates, several)


def apart(one: Detection, other: Detection, size: tuple[int, int]) -> float:
    """The largest distance between their corners."""
    corners = np.array([(0, 0, 1), (size[0], 0, 1), (*size, 1), (0, size[1], 1)], dtype=float).T
    ends = [matrix @ corners for matrix in (one.matrix, other.matrix)]
    ends = [end[:2] / (end[2] if len(end) == 3 else 1) for end in ends]
    return float(np.linalg.norm(ends[0] - ends[1], axis=0).max())


def same(found: Detections, whole: Detections, size: tuple[int, int]) -> None:
    assert len(found) == len(whole)
    assert [one.template for one in found] == [one.template for one in whole]
    assert [one.score for one in found] == pytest.approx([one.score for one in whole], abs=1e-3)
    for other in whole:  # equal scores, which are capped, have no order
        one = min(found, key=lambda item, other=other: apart(item, other, size))
        assert one.score == pytest.approx(other.score, abs=1e-3)
        assert apart(one, other, size) < 0.01
        assert {name: part.found for name, part in one.parts.items()} == {
            name: part.found for name, part in other.parts.items()
        }


def borders(detector: Detector, array: np.ndarray) -> list[tuple[int, int]]:
    """The lower right corners of the tiles inside of a scene."""
    finder = detector.search.finder  # type: ignore[union-attr]
    box = (0, 0, array.shape[1], array.shape[0])
    first = plan(box, object_size(finder), finder.ranges.scale, finder.ranges.tilt > 0, SIDE)[0]
    return [(right, bottom) for _, _, right, bottom in first.tiles if right < box[2] and bottom < box[3]]


@pytest.fixture(scope="module")
def patches() -> Detector:
    return ready(PATCH)


def test_objects_on_the_borders_of_tiles_are_found_once_and_where_they_are(patches: Detector) -> None:
    cuts = borders(patches, as_array(ground()))
    assert len(cuts) >= 2
    places = [(20.0 + 50 * k, 1.0, (x + 0.3, y - 0.4)) for k, (x, y) in enumerate(cuts[:3])]
    array = as_array(with_them(PATCH, [*places, (200.0, 1.0, (31.0, 22.5))]))
    whole = patches(array)
    assert len(whole) == len(places) + 1
    same(in_tiles(patches, array), whole, (60, 44))


def test_what_the_border_of_the_scene_cuts_off(patches: Detector) -> None:
    array = as_array(with_them(PATCH, [(0.0, 1.0, (12.0, 300.0)), (70.0, 1.0, (548.0, 420.0))]))
    whole = patches(array)
    assert len(whole) == 2
    same(in_tiles(patches, array), whole, (60, 44))


def test_a_scene_without_the_object(patches: Detector) -> None:
    found = in_tiles(patches, as_array(ground()))
    assert not found
    assert found.size == (560, 460)


def test_tilted_and_of_other_sizes() -> None:
    detector = ready(PATCH, scale=(0.7, 1.5), tilt=30.0)
    array = as_array(with_them(PATCH, [(33.0, 1.4, (321.0, 200.0)), (0.0, 0.75, (480.5, 390.0))]))
    whole = detector(array)
    assert len(whole) == 2
    same(in_tiles(detector, array, 320), whole, (60, 44))


def test_an_object_that_is_larger_than_a_tile() -> None:
    large = Template.rigid("large", Motif.whole(noise(130, 150, 6)))
    detector = ready(large, scale=(0.5, 2.0))
    array = as_array(with_them(large, [(25.0, 1.9, (360.0, 270.0)), (0.0, 0.6, (70.0, 60.0))]))
    finder = detector.search.finder  # type: ignore[union-attr]
    assert object_size(finder).span(1.9, False) > 240
    passes = plan((0, 0, 560, 460), object_size(finder), (0.5, 2.0), False, 240)
    assert passes[-1].reduction > 1
    whole = detector(array)
    assert len(whole) == 2
    found = in_tiles(detector, array, 240)
    assert len(found) == 2
    for other in whole:
        assert min(apart(one, other, (150, 130)) for one in found) < 0.01


def test_limbs_and_their_turns() -> None:
    made = toy()
    detector = ready(made)
    cut = borders(detector, as_array(ground()))[0]
    array = as_array(with_them(made, [(15.0, 1.0, (float(cut[0]), float(cut[1])))], turn=12.0))
    whole, found = detector(array), in_tiles(detector, array)
    same(found, whole, (80, 48))
    assert found[0].parts["arm"].turn == pytest.approx(whole[0].parts["arm"].turn, abs=0.05)


def test_several_templates() -> None:
    known = {one.name: made_up(one) for one in (PATCH, OTHER)}
    detector = Detector([PATCH, OTHER], scale=1, tilt=0, calibration=known, threads=1)
    scene = with_them(OTHER, [(0.0, 1.0, (260.0, 250.0))], with_them(PATCH, [(40.0, 1.0, (120.0, 300.0))]))
    same(in_tiles(detector, as_array(scene)), detector(as_array(scene)), (60, 44))


def test_the_best_of_all_tiles(patches: Detector) -> None:
    places = [(0.0, 1.0, (100.0, 100.0)), (50.0, 1.0, (450.0, 400.0)), (90.0, 1.0, (300.0, 130.0))]
    array = as_array(with_them(PATCH, places))
    assert len(in_tiles(patches, array, count=2)) == 2


def test_the_overview_shows_what_was_read(patches: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "_OVERVIEW", 200)
    array = as_array(with_them(PATCH, [(0.0, 1.0, (321.0, 300.0))]))
    found = in_tiles(patches, array)
    assert isinstance(found.scene, Overview)
    assert found.scene.reduction == 4
    expected = pool(torch.from_numpy(array).movedim(-1, 0).float() / 255, 4)
    torch.testing.assert_close(found.scene.pixels, expected, atol=1e-5, rtol=0)
    drawn = found.draw()
    assert drawn.size == (140, 115)
    assert found[0].draw().size == (140, 115)
    # The outline is drawn where the object is in the overview, and nothing elsewhere.
    changed = np.abs(np.asarray(drawn).astype(int) - np.asarray(to_image(found.scene.pixels))).max(-1) > 40
    rows, columns = np.nonzero(changed)
    assert abs(np.median(columns) - 321 / 4) < 8
    assert abs(rows.max() - (300 + 22) / 4) < 6
    assert found.to_dict()["width"] == 560
    assert patches.fit_traces(found) == ({},)


def test_files_are_read_by_region(tmp_path: Path, patches: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    array = as_array(with_them(PATCH, [(20.0, 1.0, (321.0, 300.0))]))
    tifffile.imwrite(tmp_path / "it.tif", array, tile=(64, 64), photometric="rgb")
    zarr.create_array(tmp_path / "it.zarr", data=array, chunks=(100, 90, 3))
    whole = patches(array)
    monkeypatch.setattr("wherein.giant.opened.MAX_PIXELS", 1000)
    monkeypatch.setattr(giant_search, "tile_side", lambda pixels: SIDE)
    for name in ("it.tif", "it.zarr"):
        found = patches(tmp_path / name)
        assert isinstance(found.scene, Overview)
        assert found.name == str(tmp_path / name)
        same(found, whole, (60, 44))
        apart_from_it = patches(tmp_path / name, region=(0, 0, 200, 200))
        assert not apart_from_it
        assert apart_from_it.scene.pixels[:, 400:].unique().tolist() == [0.5]
        same(patches(tmp_path / name, region=(243, 203, 300, 310)), whole, (60, 44))


def test_a_file_that_is_damaged_inside_is_an_error(
    tmp_path: Path, patches: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.tif"
    tifffile.imwrite(path, as_array(ground()), tile=(64, 64), photometric="rgb")
    path.write_bytes(path.read_bytes()[:-1000])
    monkeypatch.setattr("wherein.giant.opened.MAX_PIXELS", 1000)
    with pytest.raises(PictureError, match=r"it\.tif: .*cut off"):
        patches(path)


def test_memory_decides_what_is_searched_in_tiles(patches: Detector) -> None:
    array = as_array(with_them(PATCH, [(20.0, 1.0, (321.0, 300.0))]))
    limited = ready(PATCH, memory="64GB")
    found = limited(array)
    assert not isinstance(found.scene, Overview)  # it fits, and takes the usual way
    assert found.to_dict() | {"seconds": 0} == patches(array).to_dict() | {"seconds": 0}


def test_too_little_memory_and_what_is_no_amount() -> None:
    with pytest.raises(ArgumentError, match="is not an amount of memory"):
        ready(PATCH, memory="much")
    with pytest.raises(ArgumentError, match="MB are needed"):
        ready(PATCH, memory="100MB")(as_array(ground()))


def test_the_network_of_the_paper_cannot_search_in_tiles(tmp_path: Path, patches: Detector) -> None:
    zarr.create_array(tmp_path / "it.zarr", data=as_array(ground(90, 80)))
    patches_of_paper = ready(PATCH)
    patches_of_paper.search = type("Paper", (), {"name": "paper"})()  # type: ignore[assignment]
    with pytest.raises(ArgumentError, match='method="paper" cannot do'):
        patches_of_paper(tmp_path / "it.zarr")
