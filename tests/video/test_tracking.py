"""Detections in every frame of a video, and the annotated video."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from detecting import off, ready
from wherein.detect import Detector
from wherein.images.eight_bit import to_image
from wherein.template import Template
from wherein.video.source import open_video
from wherein.video.tracking import track_frames

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")

FrameOf = Callable[[int], tuple[Tensor, dict[str, np.ndarray]]]


@pytest.fixture
def detector(template: Template) -> Detector:
    return ready(template)


def test_an_object_is_tracked(
    video_file: Path, frame: FrameOf, template: Template, detector: Detector, tmp_path: Path
) -> None:
    with open_video(str(video_file)) as video:
        tracked = list(track_frames(video, detector, tmp_path / "out.webm", every=3))
    assert [len(one.frame.found) for one in tracked] == [0, 0, 1, 1, 1, 1, 1, 1]
    assert {track for one in tracked for track in one.frame.tracks} == {1}
    for one in tracked[2:]:
        pixels, degrees = off(
            template, "trunk", one.frame.found[0].parts["trunk"].matrix, frame(one.index)[1]["trunk"]
        )
        assert pixels < 1
        assert degrees < 1
    record = tracked[5].to_dict()
    assert (record["frame"], record["time"]) == (5, 0.4)
    assert record["detections"][0]["track"] == 1
    with open_video(str(tmp_path / "out.webm")) as drawn:
        assert drawn.length == 8
        last = list(drawn)[7].astype(float)
    assert np.abs(last - np.asarray(to_image(frame(7)[0]))).mean() > 1.5, "outlines are drawn"


def test_stopping_early_keeps_the_video_so_far(video_file: Path, detector: Detector, tmp_path: Path) -> None:
    with open_video(str(video_file)) as video:
        tracked = track_frames(video, detector, tmp_path / "out.webm")
        for _ in range(3):
            next(tracked)
        tracked.close()
    with open_video(str(tmp_path / "out.webm")) as drawn:
        assert drawn.length == 3
