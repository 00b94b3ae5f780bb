"""Run times in the report: shares, medians, and the slowest scene."""

from pages import HOSTILE, ParsedPage, fragment
from wherein.report.html_format import render
from wherein.report.stopwatch import SEARCH
from wherein.report.times import SceneTimes, laps_of, summarize


def bar(laps: dict[str, float]) -> ParsedPage:
    return fragment(render("laps.html", laps=laps_of(laps), total=sum(laps.values())))


def summary(scenes: list[SceneTimes]) -> ParsedPage:
    return fragment(render("times.html", times=summarize(scenes)))


def test_a_bar_has_a_stretch_for_each_lap() -> None:
    page = bar({"reading": 0.01, SEARCH: 0.03, "page": 0.0})
    shares = [i["style"] for i in page.all("i") if "style" in i]
    assert shares == ["--v: 0.2500", "--v: 0.7500", "--v: 0.0000"]
    assert [w for w in page.texts if "ms" in w] == ["10.0 ms", "30.0 ms", "0.00 ms"]
    assert bar({SEARCH: 0.0}).all("i")[0]["style"] == "--v: 0.0000"


def test_the_summary_finds_the_slowest() -> None:
    took = (0.1, 0.4, 0.2)
    scenes = [SceneTimes(f"s{k}", f"{k}.png", {SEARCH: t, "page": 1.0 - t}) for k, t in enumerate(took)]
    scenes.append(SceneTimes("s3", HOSTILE, {SEARCH: 0.3, "drawing": 0.5}))
    page = summary(scenes)
    assert "Search per scene: median 250 ms, maximum 400 ms in 1.png" in page.text
    assert [(a["href"], a["title"]) for a in page.all("a")] == [
        ("#s1", "1.png"),
        ("#s1", "1.png"),
        ("#s0", "0.png"),
        ("#s3", HOSTILE),
    ]
    assert "page 800 ms 900 ms 2.3 s" in page.text
    assert "drawing 500 ms 500 ms 500 ms" in page.text
    assert not page.all("img")


def test_one_scene_needs_no_table_and_none_no_summary() -> None:
    page = summary([SceneTimes("s0", "a.png", {SEARCH: 0.05})])
    assert "Search: 50.0 ms." in page.text
    assert not page.all("table")
    assert summarize([]) is None
