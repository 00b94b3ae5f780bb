"""register() without a start: other light, glare, tilt, noise, and things that deform."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

import wherein
from benchmarks import photographs
from benchmarks.geometry import Spline, apply, homogeneous, pixels
from wherein.images.motif import Motif
from wherein.motion import MOTIONS
from wherein.pyramid.levels import ScenePyramid
from wherein.registration.cell_match import CellMatch
from wherein.registration.channel_search import ChannelSearch, range_of
from wherein.registration.whole_scene import WholeScene

Array = NDArray[np.float64]
WIDTH, HEIGHT = 150, 120


def photo(name: str, width: int, height: int) -> Tensor:
    """A crop of a photograph, (3, height, width)."""
    crop = photographs.crop(name, width, height, np.random.default_rng(0))
    return torch.from_numpy(crop).movedim(-1, 0).float() / 255


def picture(name: str, width: int, height: int) -> Array:
    """(height, width, 3) of a photograph."""
    return photo(name, width, height).permute(1, 2, 0).double().numpy()


def painted(scene: Array, motif: Array, truth: Array) -> Array:
    """The scene with the motif at a pose, 3×3."""
    height, width = motif.shape[:2]
    places = apply(np.linalg.inv(truth), pixels(scene.shape[1], scene.shape[0]))
    inside = ((places >= 0) & (places <= (width - 1, height - 1))).all(1)
    out = scene.reshape(-1, 3).copy()
    out[inside] = np.clip(Spline(motif)(places[inside]), 0, 1)
    return out.reshape(scene.shape)


def tilted(degrees: float, turn: float, size: float, at: tuple[float, float]) -> Array:
    """The pose of a plane that is turned, then tilted about its vertical axis, seen from five widths away."""
    t, r = np.radians(degrees), np.radians(turn)
    plane = np.array([[1, 0, -(WIDTH - 1) / 2], [0, 1, -(HEIGHT - 1) / 2], [0, 0, 1.0]])
    view = np.array([[np.cos(t), 0, 0], [0, 1, 0], [np.sin(t) / (5 * WIDTH), 0, 1.0]])
    spin = size * np.array([[np.cos(r), -np.sin(r)], [np.sin(r), np.cos(r)]])
    place = np.eye(3)
    place[:2, :2], place[:2, 2] = spin, at
    full = place @ view @ plane
    return full / full[2, 2]


def in_other_light(scene: Array) -> Array:
    """Darker to one side, with another colour of the lamp, and with a reflection over a part."""
    height, width = scene.shape[:2]
    y, x = np.mgrid[:height, :width]
    shade = (0.35 + 0.65 * x / width)[..., None] * np.array((1.0, 0.8, 0.6))
    glare = 0.5 * np.exp(-((x - 0.55 * width) ** 2 + (y - 0.45 * height) ** 2) / (2 * (0.09 * width) ** 2))
    return np.clip(scene**1.4 * shade + glare[..., None], 0, 1)


def corner_error(found: Array, truth: Array) -> float:
    ends = np.array(((0, WIDTH - 1, 0, WIDTH - 1), (0, 0, HEIGHT - 1, HEIGHT - 1), (1, 1, 1, 1)))
    a, b = homogeneous(found) @ ends, truth @ ends
    return float(np.hypot(*(a[:2] / a[2] - b[:2] / b[2])).max())


@pytest.mark.parametrize(
    ("motion", "truth"),
    [
        ("similarity", tilted(0, 70, 0.8, (330, 130))),
        ("affine", tilted(0, -150, 1.2, (150, 200))),
        ("homography", tilted(55, 30, 1.1, (300, 190))),
        ("homography", tilted(-40, 200, 1.2, (190, 180))),
    ],
)
def test_a_motif_in_other_light_is_found_without_a_start(motion: str, truth: Array) -> None:
    motif = picture("chelsea", WIDTH, HEIGHT)
    scene = in_other_light(painted(picture("coffee", 480, 360), motif, truth))
    found = wherein.register(scene, motif, motion)
    # Not to a tenth of a pixel: where the shade changes the strength of edges, their middle moves.
    assert corner_error(found.matrix, truth) < 2.0
    assert found.seen > 0.9


def test_a_pose_that_colours_lead_away_from_says_that_it_was_not_refined() -> None:
    """The shadow of a fence falls on the scene."""
    motif, truth = picture("astronaut", WIDTH, HEIGHT), tilted(0, 70, 0.8, (200, 130))
    scene = painted(picture("coffee", 400, 300), motif, truth)
    clear = wherein.register(scene, motif, "similarity")
    assert clear.refined and clear.steps > 0
    fence = 0.1 + 0.9 * (np.sin(np.arange(400) / 12) > 0)
    found = wherein.register(in_other_light(scene * fence[None, :, None]), motif, "similarity")
    assert corner_error(found.matrix, truth) < 2.0
    assert (found.refined, found.steps, str(found.status)) == (False, 0, "converged")


@pytest.mark.parametrize("degrees", [-65, 60])
def test_a_steeply_tilted_motif_is_found_without_a_start(degrees: float) -> None:
    motif, truth = picture("chelsea", WIDTH, HEIGHT), tilted(degrees, 200, 1.3, (190, 180))
    scene = 0.2 + 0.6 * painted(picture("coffee", 480, 360), motif, truth)
    assert corner_error(wherein.register(scene, motif, "homography").matrix, truth) < 0.5


def test_shifted_and_noisy_no_worse_than_match_template() -> None:
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    base, found, theirs = picture("astronaut", 400, 300), 0, 0
    for _ in range(8):
        x, y = rng.integers(0, 400 - 60), rng.integers(0, 300 - 50)
        motif = base[y : y + 50, x : x + 60]
        noisy = np.clip(0.8 * base + 0.1 + rng.normal(0, 0.12, base.shape), 0, 1)
        result = wherein.register(noisy, motif, "translation")
        found += bool(np.hypot(*(result.matrix[:, 2] - (x, y))) < 0.5)
        rated = cv2.matchTemplate(noisy.astype(np.float32), motif.astype(np.float32), cv2.TM_CCOEFF_NORMED)
        theirs += cv2.minMaxLoc(rated)[3] == (x, y)
    assert found >= theirs > 0


def test_the_same_from_run_to_run_and_for_any_number_of_threads() -> None:
    motif, truth = picture("chelsea", WIDTH, HEIGHT), tilted(50, 20, 1.0, (250, 180))
    scene = in_other_light(painted(picture("coffee", 480, 360), motif, truth))
    before, runs = torch.get_num_threads(), []
    for threads in (1, 2, 2):
        torch.set_num_threads(threads)
        runs.append(wherein.register(scene, motif, "homography").matrix)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[1], runs[2])


def test_one_torch_thread_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = []
    monkeypatch.setattr(ChannelSearch, "__call__", lambda _: inside.append(torch.get_num_threads()) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wherein.register(picture("coffee", 120, 90), picture("chelsea", 40, 30), "affine")
    assert inside == [1]


@pytest.mark.parametrize("motion", ["translation", "euclidean", "similarity"])
def test_poses_of_the_channels_conform_to_the_motion(motion: str) -> None:
    """Also where the motif's sides are not reduced by exactly the same factor."""
    scene, motif = photo("coffee", 300, 220), Motif.whole(photo("chelsea", 67, 51))
    best = WholeScene(ScenePyramid(scene), motif, MOTIONS[motion]).best(np.zeros((0, 3, 3))).pose[0]
    linear = best[:2, :2]
    size = np.sqrt(np.linalg.det(linear))
    np.testing.assert_allclose(linear.T @ linear, size**2 * np.eye(2), atol=1e-9)
    if motion != "similarity":
        assert size == pytest.approx(1)
    if motion == "translation":
        np.testing.assert_allclose(linear, np.eye(2), atol=1e-12)


