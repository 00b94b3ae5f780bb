"""The key frames of a video: which are kept, and what they are called."""

from dataclasses import replace

import pytest

from walkers import logo
from wherein.detect.result import Detections
from wherein.report.films.key_frames import KeyFrames
from wherein.report.films.video_view import timeline, video_card


def frame(score: float) -> Detections:
    """A frame with a detection of this score; with a near miss if it is negative; with nothing if it is 0."""
    (item,) = logo()
    some = (replace(item, score=abs(score)),) if score else ()
    return replace(logo(), items=some if score > 0 else (), candidates=some if score < 0 else ())


def watched(*scores: float) -> KeyFrames:
    made = KeyFrames()
    for index, score in enumerate(scores):
        made.add(index, index / 10, frame(score))
    return made


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ((0, 0), {0: "first"}),
        ((0, -0.3, -0.4), {2: "best near miss"}),
        ((0.8,), {0: "first found, best, last found"}),
        ((0, 0.8, 0.9, 0.7), {1: "first found", 2: "best", 3: "last found"}),
        # Of several gaps the longest counts, also the one at the end, but not the time before.
        ((0, 0, 0.8, 0, 0.9, 0, 0, 0.7), {2: "first found", 4: "best", 5: "lost", 7: "last found"}),
        ((0.9, 0, 0.8, -0.3, -0.2), {0: "first found, best", 2: "last found", 3: "lost"}),
    ],
)
def test_which_frames_are_shown(scores: tuple[float, ...], shown: dict[int, str]) -> None:
    assert {frame.index: text for frame, text in watched(*scores).shown()} == shown


def test_the_timeline_has_a_bar_for_each_frame_with_detections() -> None:
    made = timeline(watched(0, 0.8, 0.5, 0), 0.6)
    assert (made.columns, made.bars, made.gaps) == (4, "M1.5 100V20M2.5 100V50", "M0 100h1M3 100h1")
    assert (made.threshold, made.seconds) == (40, pytest.approx(0.3))


def test_a_long_video_has_columns_of_several_frames() -> None:
    frames = watched(*1000 * [0.0], 0.75, *999 * [0.0])
    made = timeline(frames, None)
    assert made.columns == 240
    assert made.bars == "M120.5 100V25"
    assert made.gaps.count("M") == 239
    assert len(frames.shown()) == 2


def test_what_the_card_of_a_video_says() -> None:
    texts = [video_card("s0", "a.mp4", watched(*scores), 1, 0.5).text for scores in ((0.8, 0), (-0.4,), (0,))]
    assert texts == ["video · 1 of 2 frames, best 0.80", "video · near miss 0.400", "video · nothing found"]
    card = video_card("s0", "a.mp4", watched(0.8, 0.9, 0), 5, 0.5)
    assert (card.count, card.frames, card.score, card.seconds) == (5, 2, 0.9, 0.5)
