"""The plane of a round dial, from its outline and its axle."""

from dataclasses import replace

import numpy as np
import pytest

from detecting import DIAL_RADIUS, NEEDLE_LENGTH, dial_outlines, dial_photograph, noise
from wherein.errors import ArgumentError
from wherein.making import Outline, cut
from wherein.making.picture_turns import picture_turn, plane_turn
from wherein.motion.homography import mapped
from wherein.template import Template, Tree
from wherein.template.pose import frames, placed, tilted

CENTRE = (DIAL_RADIUS, DIAL_RADIUS)


def photographed(tilt: float, distance: float = 500.0) -> tuple[Template, np.ndarray]:
    """The dial cut out of a photograph at an angle, and dial → canvas."""
    pose = placed(0.0, 1.0, (160.0, 140.0), CENTRE) @ tilted(tilt, 70.0, distance, CENTRE)
    made = cut(dial_photograph(pose), dial_outlines(pose), "dial")
    # The axle shows where the canvas lies in the photograph.
    away = np.eye(3)
    away[:2, 2] = np.array(made.parts["needle"].joint) - mapped(pose, CENTRE)
    return made, away @ pose


@pytest.mark.parametrize(("tilt", "distance"), [(30.0, 500.0), (15.0, 250.0), (35.0, 5000.0)])
def test_a_needle_turns_in_the_plane_of_a_dial(tilt: float, distance: float) -> None:
    made, pose = photographed(tilt, distance)
    assert made.parts.plane is not None
    tip = np.array((CENTRE[0] + NEEDLE_LENGTH, CENTRE[1]))
    for turn in (45.0, 90.0, 180.0, -70.0):
        a = np.radians(turn)
        truth = mapped(pose, np.array(CENTRE) + NEEDLE_LENGTH * np.array((np.cos(a), np.sin(a))))
        errors = [
            np.linalg.norm(
                mapped(frames(tree, np.eye(3), {"needle": turn})["needle"], mapped(pose, tip)) - truth
            )
            for tree in (made.parts, Tree(made.parts))
        ]
        assert errors[0] < max(0.45 * errors[1], 0.5)


def test_a_dial_from_in_front_has_no_plane() -> None:
    assert photographed(0.0)[0].parts.plane is None
    assert photographed(5.0)[0].parts.plane is None


def test_the_plane_can_be_left_out_or_given() -> None:
    pose = placed(0.0, 1.0, (160.0, 140.0), CENTRE) @ tilted(30.0, 70.0, 500.0, CENTRE)
    picture, outlines = dial_photograph(pose), dial_outlines(pose)
    assert cut(picture, outlines, "dial", plane=None).parts.plane is None
    given = cut(picture, outlines, "dial", plane=np.linalg.inv(pose))
    found = cut(picture, outlines, "dial")
    assert given.parts.plane is not None and found.parts.plane is not None
    for wrong in ("square", np.eye(2), 3):
        with pytest.raises(ArgumentError, match="plane"):
            cut(picture, outlines, "dial", plane=wrong)


def oval(ratio: float, axle: tuple[float, float], turn: float = 180.0, corners: int = 72) -> Template:
    around = np.linspace(0, 2 * np.pi, corners, endpoint=False) + np.pi / corners
    rim = 100 + np.stack((70 * np.cos(around), 70 * ratio * np.sin(around)), 1)
    hand = Outline(
        "hand", [(98, 98), (150, 98), (150, 102), (98, 102)], parent="plate", pivot=axle, turn=turn
    )
    return cut(noise(200, 200), [Outline("plate", rim), hand], "dial")


def test_what_is_no_round_dial_has_no_plane() -> None:
    assert oval(0.8, (100.0, 100.0)).parts.plane is not None
    assert oval(0.8, (100.0, 100.0), turn=60.0).parts.plane is None  # no needle
    assert oval(0.8, (100.0, 100.0), corners=4).parts.plane is None  # a rectangle
    assert oval(0.8, (100.0, 100.0), corners=8).parts.plane is None
    assert oval(1.0, (100.0, 112.0)).parts.plane is None  # the axle was not made in the middle
    assert oval(1.0, (101.0, 101.0)).parts.plane is None  # marked by hand


def test_a_horizon_across_other_parts_gives_no_plane() -> None:
    pose = placed(0.0, 0.5, (70.0, 140.0), CENTRE) @ tilted(45.0, 0.0, 200.0, CENTRE)
    picture, outlines = dial_photograph(pose), dial_outlines(pose)
    assert cut(picture, outlines, "dial").parts.plane is not None
    handle = Outline.box("handle", 0, 135, 318, 10)
    assert cut(picture, [*outlines, handle], "dial").parts.plane is None


def test_readings_are_marked_in_the_picture() -> None:
    pose = placed(0.0, 1.0, (160.0, 140.0), CENTRE) @ tilted(30.0, 70.0, 500.0, CENTRE)
    plate, needle = dial_outlines(pose)

    def place(turn: float, length: float = NEEDLE_LENGTH) -> np.ndarray:
        a = np.radians(turn)
        return mapped(pose, np.array(CENTRE) + length * np.array((np.cos(a), np.sin(a))))

    axle = mapped(pose, CENTRE)

    def seen(turn: float) -> float:
        (x0, y0), (x1, y1) = place(0.0) - axle, place(turn) - axle
        return float(np.degrees(np.arctan2(y1, x1) - np.arctan2(y0, x0)))

    marks = [[seen(turn), turn] for turn in (-120.0, -60.0, 30.0, 80.0, 150.0)]
    assert max(abs(turn - value) for turn, value in marks) > 5
    read = replace(needle, reading={"unit": "°", "at": marks})
    # The values are the true turns of the marks.
    made = cut(dial_photograph(pose), [plate, read], "dial", plane=np.linalg.inv(pose))
    reading = made.parts["needle"].reading
    assert reading is not None
    assert [turn for turn, _ in reading.at] == pytest.approx([value for _, value in marks], abs=1)
    assert [picture_turn(made, "needle", turn) for turn, _ in reading.at] == pytest.approx(
        [a for a, _ in marks]
    )
    flat = cut(dial_photograph(pose), [plate, read], "dial", plane=None)
    assert flat.parts["needle"].reading is not None
    assert [list(point) for point in flat.parts["needle"].reading.at] == marks
    assert picture_turn(flat, "needle", 30.0) == plane_turn(flat, "needle", 30.0) == 30.0
    assert plane_turn(made, "needle", 200.0) == pytest.approx(plane_turn(made, "needle", -160.0) + 360)
