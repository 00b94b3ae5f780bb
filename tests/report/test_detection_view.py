"""What the report shows of made-up detections: in perspective, with readings, with holes, of one motif."""

from dataclasses import replace

import numpy as np
import pytest

from pages import ParsedPage, fragment, path_points
from walkers import SCALE, gauge, logo, ring, tilted
from wherein.detect.result import Detections
from wherein.images.polygons import signed_area
from wherein.report.detection_view import DetectionView, DetectionViewer
from wherein.report.html_format import render
from wherein.report.part_entries import PartEntry, part_entries
from wherein.report.template_view import ScoreView

GAUGE = part_entries(gauge())
SCORES = ScoreView(0.5, 180.0, (1.0, 1.0), 0.0, None, "once in {:.4f} scenes".format)


def viewer(some: Detections, entries: tuple[PartEntry, ...], several: bool = False) -> DetectionViewer:
    return DetectionViewer({some.template: entries}, {some.template: SCORES}, several, some.size)


def single(name: str) -> tuple[PartEntry, ...]:
    return (PartEntry(name, 0, "#ff0000", True, 0, (0.0, 0.0)),)


def view(some: Detections, entries: tuple[PartEntry, ...] = GAUGE, several: bool = False) -> DetectionView:
    item = replace(some[0], template=some.template)
    return viewer(some, entries, several).detection("s0d1", 1, item, {})


def written(shown: DetectionView) -> ParsedPage:
    return fragment(render("detection.html", detection=shown))


def test_outlines_and_centres_are_those_in_perspective() -> None:
    some = tilted()
    shown = view(some)
    assert shown.centre == pytest.approx(some[0].center)
    (dial,) = path_points(next(part.path for part in shown.parts if part.entry.name == "dial"))
    np.testing.assert_allclose(dial, some[0].parts["dial"].polygon, atol=0.0501)
    page = written(shown)
    assert f"tilt {some[0].tilt:.1f}°" in page.text
    assert f"{some[0].matrix[2, 0]:.6g}, {some[0].matrix[2, 1]:.6g}, 1]]" in page.text


def test_the_value_of_a_part_is_shown_with_its_unit() -> None:
    page = written(view(tilted(turn=-45.0)))
    assert SCALE(-45.0) == 0
    assert "needle 0 °C" in page.text
    assert "−45.0°" in page.text
    lost = written(view(tilted("needle")))
    assert "°C" not in lost.text
    assert "value" not in lost.texts


def test_parts_that_were_not_found_are_marked_and_have_a_status() -> None:
    page = written(view(tilted("needle")))
    assert "1 of 2 parts" in page.text
    assert [row.get("class") for row in page.all("tr")] == [None, None, "missing"]
    assert {"found", "not found"} <= set(page.texts)
    assert "status" not in written(view(tilted())).texts


def test_holes_have_no_outline_but_every_component_has() -> None:
    some = ring()
    (part,) = view(some, single("ring")).parts
    outer = [one for one in some[0].parts["ring"].rings if signed_area(one) > 0]
    drawn = path_points(part.path)
    assert len(drawn) == len(outer) == 2
    for one, wanted in zip(drawn, outer, strict=True):
        assert signed_area(one) == pytest.approx(signed_area(wanted), rel=0.02)


def test_a_single_motif_has_no_parts_and_is_never_missing() -> None:
    (item,) = logo()
    doubtful = replace(item, parts={"logo": replace(item.parts["logo"], found=False)})
    shown = view(replace(logo(), items=(doubtful,)), single("logo"))
    assert not shown.parts[0].missing
    page = written(shown)
    assert "part" not in page.text
    assert not page.all("table")


def test_of_several_templates_the_name_is_said() -> None:
    assert written(view(tilted())).text.startswith("1 score 0.930")
    assert written(view(tilted(), several=True)).text.startswith("1 gauge · score 0.930")


def test_a_near_miss_is_one_outline_and_its_score_is_never_rounded_up() -> None:
    some = tilted()
    item = replace(some[0], score=0.4999, template="gauge")
    miss = viewer(some, GAUGE).near_miss("s0n1", item)
    assert (miss.score, miss.threshold, miss.template) == (0.499, 0.5, None)
    assert miss.false_alarms == "once in 0.4999 scenes"
    assert len(path_points(miss.path)) == 2
