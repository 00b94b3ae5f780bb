"""Which layers a scene has, and how many near misses are shown."""

from dataclasses import replace

import numpy as np

from pages import fragment
from walkers import gauge, tilted
from wherein.detect.result import Detections
from wherein.detect.score import rounded_down
from wherein.report.html_format import render
from wherein.report.part_entries import part_entries
from wherein.report.scene_view import SceneView, SceneViewer
from wherein.report.template_view import ScoreView
from wherein.template import Library


def view(some: Detections, maps: bool = False) -> SceneView:
    scores = ScoreView(0.65, 180.0, (1.0, 1.0), 0.0, None, lambda _: None)
    viewer = SceneViewer(Library.of(gauge()), {"gauge": part_entries(gauge())}, {"gauge": scores})
    occurrence = {"dial": np.zeros((12, 20), dtype=np.float32)} if maps else {}
    return viewer("s0", "a.png", some, occurrence, [{} for _ in some])


def test_near_misses_are_drawn_and_listed_also_where_something_was_found() -> None:
    some = tilted(candidates=10)
    shown = view(some)
    assert len(shown.detections) == 1
    assert [miss.score for miss in shown.near_misses] == [
        rounded_down(item.score) for item in some.candidates[:8]
    ]
    picture = fragment(render("scene_image.html", scene=shown, image="data:,"))
    assert [one["id"] for one in picture.all("path") if one["class"] == "near"] == [
        f"s0n{k}" for k in range(1, 9)
    ]
    numbers = fragment(render("numbers.html", scene=shown))
    assert "below the threshold" in numbers.text and "and 2 more in the JSON" in numbers.text
    assert "misses" in [one["class"] for one in numbers.all("input")]
    assert "Best candidate" not in numbers.text


def test_without_near_misses_nothing_is_said_of_them() -> None:
    numbers = fragment(render("numbers.html", scene=view(tilted())))
    assert "near" not in numbers.text.lower()
    nothing = fragment(render("numbers.html", scene=view(replace(tilted(), items=()))))
    assert nothing.text.endswith("nothing found")
    assert not nothing.all("input")


def test_the_best_candidate_is_named_where_nothing_was_found() -> None:
    numbers = fragment(render("numbers.html", scene=view(replace(tilted(candidates=2), items=()))))
    assert "nothing found. Best candidate: score 0.600 (threshold 0.650) at (" in numbers.text
    assert [one["class"] for one in numbers.all("input")] == ["misses"]


def test_maps_are_layers_with_a_legend() -> None:
    shown = view(replace(tilted(), items=()), maps=True)
    numbers = fragment(render("numbers.html", scene=shown))
    assert [(one["class"], "checked" in one) for one in numbers.all("input")] == [("m0", False)]
    assert "occurrence map of dial ZNCC 0.55 0.85" in numbers.text