def test_the_range_is_what_the_motion_can_do() -> None:
    ranges = {name: range_of(motion) for name, motion in MOTIONS.items()}
    assert [ranges[name].rotation for name in ("translation", "euclidean")] == [0, 180]
    assert [ranges[name].scale[0] < 1 for name in ("euclidean", "similarity")] == [False, True]
    assert [ranges[name].tilt > 0 for name in ("similarity", "affine", "homography")] == [False, True, True]


def test_cells_find_what_has_deformed() -> None:
    """Each quarter of the motif has moved by two pixels: all of it together fits nowhere."""
    motif = photo("chelsea", 48, 48)
    scene = photo("coffee", 240, 180).clone()
    moves = {(0, 0): (-2, 1), (0, 24): (2, 2), (24, 0): (1, -2), (24, 24): (-1, 2)}
    for (y, x), (dy, dx) in moves.items():
        scene[:, 70 + y + dy :, 120 + x + dx :][:, :24, :24] = motif[:, y : y + 24, x : x + 24]
    place = CellMatch(ScenePyramid(scene), Motif.whole(motif)).place
    assert place is not None
    assert np.abs(place.pose[:2, 2] - (120, 70)).max() < 3
    assert place.ahead > 2


def test_a_pose_is_rated_as_its_place_is() -> None:
    scene, motif = photo("coffee", 200, 150), Motif.whole(photo("coffee", 200, 150)[:, 60:100, 80:120])
    match = CellMatch(ScenePyramid(scene), motif)
    place = match.place
    assert place is not None
    assert np.abs(place.pose[:2, 2] - (80, 60)).max() < 1
    poses = np.tile(np.eye(3), (4, 1, 1))
    poses[:, :2, 2] = (80, 60), place.pose[:2, 2], (92, 60), (1e4, 1e4)
    right, here, aside, outside = match.rate(poses)
    assert here == pytest.approx(place.score, rel=0.1)  # which is that of the nearest square
    assert right > here > aside > outside


