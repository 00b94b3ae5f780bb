"""Convergence plots: they show the recorded rounds, and parts without a plot are named."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from detecting import ARM, BODY, detector, scene, toy
from pages import HOSTILE, ParsedPage, fragment, parsed, path_points
from wherein.detect import Detection
from wherein.detect.explain.fit_trace import FitTrace, TraceStage
from wherein.report.convergence_plot import convergence
from wherein.report.html_format import render
from wherein.report.page import page
from wherein.report.part_entries import part_entries
from wherein.template import Template

WAY = FitTrace(
    (
        TraceStage(4, (0.5, 0.8, 0.9)),
        TraceStage(2.5, (0.95,)),
        TraceStage(1, (0.98, 0.985)),
    ),
    zncc=0.985,
    from_search=True,
)


def found(of: Template) -> Detection:
    return detector(of)(scene(of))[0]


def drawn(of: Template, item: Detection, ways: dict[str, FitTrace]) -> ParsedPage:
    return fragment(render("convergence.html", convergence=convergence(part_entries(of), item, ways)))


def fit(plots: ParsedPage) -> list[NDArray[np.float64]]:
    """The points of the only plot, for each level."""
    (line,) = (one["d"] for one in plots.all("path") if one["class"] == "fit")
    return path_points(line or "")


@pytest.fixture(scope="module")
def item() -> Detection:
    return found(toy())


def test_a_point_for_each_round_and_a_shade_for_every_other_scale(item: Detection) -> None:
    plots = drawn(toy(), item, {BODY: WAY})
    lines = fit(plots)
    assert [len(line) for line in lines] == [3, 1, 2]
    (shade,) = (one["d"] for one in plots.all("path") if one["class"] == "shade")
    assert (shade or "").count("z") == 2
    across = [x for line in lines for x, _ in line]
    assert across == sorted(across)
    heights = [y for line in lines for _, y in line]
    assert heights == sorted(heights, reverse=True)  # better is higher
    # Logarithmic in what is left: from 0.5 to 0.9 it falls to a fifth, from 0.9 to 0.98 as well.
    assert heights[0] - heights[2] == pytest.approx(heights[2] - heights[4], abs=0.2)
    assert "0.985" in plots.text
    assert "3 rounds." in plots.text
    assert [w for w in plots.texts if w in ("1/4", "1/2.5", "full size")] == ["1/4", "1/2.5", "full size"]


def test_values_beyond_the_axis_are_drawn_at_its_edge(item: Detection) -> None:
    plots = drawn(toy(), item, {BODY: replace(WAY, stages=(TraceStage(1, (-1.0, 1.0)),))})
    box = next(float(v) for v in re.findall(r"0 0 260 (\d+)", str(plots.all("svg")[0]["viewbox"])))
    ((_, low), (_, high)) = fit(plots)[0]
    assert 0 < high < low < box


def test_a_note_explains_a_fit_that_no_start_leads_to(item: Detection) -> None:
    note = "Located from the other parts"
    assert note not in drawn(toy(), item, {BODY: WAY}).text
    assert note in drawn(toy(), item, {BODY: replace(WAY, from_search=False)}).text


def test_parts_without_a_plot_are_named(item: Detection) -> None:
    assert f"not fitted separately: {ARM}." in drawn(toy(), item, {BODY: WAY}).text
    hidden = replace(item, parts={**item.parts, ARM: replace(item.parts[ARM], found=False)})
    assert f"that were not found: {ARM}." in drawn(toy(), hidden, {BODY: WAY}).text
    assert convergence(part_entries(toy()), item, {}) is None


def test_names_cannot_inject_markup() -> None:
    body, arm = HOSTILE, '"><script>alert(1)</script>'
    template = toy(body=body, arm=arm)
    plots = drawn(template, found(template), {body: WAY})
    assert {tag for tag, _ in plots.elements}.isdisjoint({"script", "img"})
    assert body in plots.text
    assert arm in plots.text


def test_the_page_has_a_plot_for_each_piece_that_was_found(tmp_path: Path) -> None:
    template = toy()
    finder = detector(template)
    whole = scene(template)
    covered = whole.clone()
    covered[:, 36:90, 88:130] = 0.5  # the arm, but for the body's side of it
    with page(tmp_path / "a.html", template) as report:
        for name, picture in (("whole.png", whole), ("covered.png", covered)):
            report.add(name, finder(picture), finder)
    written = parsed(tmp_path / "a.html")
    assert len(written.all("figure")) == 3
    assert f"that were not found: {ARM}." in written.text
    assert "The search does not record its steps," in written.text
    last = finder.fit_traces(finder(whole))[0][ARM]
    assert f"{last.zncc:.3f}" in written.texts
