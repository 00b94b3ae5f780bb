"""What the report shows of made-up detections in perspective."""

import pytest

from pages import fragment
from walkers import SCALE, gauge, tilted
from wherein.detect.result import Detections
from wherein.report.html_format import render, svg_points
from wherein.report.scene_view import SceneView, SceneViewer
from wherein.report.template_view import ScoreView, part_entries
from wherein.template import Library


def view(some: Detections) -> SceneView:
    scores = ScoreView(0.5, 180.0, (1.0, 1.0), 0.0, None, lambda _: None)
    viewer = SceneViewer(Library.of(gauge()), {"gauge": part_entries(gauge())}, {"gauge": scores})
    return viewer("s0", "a.png", some, {}, [{} for _ in some])


def test_outlines_and_centres_are_those_in_perspective() -> None:
    some = tilted()
    (shown,) = view(some).detections
    assert shown.centre == pytest.approx(some[0].center)
    written = fragment(render("scene.html", scene=view(some)))
    outlines = [one["points"] for one in written.all("polygon")]
    assert svg_points(some[0].parts["dial"].polygon.tolist()) in outlines
    assert f"tilt {some[0].tilt:.1f}°" in written.text
    third = f"{some[0].matrix[2, 0]:.6g}, {some[0].matrix[2, 1]:.6g}, 1]]"
    assert third in written.text


def test_the_value_of_a_part_is_shown_with_its_unit() -> None:
    written = fragment(render("scene.html", scene=view(tilted(turn=-45.0))))
    assert SCALE(-45.0) == 0
    assert "needle 0 °C" in written.text
    assert "−45.0°" in written.text
    lost = fragment(render("scene.html", scene=view(tilted("needle"))))
    assert "°C" not in lost.text
    assert "value" not in lost.texts


def test_candidates_are_not_mentioned_where_something_was_found() -> None:
    assert view(tilted(candidates=2)).candidate is None
    nothing = tilted(candidates=2)
    close = view(Detections((), "gauge", nothing.scene, 0.1, candidates=nothing.candidates)).candidate
    assert close is not None
    assert close.score == 0.6
