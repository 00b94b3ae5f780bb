"""The suite "video": its clips, and how poses are compared with the truth."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import video
from benchmarks.subjects import robot


@pytest.fixture(scope="module")
def clip() -> video.Clip:
    return video.clip(robot(), 3, 0)


def seen(clip: video.Clip, shifts: list[tuple[float, float]], lost: str = "") -> list[SimpleNamespace]:
    """Frames in which every part is found, shifted by so much."""
    frames = []
    for truth, by in zip(clip.truths, shifts, strict=True):
        parts = {}
        for name in clip.template.parts.leaves:
            matrix = truth[name][:2].copy()
            matrix[:, 2] += by
            middle = clip.template.parts[name].motif.centre
            parts[name] = SimpleNamespace(matrix=matrix, middle=middle, found=name != lost)
        frames.append(SimpleNamespace(frame=SimpleNamespace(found=[SimpleNamespace(parts=parts)])))
    return frames


def test_a_clip_moves_and_is_the_same_for_the_same_seed(clip: video.Clip) -> None:
    assert [frame.shape for frame in clip.pixels] == 3 * [(480, 640, 3)]
    again = video.clip(robot(), 2, 0)
    assert (again.pixels[1] == clip.pixels[1]).all()
    first, second = (clip.truths[k]["forearm_left"] for k in (0, 1))
    assert np.abs(second - first)[:2, 2].max() > 1


def test_errors_are_those_of_all_parts_that_were_found(clip: video.Clip) -> None:
    steady = video._exactness(clip, seen(clip, 3 * [(3.0, 4.0)]))
    assert steady["error"] == pytest.approx(5.0)
    assert steady["jitter"] == pytest.approx(0.0, abs=1e-9)
    assert steady["parts"] == steady["all_parts"]
    moved = video._exactness(clip, seen(clip, [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)], lost="key"))
    assert moved["jitter"] == pytest.approx(np.sqrt(0.5))
    assert moved["all_parts"] - moved["parts"] == 3
    assert moved["found"] == 3
