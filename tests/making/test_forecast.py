"""What is to be expected of a template: found how surely, how small, how tilted."""

import shutil
from pathlib import Path

import pytest

from detecting import ready, walker
from wherein.detect import Detector
from wherein.detect.calibration.store import cached_calibrations
from wherein.making import Finding, Severity, forecast

PROBLEM, WARNING, NOTE = Severity


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Limits that are kept are those of one test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def by_kind(found: list[Finding]) -> dict[str, Finding]:
    return {finding.kind: finding for finding in found}


@pytest.fixture(scope="module")
def detector() -> Detector:
    return ready(walker(), scale=(0.85, 1.0), tilt=10.0)


def test_a_good_template_is_found_in_its_whole_range(detector: Detector) -> None:
    shares: list[float] = []
    found = by_kind(forecast.forecast(detector, lambda share, _: shares.append(share)))
    assert set(found) == {"expected", "size", "tilt"}
    assert {finding.severity for finding in found.values()} == {NOTE}
    assert found["expected"].words.startswith(
        "expect it to be found in 100% of scenes: it scored 0.85 to 0.95"
    )
    assert found["size"].measured == 0.85
    assert "all of the range" in found["size"].words
    assert found["tilt"].measured == 10
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] < 1


def limits(
    found_at: dict[str, float], detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Finding]:
    """The forecast if objects are found down to a scale and up to a tilt, and nothing is known of that."""
    shutil.rmtree(cached_calibrations() or "", ignore_errors=True)
    monkeypatch.setattr(
        forecast,
        "_is_found",
        lambda _, scale, tilt: scale >= found_at["scale"] and tilt <= found_at["tilt"],
    )
    return by_kind(forecast.forecast(detector))


def test_it_says_where_the_object_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = ready(walker(), scale=(0.4, 2.0), tilt=40.0)
    width, height = wide.template.size
    found = limits({"scale": 0.65, "tilt": 25.0}, wide, monkeypatch)
    assert found["size"].measured == pytest.approx(2**-0.5)
    assert f"({0.7071 * width:.0f} × {0.7071 * height:.0f} pixels), not less" in found["size"].words
    assert found["tilt"].words == "it is found up to a tilt of 20°, not more"
    assert limits({"scale": 0.9, "tilt": 5.0}, wide, monkeypatch)["tilt"].severity is WARNING
    lost = limits({"scale": 3.0, "tilt": 40.0}, wide, monkeypatch)
    assert lost["size"].severity is PROBLEM
    assert "tilt" not in lost, "nothing to tilt"


def test_limits_are_tried_once_for_a_range_and_a_threshold(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = limits({"scale": 0.9, "tilt": 5.0}, detector, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(forecast, "_is_found", lambda *_: pytest.fail("it is known"))
        again = forecast.forecast(detector, lambda *_: pytest.fail("nothing takes time"))
    assert by_kind(again) == first
    monkeypatch.setattr(forecast, "_is_found", lambda *_: True)
    for other in ({"scale": (0.8, 1.0)}, {"tilt": 20.0}, {"threshold": 0.7}):
        changed = ready(walker(), **{"scale": (0.85, 1.0), "tilt": 10.0, **other})
        found = by_kind(forecast.forecast(changed))
        assert found["size"].measured == changed.calibration.scale[0]
        assert found["tilt"].measured == changed.calibration.tilt


@pytest.mark.parametrize(("threshold", "severity"), [(0.92, PROBLEM), (0.87, WARNING)])
@pytest.mark.parametrize(
    ("clutter", "words"),
    [
        (0.86, "no threshold separates it from clutter: it scored 0.85 to 0.95 in 3 test scenes, clutter"),
        (0.84, "it scores little more than clutter: it scored 0.85 to 0.95 in 3 test scenes, clutter up to"),
    ],
)
def test_no_threshold_separates(
    threshold: float,
    severity: Severity,
    clutter: float,
    words: str,
    detector: Detector,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = (*detector.calibration.clutter[:-1], clutter)
    known = detector.calibration.model_copy(update={"threshold": threshold, "clutter": scores})
    monkeypatch.setattr(Detector, "calibration", known)
    found = limits({"scale": 0.5, "tilt": 40.0}, detector, monkeypatch)["no threshold"]
    assert found.severity is severity
    assert found.words.startswith(words)


def test_without_tilt_there_is_no_word_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = ready(walker(), scale=(1.0, 1.0), tilt=0.0)
    assert set(limits({"scale": 1.0, "tilt": 0.0}, flat, monkeypatch)) == {"expected", "size"}
