"""Every reason why a template will be hard to find is told, and a good one has none."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import group, leaf, noise, photo, template, walker
from wherein.demo import ROBOT
from wherein.errors import ArgumentError
from wherein.images.motif import Motif
from wherein.making import Finding, Severity, findings
from wherein.template import Part, Template

PROBLEM, WARNING, NOTE = Severity


def rigid(pixels: Tensor, mask: Tensor | None = None) -> Template:
    return Template.rigid("thing", Motif.whole(pixels) if mask is None else Motif(pixels, mask))


def grey(levels: np.ndarray) -> Tensor:
    return torch.from_numpy(levels).float().clamp(0, 1).expand(3, -1, -1).contiguous()


def fields(width: int = 63, height: int = 57) -> tuple[np.ndarray, np.ndarray]:
    y, x = np.mgrid[:height, :width].astype(float)
    return x, y


def faint(contrast: float) -> Tensor:
    pixels = noise(60, 70)
    return 0.5 + (pixels - pixels.mean()) / pixels.std() * contrast


def stripes() -> Tensor:
    return grey(0.5 + 0.3 * np.sin(fields()[0] / 3))


def disc() -> Tensor:
    x, y = fields(61, 61)
    return grey(0.3 + 0.5 * (np.hypot(x - 30, y - 30) < 18))


def half_turn() -> Tensor:
    """PoseGrid the same upside down."""
    pixels = noise(57, 63)
    return (pixels + pixels.flip(1, 2)) / 2


def slow() -> Tensor:
    """Changes little over its length."""
    x, y = fields(80, 40)
    return grey(0.5 + 0.2 * np.cos(x / 25) + 0.25 * np.sin(y / 12))


def letter() -> tuple[Tensor, Tensor]:
    """A filled L of one colour."""
    mask = torch.zeros(70, 60)
    mask[:, :20] = mask[50:] = 1
    return torch.full((3, 70, 60), 0.3) + 0.01 * noise(70, 60), mask


def thin() -> Tensor:
    mask = torch.zeros(60, 200)
    mask[30:33] = 1
    return mask


def limb(**changes: object) -> Template:
    """A body, and an arm that a test spoils."""
    arm = {"pixels": noise(20, 60, 2), "at": (70.0, 30.0), "pivot": (4.0, 10.0)} | changes
    body = leaf("body", "root", noise(80, 80, 1), static=True)
    return template(group("root"), body, leaf("arm", "root", **arm), size=(160, 100))  # type: ignore[arg-type]


def twins() -> Template:
    one, two = (
        leaf(name, "root", noise(30, 40, 5), (x, 60.0), (20.0, 0.0))
        for name, x in (("one", 0.0), ("two", 50.0))
    )
    body = leaf("body", "root", noise(60, 90, 1), static=True)
    return template(group("root"), body, one, two, size=(100, 100))


def maybe_occluded(height: int) -> Template:
    """A part of which `height` of 40 rows look out from under another."""
    below = leaf("below", "root", noise(40, 50, 1), (10.0, 20.0 - height), static=True)
    above = leaf("above", "root", noise(60, 70, 2), (0.0, 20.0), static=True)
    return template(group("root"), below, above, size=(80, 90))


def bodiless() -> Template:
    sides = (
        leaf(name, "root", noise(40, 50, seed), (x, 0.0), (25.0, 39.0))
        for seed, (name, x) in enumerate((("left", 0.0), ("right", 50.0)))
    )
    return template(group("root"), *sides, size=(100, 40))


CASES: list[tuple[Callable[[], Template], Severity, str, str | None]] = [
    (lambda: rigid(photo("chelsea", 21, 19)), PROBLEM, "too small", "thing"),
    (lambda: rigid(noise(30, 31)), WARNING, "too small", "thing"),
    (lambda: rigid(noise(60, 200), thin()), WARNING, "thin", "thing"),
    (lambda: rigid(faint(0.02)), PROBLEM, "no texture", "thing"),
    (lambda: rigid(faint(0.06)), WARNING, "no texture", "thing"),
    (lambda: rigid(*letter()), WARNING, "outline", "thing"),
    (lambda: rigid(stripes()), WARNING, "slides", "thing"),
    (lambda: rigid(disc()), PROBLEM, "symmetric", "thing"),
    (lambda: rigid(half_turn()), PROBLEM, "symmetric", "thing"),
    (lambda: limb(pixels=disc(), pivot=(30.0, 30.0)), PROBLEM, "symmetric", "arm"),
    (twins, WARNING, "alike", "one"),
    (lambda: limb(pivot=(-40.0, 10.0)), WARNING, "joint", "arm"),
    (lambda: limb(pixels=noise(9, 12, 3)), NOTE, "minor", "arm"),
    (lambda: limb(pixels=noise(9, 12, 3)), WARNING, "too small", "arm"),
    (lambda: limb(pixels=noise(9, 9, 3), pivot=(4.0, 4.0)), PROBLEM, "too small", "arm"),
    (lambda: maybe_occluded(8), WARNING, "hidden", "below"),
    (lambda: maybe_occluded(0), PROBLEM, "hidden", "below"),
    (bodiless, NOTE, "no body", None),
    (lambda: rigid(noise(90, 700)), NOTE, "large", None),
]


def ids(case: object) -> str:
    return str(case) if isinstance(case, str) else ""


@pytest.mark.parametrize(("make", "severity", "kind", "part"), CASES, ids=ids)
def test_it_is_told(make: Callable[[], Template], severity: Severity, kind: str, part: str | None) -> None:
    found = findings(make())
    told = [f for f in found if f.kind == kind]
    assert [(f.severity, f.part) for f in told] == [(severity, part)], found
    (finding,) = told
    below = kind in ("too small", "thin", "no texture", "minor", "hidden", "no body")
    assert (finding.measured < finding.limit) == below
    assert finding.words and finding.advice and finding.unit
    assert str(finding).startswith(f"{severity}: ")
    order = [tuple(Severity).index(f.severity) for f in found]
    assert order == sorted(order)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rigid(photo("chelsea", 91, 87)),
        lambda: rigid(photo("coffee", 77, 121)),
        lambda: rigid(photo("chelsea", 60, 70), letter()[1]),
        walker,
        limb,
        lambda: limb(pivot=(-1.0, 10.0)),  # at its edge
        lambda: limb(pixels=slow(), pivot=(4.0, 20.0)),  # whose best angle is blunt, but the only one
        lambda: limb(pixels=half_turn(), pivot=(4.0, 20.0)),  # which its joint does not let it turn to
    ],
)
def test_nothing_is_told_of_a_good_one(make: Callable[[], Template]) -> None:
    assert findings(make()) == []


def test_a_body_that_limbs_tell_the_angle_of() -> None:
    round_body = leaf("body", "root", disc(), static=True)
    arm = leaf("arm", "root", noise(20, 60, 2), (50.0, 20.0), (4.0, 10.0))
    (finding,) = findings(template(group("root"), round_body, arm, size=(120, 70)))
    assert (finding.kind, finding.severity, finding.part) == ("symmetric", NOTE, "body")


def test_leaves_that_follow_another_are_not_asked() -> None:
    """A static leaf without texture beside one with: the piece is found by the other."""
    plain: Part = leaf("plain", "root", torch.full((3, 30, 30), 0.5), (60.0, 0.0), static=True)
    made = template(group("root"), leaf("body", "root", noise(60, 60), static=True), plain, size=(90, 60))
    assert findings(made) == []


def test_the_demonstrations_robot() -> None:
    (finding,) = findings(Template.load(ROBOT))
    assert (finding.kind, finding.part) == ("alike", "antenna_left")
    assert "antenna_right" in finding.words


def test_findings_of_a_path_are_refused() -> None:
    with pytest.raises(ArgumentError, match="findings are those of a Template, but this is a str"):
        findings.__wrapped__("mug")


def test_a_finding_as_json_has_it() -> None:
    finding = Finding(WARNING, "thin", "arm", 3, 5.00001, "pixels", "it is thin", "make it thicker")
    assert finding.to_dict() == {
        "severity": "warning",
        "kind": "thin",
        "part": "arm",
        "measured": 3,
        "limit": 5.0,
        "unit": "pixels",
        "words": "it is thin",
        "advice": "make it thicker",
    }
    assert str(finding) == "warning: arm: it is thin; make it thicker"
