"""What a page says of time: sums, medians, and where it was slowest."""

import time

import pytest

from pages import HOSTILE, fragment, said
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.report.times import Timed, bar, seconds, summary


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0.00 ms"),
        (0.00012345, "0.12 ms"),
        (0.0012345, "1.23 ms"),
        (0.0999, "99.9 ms"),
        (0.00996, "9.96 ms"),
        (0.641, "641 ms"),
        (1.234, "1.23 s"),
        (59.04, "59 s"),
        (125.4, "2 min 5 s"),
        (119.7, "2 min 0 s"),
        (0.99999, "1 s"),
    ],
)
def test_seconds_are_easy_to_read(value: float, words: str) -> None:
    assert seconds(value) == words


def test_a_stopwatch_counts_also_what_fails() -> None:
    watch = Stopwatch()
    with pytest.raises(ValueError, match="no"), watch("reading"):
        time.sleep(0.01)
        raise ValueError("no")
    assert list(watch.laps) == ["reading"]
    assert watch.laps["reading"] >= 0.01


def test_a_bar_has_a_stretch_for_each_lap() -> None:
    told = fragment(bar({"reading": 0.01, SEARCH: 0.03, "page": 0.0}))
    shares = [i["style"] for i in told.all("i") if "style" in i]
    assert shares == ["--v: 0.2500", "--v: 0.7500", "--v: 0.0000"]
    assert [w for w in told.words if "ms" in w] == ["10.0 ms", "30.0 ms", "0.00 ms"]
    assert fragment(bar({SEARCH: 0.0})).all("i")[0]["style"] == "--v: 0.0000"


def test_the_summary_finds_the_slowest() -> None:
    took = (0.1, 0.4, 0.2)
    scenes = [Timed(f"s{k}", f"{k}.png", {SEARCH: t, "page": 1.0 - t}) for k, t in enumerate(took)]
    scenes.append(Timed("s3", HOSTILE, {SEARCH: 0.3, "drawing": 0.5}))
    told = fragment(summary(scenes))
    words = said(told)
    assert "took 250 ms in the median, and 400 ms where it was slowest, in 1.png" in words
    assert [(a["href"], a["title"]) for a in told.all("a")] == [
        ("#s1", "1.png"),
        ("#s1", "1.png"),
        ("#s0", "0.png"),
        ("#s3", HOSTILE),
    ]
    assert "page 800 ms 900 ms 2.3 s" in words
    assert "drawing 500 ms 500 ms 500 ms" in words
    assert not told.all("img")


def test_one_scene_needs_no_table_and_none_no_summary() -> None:
    told = fragment(summary([Timed("s0", "a.png", {SEARCH: 0.05})]))
    assert "The search took 50.0 ms." in " ".join(told.words)
    assert not told.all("table")
    assert summary([]) == ""
