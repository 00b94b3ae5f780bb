"""register(): quality on real photographs, every input that can be wrong, and every fit that can fail."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage import data

import wherein
from benchmarks import photographs, scenes
from benchmarks.geometry import Spline, apply, centred, corners, homogeneous, pixels, rotation, shift
from detecting import photo
from wherein import ArgumentError, PictureError, Status
from wherein.drawing.registrations import rectified
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.motion import Euclidean
from wherein.motion.homography import mapped, scale_at
from wherein.pyramid.descent import MAX_PIXELS
from wherein.pyramid.levels import reduce
from wherein.template import Template
from wherein.template.paint import paint
from wherein.template.pose import placed, tilted
from wherein.template.render import render

Array = NDArray[np.float64]


def corner_error(found: Array, problem: scenes.Problem) -> float:
    """RMS over the four corners of the motif, in pixels."""
    height, width = problem.motif.shape[:2]
    square = np.column_stack((corners(width, height), np.ones(4)))
    ends = []
    for matrix in (found, problem.truth):
        full = np.vstack((matrix, (0, 0, 1))) if matrix.shape[0] == 2 else matrix
        moved = square @ full.T
        ends.append(moved[:, :2] / moved[:, 2:])
    return float(np.sqrt(((ends[0] - ends[1]) ** 2).sum(1).mean()))


def solve(problem: scenes.Problem) -> wherein.Registration:
    return wherein.register(problem.scene, problem.motif, problem.motion, problem.mask, problem.start)


@pytest.mark.parametrize("where", ["beach", "photographs"])
@pytest.mark.parametrize("kind", ["translation", "euclidean", "similarity", "affine"])
def test_the_poses_of_figure_1(kind: str, where: str, shared: Path) -> None:
    """A tenth of what `make bench` runs, from another seed."""
    found = [(solve(p), p) for p in scenes.figure1(kind, where, count=10, seed=77)]
    assert min(r.zncc for r, _ in found) >= 0.9
    assert np.median([corner_error(r.matrix, p) for r, p in found]) < 0.02
    assert all(r.status is Status.CONVERGED for r, _ in found)


@pytest.mark.parametrize("grey", ["motif", "scene", "both"])
def test_grey_and_colour_are_compared_as_grey(grey: str) -> None:
    """A motif that was scanned or printed in grey, in a colour photograph, and the other way round."""
    colour = data.rocket()
    plain = np.asarray(Image.fromarray(colour).convert("L"))
    y, x = 132, 454
    scene = colour if grey == "motif" else plain
    motif = (colour if grey == "scene" else plain)[y : y + 80, x : x + 100]
    found = wherein.register(scene, motif, "translation")
    np.testing.assert_allclose(found.matrix[:, 2], (x, y), atol=0.02)
    assert found.zncc > 0.999
    assert wherein.certainty(scene, motif, found) > 0.9


def test_sub_pixel_accuracy() -> None:
    errors = [corner_error(solve(p).matrix, p) for p in scenes.subpixel(count=18, seed=77)]
    assert np.sqrt(np.mean(np.square(errors))) <= 0.004


@pytest.mark.parametrize("motion", ["translation", "euclidean", "affine"])
def test_small_smooth_motifs_converge(motion: str) -> None:
    """Of eight pixels a half are at the border, where their derivatives are guesses."""
    errors, statuses = [], []
    for index in range(12):
        rng = np.random.default_rng([index, 77])
        photograph = photographs.crop(("coffee", "chelsea", "astronaut")[index % 3], 64, 64, rng) / 255.0
        scene = Spline(ndimage.gaussian_filter(photograph, (4, 4, 0)), order=5)
        turned = {"translation": np.eye(2), "euclidean": rotation(rng.uniform(-5, 5))}
        linear = turned.get(motion, scenes.small_affine(rng))
        truth = scenes.about_centre(linear, (8, 8), shift(28, 28), rng.uniform(-2, 2, 2))[:2]
        pictures = (scene(apply(m, pixels(n, n))).reshape(n, n, 3) for m, n in ((np.eye(3), 64), (truth, 8)))
        problem = scenes.Problem(*pictures, None, truth, shift(28, 28)[:2], motion, "")
        found = solve(problem)
        errors.append(corner_error(found.matrix, problem))
        statuses.append(found.status)
    assert np.median(errors) < 0.02
    assert np.mean(np.array(errors) < 0.5) > 0.9
    assert statuses.count(Status.CONVERGED) >= 11


def test_homographies_with_parts_of_the_motif_outside() -> None:
    errors = [corner_error(solve(p).matrix, p) for p in scenes.homographies(count=20, seed=77)]
    assert np.mean(np.array(errors) < 1) >= 0.95


@pytest.mark.parametrize("kind", ["similarity", "affine"])
@pytest.mark.parametrize("scale", [0.4, 0.55])
def test_half_the_size_is_found_without_a_start(kind: str, scale: float, shared: Path) -> None:
    """The scene shows the motif smaller, and so less sharp, than it is."""
    for index in range(4):
        rng = np.random.default_rng([index, 77])
        motif = scenes.body(rng)
        size = motif.shape[1], motif.shape[0]
        turned = scale * rotation(rng.uniform(-45, 45))
        place = homogeneous(centred(scenes.SCENE, size))
        truth = scenes.about_centre(turned, size, place, rng.uniform(-5, 5, 2))[:2]
        background = photographs.crop("coffee", *scenes.SCENE, rng)
        problem = scenes.Problem(
            scenes.paint(background, softened(motif, scale), truth), motif, None, truth, None, kind, "coffee"
        )
        assert corner_error(solve(problem).matrix, problem) < 0.5


def softened(motif: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    """What is finer than the pixels of a smaller picture of it taken away."""
    sigma = 0.5 * (scale**-2 - 1) ** 0.5
    alpha = motif[..., 3:] / 255
    soft = ndimage.gaussian_filter(motif[..., :3] * alpha, (sigma, sigma, 0))
    cover = ndimage.gaussian_filter(alpha, (sigma, sigma, 0))
    return np.dstack((soft / np.maximum(cover, 1e-3), cover * 255)).clip(0, 255).round().astype(np.uint8)


def test_a_large_motif_is_fitted_on_its_strongest_pixels_and_judged_on_all(textured: Array) -> None:
    scene = np.kron(textured, np.ones((8, 8)))
    scene = ndimage.gaussian_filter(scene, 2)
    motif = scene[20:740, 40:980]
    assert motif.size > MAX_PIXELS
    found = wherein.register(scene, motif, "similarity", start=[[1.02, 0, 30], [0, 1.02, 15]])
    np.testing.assert_allclose(found.matrix, [[1, 0, 40], [0, 1, 20]], atol=0.01)
    assert str(found.status) == "converged"
    noisy = (motif + np.random.default_rng(0).normal(0, 0.1, motif.shape)).clip(0, 1)
    found = wherein.register(scene, noisy, "translation", start=found.matrix)
    assert found.zncc == pytest.approx(np.corrcoef(noisy.flat, motif.flat)[0, 1], abs=2e-3)


@pytest.fixture(scope="module")
def textured() -> Array:
    """A 96 × 128 picture with structure at every scale."""
    rng = np.random.default_rng(5)
    picture = np.zeros((96, 128))
    for size in (4, 8, 16, 32):
        picture += np.kron(rng.random((96 // size, 128 // size)), np.ones((size, size)))
    return picture / picture.max()


START = [[1, 0, 39], [0, 1, 31]]


def test_whole_pixels_are_found_to_a_hundredth(textured: Array) -> None:
    found = wherein.register(textured, textured[30:70, 40:90], "translation", start=START)
    np.testing.assert_allclose(found.matrix, [[1, 0, 40], [0, 1, 30]], atol=0.01)
    assert found.matrix.dtype == np.float64
    assert found.zncc > 0.999
    assert (str(found.status), found.status) == ("converged", Status.CONVERGED)
    assert (round(found.angle, 3), round(found.scale, 3)) == (0, 1)


def test_the_angle_and_scale_of_a_homography_are_those_at_its_middle() -> None:
    """As of a detection: at its corner, where the matrix has them at once, they mean little."""
    motif = Motif.whole(torch.rand(3, 60, 80, generator=torch.Generator().manual_seed(3)))
    pose = tilted(50, 30, 80, motif.centre) @ homogeneous(np.array([[0.6, -0.8, 9.0], [0.8, 0.6, 4.0]]))
    found = wherein.Registration(pose, 0.9, 1.0, 0.1, 5, Status.CONVERGED, motif=motif)
    step = mapped(pose, np.add(motif.centre, ((1e-4, 0), (-1e-4, 0))))
    direction = (step[0] - step[1]) / 2e-4
    assert found.angle == pytest.approx(math.degrees(math.atan2(direction[1], direction[0])), abs=1e-3)
    assert found.scale == pytest.approx(scale_at(pose, motif.centre))
    assert abs(found.angle - math.degrees(math.atan2(pose[1, 0], pose[0, 0]))) > 2


@settings(max_examples=10, deadline=None)
@given(gain=st.floats(0.2, 1.0), bias=st.floats(0.0, 0.5))
def test_light_does_not_matter(textured: Array, gain: float, bias: float) -> None:
    scene = np.clip(gain * textured * (1 - bias) + bias, 0, 1)
    found = wherein.register(scene, textured[30:70, 40:90], start=START)
    np.testing.assert_allclose(found.matrix, [[1, 0, 40], [0, 1, 30]], atol=0.02)


def test_the_visible_fraction_of_the_motif(textured: Array) -> None:
    whole = wherein.register(textured, textured[30:70, 40:90], start=START)
    assert whole.seen == whole.to_dict()["seen"] == 1
    beside = np.hstack((np.zeros((96, 20)), textured))  # the motif begins 10 px left of the scene
    cut = wherein.register(textured, beside[30:70, 10:60], start=[[1, 0, -9], [0, 1, 31]])
    np.testing.assert_allclose(cut.matrix, [[1, 0, -10], [0, 1, 30]], atol=0.05)
    assert cut.seen == pytest.approx(40 / 50)
    mask = np.zeros((40, 50))
    mask[:, 10:30] = 1  # the support is inside, though its rectangle is not
    assert wherein.register(textured, beside[30:70, 10:60], mask=mask, start=cut.matrix).seen == 1
    assert wherein.register(textured, np.full((20, 20), 0.5)).seen == 1


def test_every_kind_of_picture_gives_the_same(textured: Array, tmp_path: Path) -> None:
    from PIL import Image

    scene = (textured * 255).round().astype(np.uint8)
    motif = scene[30:70, 40:90]
    Image.fromarray(motif).save(tmp_path / "motif.png")
    expected = wherein.register(scene, motif, start=START).matrix
    for kind in (
        tmp_path / "motif.png",
        str(tmp_path / "motif.png"),
        Image.fromarray(motif),
        np.stack([motif] * 3, -1),
        torch.from_numpy(motif.copy()),
        motif.astype(np.uint16) * 257,
    ):
        np.testing.assert_allclose(wherein.register(scene, kind, start=START).matrix, expected, atol=1e-4)


def test_the_mask_and_alpha_hide_what_is_not_the_motif(textured: Array) -> None:
    motif = textured[30:70, 40:90].copy()
    mask = np.ones((40, 50))
    mask[:, 30:] = 0
    motif[:, 30:] = np.random.default_rng(0).random((40, 20))
    alpha = np.dstack((motif, motif, motif, mask))
    for found in (
        wherein.register(textured, motif, mask=mask, start=START),
        wherein.register(textured, motif, mask=mask.astype(bool), start=START),
        wherein.register(textured, motif, mask=mask.astype(np.uint8), start=START),
        wherein.register(textured, motif, mask=mask.astype(np.uint8) * 255, start=START),
        wherein.register(textured, alpha, start=START),
    ):
        np.testing.assert_allclose(found.matrix, [[1, 0, 40], [0, 1, 30]], atol=0.02)


def test_robust_weights_see_past_what_covers_the_motif(textured: Array) -> None:
    scene = textured.copy()
    scene[30:52, 40:70] = np.random.default_rng(1).random((22, 30))
    plain = wherein.register(scene, textured[30:70, 40:90], start=START)
    robust = wherein.register(scene, textured[30:70, 40:90], start=START, robust=True)
    truth = np.array([[1, 0, 40], [0, 1, 30]])
    assert np.abs(robust.matrix - truth)[:, 2].max() < 0.1
    assert np.abs(robust.matrix - truth).max() <= np.abs(plain.matrix - truth).max()
    assert robust.cost < 1 - robust.zncc


def test_a_start_keeps_what_the_motion_cannot_move(textured: Array) -> None:
    """Euclidean motion from a start with a scale of 2: the scale stays."""
    motif = textured[30:70:2, 40:90:2]
    found = wherein.register(textured, motif, "euclidean", start=[[2, 0, 39], [0, 2, 31]])
    assert found.scale == pytest.approx(2, abs=1e-6)
    assert np.abs(found.matrix[:, 2] - (40, 30)).max() < 1.1  # blocks of 4 px leave a pixel of freedom
    assert found.zncc > 0.99


def test_a_motion_model_will_do_and_bgr_too(textured: Array) -> None:
    scene = np.dstack((textured, textured**2, textured**3))
    a = wherein.register(scene, scene[30:70, 40:90], Euclidean(), start=START)
    b = wherein.register(scene[..., ::-1], scene[30:70, 40:90, ::-1], "euclidean", start=START, color="bgr")
    assert np.array_equal(a.matrix, b.matrix)


def test_a_bgr_scene_may_have_a_motif_from_a_file(textured: Array, tmp_path: Path) -> None:
    scene = (np.dstack((textured, textured**2, textured**3)) * 255).astype(np.uint8)
    Image.fromarray(scene[30:70, 40:90]).save(tmp_path / "motif.png")
    a = wherein.register(scene, tmp_path / "motif.png", start=START)
    b = wherein.register(scene[..., ::-1], tmp_path / "motif.png", start=START, color="bgr")
    assert np.array_equal(a.matrix, b.matrix)
    assert wherein.certainty(scene[..., ::-1], tmp_path / "motif.png", b, color="bgr") > 0.9
    with pytest.raises(ArgumentError, match="scene: color='bgr' is for arrays"):
        wherein.register(tmp_path / "motif.png", scene, color="bgr")


def test_from_run_to_run_and_threads_the_same(textured: Array) -> None:
    runs = []
    before = torch.get_num_threads()
    for threads in (1, 2, 1):
        torch.set_num_threads(threads)
        runs.append(wherein.register(textured, textured[30:70, 40:90], "affine").matrix)
    torch.set_num_threads(before)
    assert np.array_equal(runs[0], runs[2])
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-5)


def test_inputs_are_not_touched(textured: Array) -> None:
    scene, motif = textured.copy(), textured[30:70, 40:90].copy()
    wherein.register(scene, motif, start=START)
    assert np.array_equal(scene, textured)
    assert np.array_equal(motif, textured[30:70, 40:90])


# A fit that fails has a status.


def test_no_texture(textured: Array) -> None:
    for scene, motif in (
        (textured, np.full((20, 20), 0.5)),
        (np.full((96, 128), 0.5), textured[30:70, 40:90]),
        (textured, np.full((1, 1), 0.5)),
    ):
        found = wherein.register(scene, motif)
        assert str(found.status) == "no texture"
        assert np.isfinite(found.matrix).all()
        assert math.isnan(found.zncc)


def test_a_flat_scene_has_no_texture_at_its_border_either() -> None:
    motif = np.random.default_rng(0).random((40, 40))
    for level in (0.1, 0.65, 0.9, 1.0):
        assert str(wherein.register(np.full((90, 90), level), motif).status) == "no texture"


def test_the_default_dtype_is_none_of_our_business(textured: Array) -> None:
    expected = wherein.register(textured, textured[30:70, 40:90], start=START).matrix
    torch.set_default_dtype(torch.float64)
    try:
        assert np.array_equal(
            wherein.register(textured, textured[30:70, 40:90], start=START).matrix, expected
        )
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_start_at_the_truth_is_kept() -> None:
    """A smooth motif at half size: coarse scales lead to neighbours that fit nearly as well."""
    from skimage import data

    scene = load_picture(np.asarray(data.coffee())).pixels
    turn = 0.5 * np.array([[np.cos(0.35), -np.sin(0.35)], [np.sin(0.35), np.cos(0.35)]])
    truth = np.hstack((turn, (np.array([306, 195]) - turn @ (69.5, 59.5))[:, None]))
    motif = rectified(scene, Motif.whole(torch.zeros(3, 120, 140)), truth)
    found = wherein.register(scene, motif.clamp(0, 1), "similarity", start=truth)
    assert np.abs((found.matrix - truth) @ (140, 120, 1)).max() < 0.1


@pytest.mark.parametrize(("scale", "shift"), [(0.26, -13), (0.4, 11), (0.55, -20), (1.6, 24), (2.1, -20)])
def test_other_sizes_some_way_off(scale: float, shift: float) -> None:
    """As in Figure 5, where the motif is a quarter to twice the size that the start has."""
    from skimage import data

    scene = load_picture(np.asarray(data.coffee())).pixels
    motif = Motif.whole(load_picture(np.asarray(data.astronaut())[60:160, 170:290]).pixels)
    middle, place = np.array((59.5, 49.5)), np.array((299.5 + shift, 199.5 - shift / 2))
    truth = np.hstack((scale * np.eye(2), (place - scale * middle)[:, None]))
    shown = motif if scale > 0.5 else motif.pooled(2)  # with less to lose between the pixels
    to_shown = np.linalg.inv(reduce(2)) if scale <= 0.5 else np.eye(3)
    painted = paint(scene, shown, torch.from_numpy(homogeneous(truth) @ to_shown).float())
    found = wherein.register(painted, motif.pixels, "similarity")
    assert np.abs((found.matrix - truth) @ np.array([[0, 119, 0], [0, 0, 99], [1, 1, 1]])).max() < 1


@pytest.mark.parametrize("motion", ["translation", "euclidean", "similarity", "affine", "homography"])
def test_a_start_far_outside(textured: Array, motion: str) -> None:
    for far in (500.0, -1e4, 1e9):
        found = wherein.register(textured, textured[30:70, 40:90], motion, start=[[1, 0, far], [0, 1, far]])
        assert str(found.status) == "outside"
        assert found.seen == 0
        assert np.isfinite(found.matrix).all()


def test_tiny_motifs_and_scenes_neither_hang_nor_lie(textured: Array) -> None:
    for height, width in ((1, 2), (2, 2), (3, 3), (1, 40), (5, 4)):
        found = wherein.register(textured, textured[30 : 30 + height, 40 : 40 + width], "affine")
        assert np.isfinite(found.matrix).all()
        assert not (str(found.status) == "converged" and math.isnan(found.zncc))
    small = textured[:2, :3]
    assert np.isfinite(wherein.register(small, small).matrix).all()


def test_noise_against_noise_has_a_finite_answer() -> None:
    rng = np.random.default_rng(0)
    for motion in ("euclidean", "affine", "homography"):
        found = wherein.register(rng.random((60, 70)), rng.random((30, 25)), motion)
        assert np.isfinite(found.matrix).all()
        assert found.zncc < 0.6


# Wrong arguments raise an exception with a plain message.


def test_wrong_arguments(textured: Array, tmp_path: Path) -> None:
    motif = textured[30:70, 40:90]
    spoiled = textured.copy()
    spoiled[3, 4] = np.nan
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.raises(ArgumentError, match="unknown motion 'rigid'"):
        wherein.register(textured, motif, "rigid")
    with pytest.raises(
        ArgumentError, match=r"larger than the scene \(50 × 40\): are they swapped.*\[\[0\.39, "
    ):
        wherein.register(motif, textured)
    with pytest.raises(ArgumentError, match=r"are they swapped\?$"):
        wherein.register(motif[:1, :1], textured)
    with pytest.raises(ArgumentError, match="mask is empty"):
        wherein.register(textured, motif, mask=np.zeros((40, 50)))
    with pytest.raises(ArgumentError, match=r"the mask has shape \(3, 4\) and the motif \(40, 50\)"):
        wherein.register(textured, motif, mask=np.ones((3, 4)))
    with pytest.raises(ArgumentError, match=r"shape \(4,\)"):
        wherein.register(textured, motif, start=[1, 2, 3, 4])
    with pytest.raises(ArgumentError, match="cannot be inverted"):
        wherein.register(textured, motif, start=np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="not finite"):
        wherein.register(textured, motif, start=[[1, 0, math.nan], [0, 1, 0]])
    with pytest.raises(ArgumentError, match="has perspective"):
        wherein.register(textured, motif, "affine", start=[[1, 0, 0], [0, 1, 0], [0.001, 0, 1]])
    with pytest.raises(ArgumentError, match="not numbers"):
        wherein.register(textured, motif, start="here")
    with pytest.raises(ArgumentError, match="its rows have 3, 2 entries"):
        wherein.register(textured, motif, start=[[1, 0, 5], [0, 1]])
    with pytest.raises(ArgumentError, match="its rows have 1, 3 entries"):
        wherein.register(textured, motif, start=[1, [0, 1, 2]])
    with pytest.raises(ArgumentError, match="color is 'hsv'"):
        wherein.register(textured, motif, color="hsv")
    broken = tmp_path / "broken.png"
    for role in ("scene", "motif", "mask"):
        pictures = {"scene": textured, "motif": motif}
        with pytest.raises(ArgumentError, match=f"^{role}: 1 values are NaN"):
            wherein.register(**pictures | {role: spoiled})
        with pytest.raises(PictureError, match=rf"^{role}: .*broken\.png: the content is not"):
            wherein.register(**pictures | {role: broken})


def test_the_start_that_the_error_advises_works() -> None:
    """A motif larger than the scene, which shows it at a third of its size."""
    from skimage import data

    motif = load_picture(np.asarray(data.coffee())).pixels
    scene = Motif.whole(motif).pooled(3).pixels
    with pytest.raises(ArgumentError) as refused:
        wherein.register(scene, motif)
    advised = json.loads(str(refused.value).split("such as ")[1])
    found = wherein.register(scene, motif, "similarity", start=advised)
    assert found.scale == pytest.approx(1 / 3, abs=1e-3)
    assert found.zncc > 0.98


def test_to_dict_is_plain_json(textured: Array) -> None:
    lost = wherein.register(textured, np.full((20, 20), 0.5)).to_dict()
    assert lost["zncc"] is None
    assert json.loads(json.dumps(lost, allow_nan=False)) == lost


def test_json_has_as_many_digits_as_that_of_detections(textured: Array) -> None:
    found = wherein.register(textured, textured[20:70, 15:80], "homography")
    record = found.to_dict()
    np.testing.assert_allclose(record["matrix"], found.matrix, atol=1e-6)
    plain = [*record["matrix"][0], *record["matrix"][1], record["zncc"], record["cost"], record["scale"]]
    assert plain == [round(value, 6) for value in plain]
    assert record["angle"] == round(found.angle, 4)
    assert record["center"] == [round(value, 4) for value in found.center]
    assert record["tilt"] == round(found.tilt, 4)


@pytest.mark.parametrize(("motion", "free"), [("translation", False), ("euclidean", True)])
def test_a_motion_without_scale_keeps_the_size_even_of_what_is_not_there(motion: str, free: bool) -> None:
    rng = np.random.default_rng(5)
    scene, motif = (ndimage.gaussian_filter(rng.random(size), 1.5) * 4 % 1 for size in ((150, 180), (60, 70)))
    for start in (None, [[0.7, 0.0, 40.0], [0.0, 0.7, 30.0]]):
        linear = wherein.register(scene, motif, motion, start=start).matrix[:, :2]
        np.testing.assert_allclose(linear @ linear.T, (1 if start is None else 0.49) * np.eye(2), atol=1e-6)
        assert free or abs(linear[0, 1]) < 1e-6


@pytest.mark.parametrize(("motion", "scale"), [("translation", 1.0), ("euclidean", 1.0), ("similarity", 1.2)])
@pytest.mark.parametrize("at", [(70.0, 60.0), (330.0, 250.0), (200.0, 255.0)])
def test_a_motif_is_found_anywhere(motion: str, scale: float, at: tuple[float, float]) -> None:
    picture = photo("chelsea", 64, 50)
    made = Template.rigid("motif", Motif.whole(picture))
    truth = placed(0.0 if motion == "translation" else 137.0, scale, at, made.centre)
    scene = render(photo("coffee", 400, 320), made, {"motif": truth})
    found = wherein.register(scene, picture, motion)
    ends = np.array(((0, 63, 0, 63), (0, 0, 49, 49), (1, 1, 1, 1)))
    assert np.linalg.norm((found.matrix - truth[:2]) @ ends, axis=0).max() < 0.2
    assert found.zncc > 0.97  # of fine texture half-way between pixels


def test_a_registration_keeps_its_own_scene() -> None:
    scene = torch.rand(3, 40, 50)
    before = scene.clone()
    found = wherein.register(scene, scene[:, 8:28, 10:34].clone(), start=[[1, 0, 10], [0, 1, 8]])
    scene.zero_()
    assert found.scene is not None and torch.equal(found.scene.pixels, before)
