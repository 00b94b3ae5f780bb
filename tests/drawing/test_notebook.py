"""Results and templates in notebooks and plots."""

import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import wherein
from detecting import walker
from walkers import HEIGHT, WIDTH, found, logo, ring, tilted
from wherein.drawing.notebook import html


def test_the_picture_and_a_row_for_each() -> None:
    some = found("hand", at=((110.0, 80.0), (120.0, 90.0)))
    page = some._repr_html_()
    assert page.count("<tr>") == 3 and page.count("<img ") == 1
    assert "missing: hand" in page and "walker" in page
    with Image.open(io.BytesIO(some._repr_png_() or b"")) as picture:
        assert picture.size == (WIDTH, HEIGHT)
    assert "needle: 70 °C" in tilted()._repr_html_()
    assert "missing" not in logo()._repr_html_() and "<th>parts</th>" not in logo()._repr_html_()
    assert "<th>parts</th>" in page
    assert replace(some, items=()).draw().size == (WIDTH, HEIGHT)


def test_many_rows_are_counted_and_names_are_text() -> None:
    some = found(at=((110.0, 80.0),) * 30)
    assert "and 10 more" in some._repr_html_()
    assert "<script>" not in html(None, ("a",), [["<script>alert(1)</script>"]])


def test_one_detection_shows_itself_in_its_scene() -> None:
    some = found(at=((60.0, 80.0), (170.0, 90.0)))
    first, both = np.asarray(some[0].draw()), np.asarray(some.draw())
    assert first.shape == both.shape and (first != both).any()
    assert some[0]._repr_html_().count("<tr>") == 2
    alone = replace(some[0], scene=None)
    assert alone._repr_png_() is None and "<img" not in alone._repr_html_()
    with pytest.raises(wherein.ArgumentError, match="without a scene"):
        alone.draw()


def test_short_texts() -> None:
    assert repr(logo()[0]) == "Detection(logo, score 0.85, at (40, 46), angle 0.0°, scale 1.00)"
    item = tilted()[0]
    assert repr(item).endswith("scale 0.88, tilt 54°)")
    assert repr(item.parts["needle"]).endswith("turn 45.0°, 70 °C)")
    assert repr(tilted("needle")[0].parts["needle"]).startswith("PartFound(not found, ")


def test_templates() -> None:
    template = walker()
    page = template._repr_html_()
    assert page.count("<tr>") == len(template.parts) + 1
    assert "±" in page and "data:image/png" in page
    assert template.draw().width > 100


def test_registrations() -> None:
    rng = np.random.default_rng(0)
    scene = np.kron(rng.random((12, 16)), np.ones((8, 8)))
    made = wherein.register(scene, scene[30:70, 40:90], motion="translation", start=[[1, 0, 38], [0, 1, 31]])
    assert repr(made).startswith(
        "Registration(converged, ZNCC 1.000, at (64.5, 49.5), angle 0.0°, scale 1.000"
    )
    assert made.center == pytest.approx((64.5, 49.5), abs=0.01)
    assert made.box == pytest.approx((39.5, 29.5, 50, 40), abs=0.01)
    assert made.draw().width == 128
    assert (made._repr_png_() or b"").startswith(b"\x89PNG")
    bare = replace(made, scene=None)
    assert bare._repr_png_() is None
    with pytest.raises(wherein.ArgumentError, match="no pictures"):
        bare.draw()


def test_plots_are_in_the_coordinates_of_the_scene() -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
    axes = figure.Figure().subplots()
    some = ring()
    assert some.plot(axes) is axes
    assert axes.get_xlim() == (-0.5, WIDTH - 0.5) and axes.get_ylim() == (HEIGHT - 0.5, -0.5)
    lines = [np.column_stack(line.get_data())[:-1] for line in axes.lines]
    for line, expected in zip(lines, some[0].parts["ring"].rings[:2], strict=True):  # the third is a hole
        np.testing.assert_allclose(line, expected)
    assert len(some[0].plot(figure.Figure().subplots()).lines) == 2
    joints = walker().plot(figure.Figure().subplots()).lines[-1]
    assert len(joints.get_xdata()) == sum(part.moves for part in walker().parts.values())


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(wherein.MissingError, match=r"plot\(\) needs matplotlib.*pip install"):
        found().plot()
