"""Every form a picture may come in, against pixel values known beforehand."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from wherein.errors import ArgumentError, PictureError
from wherein.images.load import load_mask, load_picture, load_scene
from wherein.images.picture import Picture

H, W = 13, 7  # odd and not square


def colours(channels=3, dtype=np.uint8):
    rng = np.random.default_rng(0)
    return rng.integers(0, np.iinfo(dtype).max, (H, W, channels), dtype=dtype, endpoint=True)


def planar(array, full=255):
    """The float32 that an (H, W, C) array must become."""
    return torch.from_numpy((array.astype(np.float32) / np.float32(full)).transpose(2, 0, 1).copy())


def grey_planes(array, full=255):
    return planar(np.repeat(array[..., None], 3, axis=2), full)


def same(picture, pixels, mask=None):
    assert picture.pixels.dtype == pixels.dtype
    assert torch.equal(picture.pixels, pixels)
    assert picture.pixels.is_contiguous()
    if mask is None:
        assert picture.mask is None
    else:
        assert torch.equal(picture.mask, mask)


# Arrays


@pytest.mark.parametrize(("dtype", "full"), [(np.uint8, 255), (np.uint16, 65535)])
def test_integer_arrays_are_scaled_by_their_range(dtype, full):
    rgba = colours(4, dtype)
    same(load_picture(rgba[..., :3]), planar(rgba[..., :3], full))
    same(load_picture(rgba), planar(rgba[..., :3], full), planar(rgba, full)[3])
    same(load_picture(rgba[..., 0]), grey_planes(rgba[..., 0], full))
    same(load_picture(rgba[..., :1]), grey_planes(rgba[..., 0], full))


def test_the_ends_of_the_range_are_exactly_zero_and_one():
    for dtype in (np.uint8, np.uint16, bool):
        ends = np.array([[0, np.iinfo(dtype).max if dtype is not bool else 1]], dtype=dtype)
        assert load_picture(ends).pixels.unique().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given_type", "kept"),
    [("f2", torch.float32), ("f4", torch.float32), ("f8", torch.float64), (np.longdouble, torch.float64)],
)
def test_float_arrays_are_kept_as_they_are(given_type, kept):
    array = (colours() / 256).astype(given_type)  # exact in each type
    same(load_picture(array), torch.from_numpy(array.astype("f8").transpose(2, 0, 1).copy()).to(kept))


def test_values_just_outside_the_range_are_not_clamped():
    array = np.array([[-9e-4, 0.5, 1.0009]], dtype=np.float32)
    assert torch.equal(load_picture(array).pixels[0], torch.from_numpy(array))


@pytest.mark.parametrize("swap", ["u1", ">u2", "<u2", ">f4", "<f4", ">f8"])
@pytest.mark.parametrize("view", ["flipped", "transposed", "strided", "planar", "read only"])
def test_any_byte_order_and_any_strides_will_do(swap, view):
    plain = colours() if swap == "u1" else colours(3, np.uint16) if "u" in swap else colours() / 256
    array = plain.astype(swap)
    if view == "flipped":
        array = array[::-1, ::-1, ::-1]
    elif view == "transposed":
        array = array.transpose(1, 0, 2)
    elif view == "strided":
        array = array[1::2, ::3]
    elif view == "planar":
        array = np.ascontiguousarray(array.transpose(2, 0, 1)).transpose(1, 2, 0)
    else:
        array.flags.writeable = False
    full = {"1": 255, "2": 65535, "4": 1, "8": 1}[swap[-1]]
    expected = array.astype(np.float64 if swap[-1] == "8" else np.float32) / np.float32(full)
    assert np.array_equal(load_picture(array).pixels.numpy(), expected.transpose(2, 0, 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("planar_memory", [False, True])
def test_an_array_is_neither_touched_nor_shared(dtype, planar_memory):
    array = (colours(4) / 256).astype(dtype) if np.dtype(dtype).kind == "f" else colours(4).astype(dtype)
    if planar_memory:  # the layout that torch could take without a copy
        array = np.ascontiguousarray(array.transpose(2, 0, 1)).transpose(1, 2, 0)
    before = array.copy()
    picture = load_picture(array)
    pixels, mask = picture.pixels.clone(), picture.mask.clone()
    assert np.array_equal(array, before)
    array[:] = 0
    assert torch.equal(picture.pixels, pixels)
    assert torch.equal(picture.mask, mask)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([None, 1, 3, 4]), st.integers(0, 99))
def test_an_array_a_tensor_and_a_pil_image_are_the_same_picture(height, width, channels, seed):
    shape = (height, width) if channels is None else (height, width, channels)
    array = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    expected = load_picture(array)
    tensor = torch.from_numpy(array) if channels is None else torch.from_numpy(array).permute(2, 0, 1)
    same(load_picture(tensor), expected.pixels, expected.mask)
    same(
        load_picture(Image.fromarray(array.squeeze(2) if channels == 1 else array)),
        expected.pixels,
        expected.mask,
    )


# Tensors


def test_integer_tensors_are_scaled_by_their_range():
    same(load_picture(torch.from_numpy(colours()).permute(2, 0, 1)), planar(colours()))
    deep = colours(4, np.uint16)
    expected = planar(deep, 65535)
    same(load_picture(torch.from_numpy(deep).permute(2, 0, 1)), expected[:3], expected[3])
    on_off = torch.eye(3, 5, dtype=torch.bool)
    same(load_picture(on_off), on_off.float().expand(3, 3, 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_float_tensors_keep_their_type_and_device(dtype):
    tensor = torch.rand(4, H, W, dtype=dtype)
    picture = load_picture(tensor)
    same(picture, tensor[:3], tensor[3])
    assert picture.pixels.device == tensor.device


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype):
    tensor = torch.rand(3, H, W).to(dtype)
    same(load_picture(tensor), tensor.to(torch.float32))


def test_the_default_type_of_torch_does_not_matter():
    torch.set_default_dtype(torch.float64)
    try:
        assert load_picture(colours()).pixels.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("shape", [(4, 5), (1, 4, 5), (3, 4, 5), (4, 4, 5)])
@pytest.mark.parametrize("color", ["rgb", "bgr"])
def test_gradients_flow_to_a_tensor(shape, color):
    def both(tensor):
        picture = load_picture(tensor, color=color)
        return picture.pixels if picture.mask is None else torch.cat([picture.pixels, picture.mask[None]])

    tensor = 0.1 + 0.8 * torch.rand(shape, dtype=torch.float64)
    assert torch.autograd.gradcheck(both, tensor.requires_grad_())


def test_a_tensor_is_not_written_to():
    tensor = torch.rand(H, W, 3).permute(2, 0, 1)
    before, version = tensor.clone(), tensor._version
    load_picture(tensor, color="bgr")
    assert tensor._version == version
    assert torch.equal(tensor, before)


# Colour order and pass-through


def test_bgr_swaps_red_and_blue_of_arrays_and_tensors_and_leaves_alpha():
    rgba = colours(4)
    bgra = rgba[..., [2, 1, 0, 3]]
    expected = load_picture(rgba)
    same(load_picture(bgra, color="bgr"), expected.pixels, expected.mask)
    same(load_picture(torch.from_numpy(bgra).permute(2, 0, 1), color="bgr"), expected.pixels, expected.mask)
    same(load_picture(rgba[..., 0], color="bgr"), load_picture(rgba[..., 0]).pixels)


def test_bgr_is_refused_where_the_order_is_known(tmp_path):
    Image.fromarray(colours()).save(tmp_path / "a.png")
    for source in (
        tmp_path / "a.png",
        str(tmp_path / "a.png"),
        Image.fromarray(colours()),
        load_picture(colours()),
    ):
        with pytest.raises(
            ArgumentError, match="scene: color='bgr' is for arrays and tensors only, and this is a"
        ):
            load_picture(source, color="bgr", role="scene")


def test_a_picture_passes_through():
    picture = Picture(torch.rand(3, H, W), None)
    assert load_picture(picture) is picture


# Masks


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.float32])
def test_a_mask_of_zeros_and_ones_means_no_and_yes(dtype, tmp_path):
    levels = np.array([[0, 1, 1], [1, 0, 0]], dtype)
    expected = torch.from_numpy(levels.astype(np.float32))
    assert torch.equal(load_mask(levels), expected)
    assert torch.equal(load_mask(torch.from_numpy(levels)), expected)
    if dtype is np.uint8:
        Image.fromarray(levels).save(tmp_path / "mask.png")
        assert torch.equal(load_mask(tmp_path / "mask.png"), expected)


def test_a_soft_mask_stays_soft():
    assert load_mask(np.array([[0, 51, 255]], np.uint8))[0].tolist() == pytest.approx([0, 0.2, 1])
    assert load_mask(np.array([[0.2, 0.6]]))[0].tolist() == pytest.approx([0.2, 0.6])
    assert load_mask(np.array([[0, 1, 2]], np.uint8)).max() < 0.01


# Wrong arguments, by their words


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"a.png", "cannot load a picture from bytes: use a path, a PIL image, a numpy array or a tensor"),
        (None, "cannot load a picture from NoneType"),
        ([[0, 1]], "cannot load a picture from list"),
        (
            np.zeros((4, 4, 2), np.uint8),
            r"the array has shape (4, 4, 2): it must be (H, W), (H, W, 1), (H, W, 3) or",
        ),
        (np.zeros((3, 40, 50), np.uint8), "it looks like (C, H, W): use array.transpose(1, 2, 0)"),
        (np.zeros((1, 3, 4, 5), np.uint8), "the array has shape (1, 3, 4, 5)"),
        (np.zeros(5, np.uint8), "the array has shape (5,)"),
        (
            np.zeros((4, 4), np.int64),
            "the array has type int64: it must be uint8, uint16, bool or float in [0, 1]; if",
        ),
        (np.zeros((4, 4), np.uint32), "convert it to uint8"),
        (np.zeros((4, 4), complex), "the array has type complex128"),
        (np.zeros((4, 4), object), "the array has type object"),
        (np.zeros((0, 4, 3), np.uint8), "the picture is empty, (0, 4): it must have at least one pixel"),
        (np.full((4, 4), 255.0), "the values are 255 to 255: floats must be in [0, 1], divide by 255"),
        (np.full((4, 4), -0.5), "the values are -0.5 to -0.5: floats must be in [0, 1], rescale them"),
        (np.full((4, 4), 4000.0), "the values are 4000 to 4000"),
        (np.array([[0, np.nan]]), "1 values are NaN or infinite: floats must be in [0, 1], replace"),
        (np.array([[0, np.inf, -np.inf]], np.float16), "2 values are NaN or infinite"),
        (torch.zeros(2, 4, 4), "the tensor has shape (2, 4, 4): it must be (H, W), (1, H, W), (3, H, W) or"),
        (torch.zeros(40, 50, 3), "it looks like (H, W, C): use tensor.permute(2, 0, 1)"),
        (torch.zeros(2, 3, 40, 50), "for several pictures use a list, as list(batch) makes"),
        (torch.zeros(1, 3, 4, 4), "the tensor has shape (1, 3, 4, 4)"),
        (torch.zeros(3, 4, 0), "the picture is empty, (4, 0): it must have at least one pixel"),
        (torch.zeros(4, 4, dtype=torch.int32), "the tensor has type torch.int32: it must be uint8, uint16"),
        (torch.zeros(4, 4, dtype=torch.complex64), "the tensor has type torch.complex64"),
        (torch.full((3, 4, 4), 2.0), "the values are 2 to 2: floats must be in [0, 1], divide by 255"),
        (torch.full((3, 4, 4), torch.nan), "48 values are NaN or infinite"),
    ],
)
def test_wrong_arguments_say_what_came_and_what_is_allowed(source, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        load_picture(source)


def test_errors_begin_with_the_role_of_the_picture():
    with pytest.raises(ArgumentError, match=r"^motif: the array has type int64"):
        load_picture(np.zeros((4, 4), np.int64), role="motif")
    with pytest.raises(PictureError, match=r"^scene: nowhere\.png: file not found"):
        load_picture("nowhere.png", role="scene")
    with pytest.raises(ArgumentError, match=r"^the array has type"):
        load_picture(np.zeros((4, 4), np.int64))


def test_wrong_keywords_say_what_is_allowed():
    with pytest.raises(ArgumentError, match="color is 'hsv': it must be 'rgb' or 'bgr'"):
        load_picture(colours(), color="hsv")
    with pytest.raises(ArgumentError, match="max_pixels is 0: it must be positive"):
        load_picture(colours(), max_pixels=0)


# The modes of Pillow, from a file and from memory


def both_ways(image, path, **options):
    """Load `image` by way of the file and directly, and see that it is one picture."""
    image.save(path, **options)
    picture = load_picture(path)
    with Image.open(path) as opened:
        for other in (opened, image):
            same(load_picture(other), picture.pixels, picture.mask)
    return picture


def palette_image():
    image = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4) % 5)
    palette = np.random.default_rng(1).integers(0, 256, (5, 3), dtype=np.uint8)
    image.putpalette(palette.tobytes())
    return image, palette[np.arange(12).reshape(3, 4) % 5]


LOSSLESS = [
    ("png", {}),
    ("webp", {"lossless": True}),
    ("tif", {}),
    ("tif", {"compression": "tiff_lzw"}),
    ("bmp", {}),
]


@pytest.mark.parametrize(("suffix", "options"), LOSSLESS)
def test_rgb_files_without_loss_are_exact(tmp_path, suffix, options):
    picture = both_ways(Image.fromarray(colours()), tmp_path / f"a.{suffix}", **options)
    same(picture, planar(colours()))


@pytest.mark.parametrize(
    ("suffix", "options"), [("png", {}), ("webp", {"lossless": True, "exact": True}), ("tif", {})]
)
def test_alpha_becomes_the_mask_and_colours_under_it_stay(tmp_path, suffix, options):
    rgba = colours(4)
    rgba[:3, :, 3] = 0
    picture = both_ways(Image.fromarray(rgba), tmp_path / f"a.{suffix}", **options)
    same(picture, planar(rgba[..., :3]), planar(rgba)[3])


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "gif"])
def test_grey_files_are_exact(tmp_path, suffix):
    grey = colours()[..., 0]
    same(both_ways(Image.fromarray(grey), tmp_path / f"a.{suffix}"), grey_planes(grey))


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_grey_with_alpha(tmp_path, suffix):
    la = colours(2)
    image = Image.merge("LA", [Image.fromarray(la[..., 0]), Image.fromarray(la[..., 1])])
    same(both_ways(image, tmp_path / f"a.{suffix}"), grey_planes(la[..., 0]), planar(la)[1])


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "gif"])
def test_one_bit_files(tmp_path, suffix):
    bits = colours()[..., 0] > 127
    same(both_ways(Image.fromarray(bits), tmp_path / f"a.{suffix}"), grey_planes(bits, 1))


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "gif"])
def test_palette_files(tmp_path, suffix):
    image, expected = palette_image()
    same(both_ways(image, tmp_path / f"a.{suffix}"), planar(expected))


def test_palette_with_one_transparent_colour(tmp_path):
    image, expected = palette_image()
    mask = (torch.arange(12).reshape(3, 4) % 5 != 2).float()
    for name in ("a.png", "a.gif"):
        image.save(tmp_path / name, transparency=2)
        same(load_picture(tmp_path / name), planar(expected), mask)


def test_palette_with_an_alpha_for_each_colour(tmp_path):
    image, expected = palette_image()
    alphas = np.array([0, 50, 100, 255, 255], dtype=np.uint8)
    image.save(tmp_path / "a.png", transparency=alphas[:3].tobytes())
    mask = torch.from_numpy(alphas[np.arange(12).reshape(3, 4) % 5]).float().div(255)
    same(load_picture(tmp_path / "a.png"), planar(expected), mask)


def test_one_transparent_colour_of_a_picture_without_palette(tmp_path):
    rgb, deep = colours(), colours(1, np.uint16)[..., 0]
    where = torch.zeros(H, W)
    where[2, 3] = 1
    Image.fromarray(rgb).save(tmp_path / "a.png", transparency=tuple(rgb[2, 3].tolist()))
    same(load_picture(tmp_path / "a.png"), planar(rgb), 1 - where)
    Image.fromarray(deep).save(tmp_path / "b.png", transparency=int(deep[2, 3]))
    same(load_picture(tmp_path / "b.png"), grey_planes(deep, 65535), 1 - where)


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize("order", ["<u2", ">u2"])
def test_sixteen_bit_grey_is_kept_whole(tmp_path, suffix, order):
    deep = colours(1, np.uint16)[..., 0]
    image = Image.frombytes("I;16" if order == "<u2" else "I;16B", (W, H), deep.astype(order).tobytes())
    same(both_ways(image, tmp_path / f"a.{suffix}"), grey_planes(deep, 65535))


def test_integers_of_32_bits_are_sixteen_bits_or_an_error(tmp_path):
    deep = colours(1, np.uint16)[..., 0].astype(np.int32)
    same(both_ways(Image.fromarray(deep), tmp_path / "a.tif"), grey_planes(deep, 65535))
    for low, high in ((0, 65536), (-1, 9)):
        Image.fromarray(np.array([[low, high]], dtype=np.int32)).save(tmp_path / "b.tif")
        with pytest.raises(
            PictureError, match=rf"b\.tif: the values are {low} to {high}: integers must be 0 to"
        ):
            load_picture(tmp_path / "b.tif")


def test_float_tiff_is_kept_or_an_error(tmp_path):
    values = np.random.default_rng(0).random((H, W), dtype=np.float32)
    same(both_ways(Image.fromarray(values), tmp_path / "a.tif"), grey_planes(values, 1))
    Image.fromarray(values * 300).save(tmp_path / "b.tif")
    with pytest.raises(PictureError, match=r"b\.tif: the values are .* floats must be in \[0, 1\], rescale"):
        load_picture(tmp_path / "b.tif")
    with pytest.raises(PictureError, match="the PIL image: 91 values are NaN"):
        load_picture(Image.fromarray(values * np.float32(np.nan)))


def cmyk_image(cmyk):
    return Image.frombytes("CMYK", (cmyk.shape[1], cmyk.shape[0]), cmyk.tobytes())


def by_cmyk_formula(cmyk):
    return planar((255 - cmyk[..., :3].astype(float)) * (255 - cmyk[..., 3:]) / 255)


def test_cmyk_by_the_plain_formula(tmp_path):
    cmyk = colours(4)
    picture = both_ways(cmyk_image(cmyk), tmp_path / "a.tif")
    assert (picture.pixels - by_cmyk_formula(cmyk)).abs().max() < 1.01 / 255
    assert picture.mask is None


def test_cmyk_jpeg_is_not_inverted(tmp_path):
    cmyk = np.zeros((16, 32, 4), np.uint8)
    cmyk[:, :16, 1:3] = 255  # red
    cmyk[:, 16:, 3] = 200  # dark grey
    cmyk_image(cmyk).save(tmp_path / "a.jpg", quality=100, subsampling=0)
    assert b"Adobe" in (tmp_path / "a.jpg").read_bytes()
    assert (load_picture(tmp_path / "a.jpg").pixels - by_cmyk_formula(cmyk)).abs().max() < 4 / 255


@pytest.mark.parametrize("mode", ["YCbCr", "LAB", "HSV", "RGBX", "RGBa", "PA"])
def test_other_modes_come_back_to_rgb(mode):
    steps = np.arange(32)  # of colours that every one of these spaces can tell apart
    ramp = np.stack(np.broadcast_arrays(100 + 3 * steps, 110 + 3 * steps[:, None], 130), axis=-1)
    image = Image.fromarray(ramp.astype(np.uint8))
    image = image.convert("RGBA") if mode == "RGBa" else image.quantize(256) if mode == "PA" else image
    expected = load_picture(image.convert("RGB")).pixels
    picture = load_picture(image.convert(mode))
    assert (picture.pixels - expected).abs().max() < 6 / 255  # HSV has 8 bits for the hue
    assert (picture.mask is not None) == (mode in ("RGBa", "PA"))


def test_premultiplied_grey():
    la = Image.merge("LA", [Image.new("L", (4, 3), 200), Image.new("L", (4, 3), 255)])
    same(load_picture(la.convert("La")), torch.full((3, 3, 4), 200 / 255), torch.ones(3, 4))


def test_a_pil_image_is_not_touched():
    image, _ = palette_image()
    image.info["transparency"] = b"\x00\x80"
    before = image.copy()
    load_picture(image)
    assert image == before
    assert image.im.getpalette("RGBA", "RGBA") == before.im.getpalette("RGBA", "RGBA")


def test_an_empty_pil_image_and_one_that_is_too_large():
    with pytest.raises(PictureError, match="the PIL image: the picture is empty, 0 × 5: it must"):
        load_picture(Image.new("RGB", (0, 5)))
    with pytest.raises(PictureError, match="has 50 × 40 = 2,000 pixels, more than the maximum of 1,999 "):
        load_picture(Image.new("RGB", (50, 40)), max_pixels=1999)
    assert load_picture(Image.new("RGB", (50, 40)), max_pixels=2000).pixels.shape == (3, 40, 50)


def test_a_closed_pil_image_is_an_error(tmp_path):
    Image.fromarray(colours()).save(tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png")
    image.close()
    with pytest.raises(PictureError, match=r"a\.png: the picture is damaged"):
        load_picture(image)


def test_jpeg_is_close_and_a_string_will_do_for_a_path(tmp_path):
    smooth = np.stack(np.broadcast_arrays(np.arange(64) * 3, np.arange(48)[:, None] * 4, 128), axis=-1)
    Image.fromarray(smooth.astype(np.uint8)).save(tmp_path / "a.jpg", quality=95)
    picture = load_picture(str(tmp_path / "a.jpg"))
    assert (picture.pixels - planar(smooth)).abs().max() < 6 / 255
    assert picture.mask is None


def test_of_an_animation_the_first_frame(tmp_path):
    frames = [Image.new("RGB", (W, H), c) for c in ("#ff0000", "#00ff00")]
    red = torch.tensor([1.0, 0, 0]).view(3, 1, 1).expand(3, H, W)
    for name in ("a.gif", "a.webp", "a.png", "a.tif"):
        options = {"lossless": True} if name == "a.webp" else {}
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:], **options)
        with Image.open(tmp_path / name) as image:
            assert image.n_frames == 2
        assert torch.equal(load_picture(tmp_path / name).pixels, red)


def test_a_jpeg_that_holds_two_pictures_gives_the_first(tmp_path):
    frames = [Image.new("RGB", (16, 16), c) for c in ("#ff0000", "#00ff00")]  # as some cameras write
    frames[0].save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=frames[1:])
    assert load_picture(tmp_path / "a.jpg").pixels[:, 5, 5].round().tolist() == [1, 0, 0]


def test_nothing_is_left_open(tmp_path):
    Image.fromarray(colours()).save(tmp_path / "a.tif")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        load_picture(Path(tmp_path / "a.tif"))
    (tmp_path / "a.tif").unlink()


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (torch.empty(3, 8, 8, device="meta"), "the tensor is on the device meta, which holds no values"),
        (torch.rand(3, 8, 8).to_sparse(), "the tensor is sparse (torch.sparse_coo): use tensor.to_dense()"),
    ],
    ids=["meta", "sparse"],
)
def test_tensors_without_pixels_are_refused_in_words(tensor, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        load_picture(tensor)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_scene_is_not_shared_with_the_caller(dtype):
    """Who reads a video into one buffer again and again must not change the results of earlier frames."""
    buffer = torch.rand(3, 8, 9, dtype=dtype)
    before = buffer.clone()
    scene = load_scene(buffer)
    buffer.zero_()
    assert torch.equal(scene.pixels, before)
    rgba = torch.rand(4, 8, 9, dtype=dtype)
    alpha = rgba[3].clone()
    scene = load_scene(rgba)
    rgba.zero_()
    assert torch.equal(scene.mask, alpha)