def test_nothing_stands_out_where_there_is_no_room() -> None:
    """A motif as large as the scene has one place."""
    scene = photo("coffee", 120, 90)
    place = CellMatch(ScenePyramid(scene), Motif.whole(scene)).place
    assert place is not None
    assert np.abs(place.pose[:2, 2]).max() < 1
    assert place.ahead == 0


def test_a_masked_motif_has_cells_only_inside() -> None:
    y, x = np.mgrid[:60, :60]
    mask = torch.from_numpy(((x - 29.5) ** 2 + (y - 29.5) ** 2 < 29**2).astype(np.float32))
    scene = photo("coffee", 200, 150).clone()
    inner = photo("chelsea", 60, 60)
    scene[:, 50:110, 90:150] = torch.where(mask > 0.5, inner, scene[:, 50:110, 90:150])
    place = CellMatch(ScenePyramid(scene), Motif(inner, mask)).place
    assert place is not None
    assert np.abs(place.pose[:2, 2] - (90, 50)).max() < 2


@pytest.mark.shared
def test_photographs_of_one_wall_from_steep_angles(shared: Path) -> None:
    """graf, whose fifth and sixth pictures are tilted by 69° and 74°: SIFT misses both."""
    folder = shared / "real" / "oxford" / "graf"
    if not folder.exists():
        pytest.skip("no ../shared/real/oxford")
    pictures = {k: np.asarray(Image.open(folder / f"img{k}.jpg").convert("RGB")) for k in (1, 5, 6)}
    for number in (5, 6):
        text = (folder / f"H1to{number}p.xml").read_text()
        values = text.split("<data>")[1].split("</data>")[0].split()
        truth = np.array(values, dtype=np.float64).reshape(3, 3)
        found = wherein.register(pictures[number], pictures[1], "homography").matrix
        height, width = pictures[1].shape[:2]
        ends = np.array(((0, width - 1, 0, width - 1), (0, 0, height - 1, height - 1), (1, 1, 1, 1)))
        a, b = found @ ends, truth @ ends
        assert np.hypot(*(a[:2] / a[2] - b[:2] / b[2])).mean() < 5


def test_a_motif_without_any_edge_is_not_an_error() -> None:
    """A chequerboard of single pixels: central differences see none of it."""
    chequered = np.indices((32, 32)).sum(0) % 2 * 1.0
    scene = np.full((90, 90), 0.5)
    scene[20:52, 30:62] = chequered
    assert wherein.register(scene, chequered, "translation").zncc > 0.9


def test_incomplete_pixels_of_a_large_picture_are_no_outline() -> None:
    """Its height is no multiple of the factor by which it is reduced."""
    motif = Motif.whole(photo("astronaut", 401, 301))
    search = ChannelSearch(ScenePyramid(photo("coffee", 420, 320)), motif, MOTIONS["homography"])
    assert search.large
    assert bool((search.motif.mask == 1).all())


def test_texture_tells_whether_a_motif_is_rich() -> None:
    scene = ScenePyramid(photo("coffee", 200, 150))
    rich, plain, small = photo("gravel", 90, 80), photo("gravel", 90, 80) * 0.02, photo("gravel", 20, 20)
    found = [
        ChannelSearch(scene, Motif.whole(one), MOTIONS["similarity"]).rich for one in (rich, plain, small)
    ]
    assert found == [True, False, False]
