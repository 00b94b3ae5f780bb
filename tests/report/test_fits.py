"""Plots of how fits converged: what is drawn is what was told, and what has no plot is named."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from detecting import ARM, BODY, detector, scene, toy
from pages import HOSTILE, Seen, fragment, parsed, said
from wherein.detect import Detection
from wherein.detect.explain.convergence import FinalPose, FitTrace, TraceStage
from wherein.report.fits import fits
from wherein.report.page import page
from wherein.report.parts import PageParts
from wherein.template import Template

WAY = FitTrace(
    (
        TraceStage(4, False, (0.5, 0.8, 0.9)),
        TraceStage(2, False, (0.95,)),
        TraceStage(1, False, (0.98, 0.985)),
    ),
    FinalPose.PLAIN,
    scale=2,
    zncc=0.975,
    from_search=True,
)


def found(of: Template) -> Detection:
    return detector(of)(scene(of))[0]


def drawn(of: Template, item: Detection, ways: dict[str, FitTrace]) -> Seen:
    return fragment(fits(PageParts(of), item, ways))


@pytest.fixture(scope="module")
def item() -> Detection:
    return found(toy())


def test_a_point_for_each_step_and_a_shade_for_every_other_scale(item: Detection) -> None:
    seen = drawn(toy(), item, {BODY: WAY})
    lines = [[tuple(map(float, p.split(","))) for p in a["points"].split()] for a in seen.all("polyline")]
    assert [len(line) for line in lines] == [3, 1, 2]
    assert len(seen.all("rect")) == 2
    across = [x for line in lines for x, _ in line]
    assert across == sorted(across)
    heights = [y for line in lines for _, y in line]
    assert heights == sorted(heights, reverse=True)  # better is higher
    # Logarithmic in what is left: from 0.5 to 0.9 it falls to a fifth, from 0.9 to 0.98 as well.
    assert heights[0] - heights[2] == pytest.approx(heights[2] - heights[4], abs=0.2)
    (end,) = seen.all("circle")
    assert (end["cx"], end["cy"]) == tuple(f"{value:.1f}" for value in lines[-1][-1])
    told = said(seen)
    assert "0.975" in told
    assert "3 steps" in told
    assert [w for w in seen.words if w in ("1/4", "1/2", "full size")] == ["1/4", "1/2", "full size"]


def test_what_cannot_be_drawn_is_drawn_at_the_edge(item: Detection) -> None:
    seen = drawn(toy(), item, {BODY: replace(WAY, stages=(TraceStage(1, False, (-1.0, 1.0)),))})
    box = next(float(v) for v in re.findall(r"0 0 260 (\d+)", str(seen.all("svg")[0]["viewbox"])))
    low, high = (float(p.split(",")[1]) for p in seen.all("polyline")[0]["points"].split())
    assert 0 < high < low < box


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"kept": FinalPose.ROBUST, "stages": (*WAY.stages, TraceStage(1, True, (0.9, 0.88)))},
            "count less in the end",
        ),
        (
            {"kept": FinalPose.HINGED, "stages": (*WAY.stages, TraceStage(1, True, (0.9, 0.88)))},
            "about its joint exactly",
        ),
        ({"kept": FinalPose.BEFORE}, "full size was no better"),
        ({"from_search": False}, "the other parts led to it"),
        ({"zncc": 0.6}, "what is not covered of it tells as much as"),
    ],
)
def test_what_was_decided_is_said(item: Detection, changed: dict[str, object], told: str) -> None:
    assert told not in said(drawn(toy(), item, {BODY: WAY}))
    seen = drawn(toy(), item, {BODY: replace(WAY, **changed)})  # type: ignore[arg-type]
    assert told in said(seen)
    assert [line.get("class") for line in seen.all("polyline")].count("robust") == ("stages" in changed)


def test_parts_without_a_plot_are_named(item: Detection) -> None:
    told = said(drawn(toy(), item, {BODY: WAY}))
    assert f"they go with another part: {ARM}." in told
    hidden = replace(item, parts={**item.parts, ARM: replace(item.parts[ARM], found=False)})
    assert f"there is no fit to show: {ARM}." in said(drawn(toy(), hidden, {BODY: WAY}))
    assert fits(PageParts(toy()), item, {}) == ""


def test_names_are_only_names() -> None:
    body, arm = HOSTILE, '"><script>alert(1)</script>'
    template = toy(body=body, arm=arm)
    seen = drawn(template, found(template), {body: WAY})
    assert {tag for tag, _ in seen.elements}.isdisjoint({"script", "img"})
    assert body in said(seen)
    assert arm in said(seen)


def test_the_page_has_a_plot_for_each_piece_that_was_found(tmp_path: Path) -> None:
    template = toy()
    finder = detector(template)
    whole = scene(template)
    covered = whole.clone()
    covered[:, 36:90, 88:130] = 0.5  # the arm, but for the body's side of it
    with page(tmp_path / "a.html", template) as report:
        for name, picture in (("whole.png", whole), ("covered.png", covered)):
            report.add(name, finder(picture), finder)
    seen = parsed(tmp_path / "a.html")
    assert len(seen.all("figure")) == 3
    told = said(seen)
    assert f"there is no fit to show: {ARM}." in told
    assert "The search keeps no record of its steps." in told
    last = finder.fit_traces(finder(whole))[0][ARM]
    assert f"{last.zncc:.3f}" in seen.words
